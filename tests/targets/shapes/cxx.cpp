// SPDX-License-Identifier: Apache-2.0
// C++: overloads, members, an operator, a lambda; a function that throws in a third of its calls, once mangled and once extern "C".
#include <cstdio>
#include <stdexcept>

#define PLAIN __attribute__((noinline, noclone, noipa, used))

volatile int sink;

PLAIN int fun(int value)
{
	return value + sink;
}

extern "C" PLAIN int c_fun(int value)
{
	return value - sink;
}

struct Foo {
	int kept = 3;
	PLAIN int fun()
	{
		return kept + sink;
	}
	PLAIN int operator()(int value) const
	{
		return value * kept;
	}
};

struct Bar {
	int kept = 5;
	PLAIN int fun()
	{
		return kept - sink;
	}
	virtual ~Bar() = default;
	virtual int hook(int value)
	{
		return value + kept;
	}
};

// Ends in a jump through the object's table: a tail call that no jump table explains.
PLAIN int call_hook(Bar *bar, int value)
{
	return bar->hook(value);
}

template <class T> PLAIN T twice(T value)
{
	return value + value;
}

PLAIN int throws_some(int value)
{
	if (value % 3 == 0)
		throw std::runtime_error("a third");
	if (value % 3 == 1)
		return fun(value) * 2;
	return value;
}

extern "C" PLAIN int throws_some_c(int value)
{
	if (value % 3 == 0)
		throw std::runtime_error("a third");
	return fun(value) + 1;
}

// The handler may sit in a cold part that only the unwinder enters.
PLAIN int catches(int value)
{
	try {
		return throws_some(value) + 1;
	} catch (const std::runtime_error &error) {
		sink = sink + error.what()[0];
		return -1;
	}
}

int main()
{
	char line[16];
	Foo foo;
	Bar bar;
	auto lambda = [&foo](int value) __attribute__((noinline))
	{
		return value + foo.kept;
	};

	std::puts("ready");
	std::fflush(stdout);
	if (!std::fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 9973; i++) {
		sink = sink + catches(i);
		try {
			sink = sink + throws_some_c(i);
		} catch (const std::exception &) {
			sink = sink + 1;
		}
	}
	sink = sink + fun(1) + c_fun(2) + foo.fun() + bar.fun() + foo(3) + lambda(4) + call_hook(&bar, 5) + twice(6) + (int)twice(7L);
	std::puts("done");
	std::fflush(stdout);
	return std::fgets(line, sizeof(line), stdin) ? 0 : 1;
}
