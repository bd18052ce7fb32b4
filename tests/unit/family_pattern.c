/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction of name patterns (contract 8.4) and the launch calls; a reduced filter must agree with its own expression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/regex.h"
#include "family/cuda_names.h"
#include "family/pattern.h"

struct reduction {
	const char *pattern;
	enum xp_name_match match;
	const char *literal;
};

static const struct reduction reductions[] = {
	{ ".*", XP_MATCH_ANY, NULL },
	{ "^step$", XP_MATCH_EXACT, "step" },
	{ "^step.*", XP_MATCH_PREFIX, "step" },
	{ "^step", XP_MATCH_PREFIX, "step" },
	{ ".*step$", XP_MATCH_SUFFIX, "step" },
	{ "step$", XP_MATCH_SUFFIX, "step" },
	{ ".*step.*", XP_MATCH_CONTAINS, "step" },
	{ ".*step", XP_MATCH_CONTAINS, "step" },
	{ "step", XP_MATCH_CONTAINS, "step" },
	{ "^a\\.b\\$$", XP_MATCH_EXACT, "a.b$" },
	{ "a\\\\b", XP_MATCH_CONTAINS, "a\\b" },
	{ "void f<int>::g", XP_MATCH_CONTAINS, "void f<int>::g" },
	{ "\xc3\xa4rger", XP_MATCH_CONTAINS, "\xc3\xa4rger" },
	{ "^step.*$", XP_MATCH_REGEX, NULL },
	{ "^.*step$", XP_MATCH_REGEX, NULL },
	{ "step.*", XP_MATCH_REGEX, NULL },
	{ "ste.p", XP_MATCH_REGEX, NULL },
	{ "step+", XP_MATCH_REGEX, NULL },
	{ "step*", XP_MATCH_REGEX, NULL },
	{ "step?", XP_MATCH_REGEX, NULL },
	{ "step{2}", XP_MATCH_REGEX, NULL },
	{ "a|b", XP_MATCH_REGEX, NULL },
	{ "[ab]", XP_MATCH_REGEX, NULL },
	{ "(a)", XP_MATCH_REGEX, NULL },
	{ "\\d", XP_MATCH_REGEX, NULL },
	{ "a\\", XP_MATCH_REGEX, NULL },
	{ "^", XP_MATCH_REGEX, NULL },
	{ "$", XP_MATCH_REGEX, NULL },
	{ "^$", XP_MATCH_REGEX, NULL },
	{ "", XP_MATCH_REGEX, NULL },
	{ ".*.*", XP_MATCH_REGEX, NULL },
};

static const char *const names[] = {
	"",	"step", "steps",  "a step",	      "a steps",      "st",    "a.b$",
	"axb$", "a\\b", "xa\\by", "void f<int>::g()", "\xc3\xa4rger", "sstep", "stepstep",
};

static void test_reduce(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(reductions); i++) {
		const char *literal;

		if (xp_pattern_reduce(reductions[i].pattern, arena, &literal) != reductions[i].match)
			fail_msg("%s reduces wrongly", reductions[i].pattern);
		if (reductions[i].literal)
			assert_string_equal(literal, reductions[i].literal);
		else
			assert_null(literal);
	}
}

/* 127 bytes are a literal, 128 are not. */
static void test_length(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	char text[XP_LITERAL_MAX + 2];
	const char *literal;

	memset(text, 'a', sizeof(text));
	text[XP_LITERAL_MAX] = '\0';
	assert_int_equal(xp_pattern_reduce(text, arena, &literal), XP_MATCH_CONTAINS);
	text[XP_LITERAL_MAX] = 'a';
	text[XP_LITERAL_MAX + 1] = '\0';
	assert_int_equal(xp_pattern_reduce(text, arena, &literal), XP_MATCH_REGEX);
}

static void test_agrees_with_regex(void **state)
{
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();

	for (size_t i = 0; i < XP_LEN(reductions); i++) {
		xp_auto_err err = { 0 };
		struct xp_endpoint ep = { 0 };

		if (xp_pattern_parse(&ep, reductions[i].pattern, arena, &err))
			continue;
		xp_auto(xp_regex_free) struct xp_regex *regex = NULL;
		assert_int_equal(xp_regex_new(reductions[i].pattern, &regex, &err), 0);
		for (size_t k = 0; k < XP_LEN(names); k++)
			if (xp_pattern_match(&ep, names[k], strlen(names[k]), &err) !=
			    xp_regex_search(regex, names[k], strlen(names[k]), &err))
				fail_msg("%s on '%s'", reductions[i].pattern, names[k]);
	}
}

static void test_launches(void **state)
{
	struct xp_endpoint any = { .cuda = { .domain = XP_API_DRIVER, .api_name = "@launch" } };
	xp_auto(xp_arena_free) struct xp_arena *arena = xp_arena_new();
	struct xp_endpoint one = { .cuda = { .domain = XP_API_RUNTIME, .api_name = "cudaMemcpy" } };

	assert_string_equal(xp_cuda_fold(arena, "__cudaLaunchKernel_ptsz_v13000"), "cudaLaunchKernel");
	assert_true(xp_cuda_launches(XP_API_RUNTIME, "cudaLaunchKernelExC"));
	assert_false(xp_cuda_launches(XP_API_DRIVER, "cudaLaunchKernel"));
	assert_true(xp_cuda_api_matches(&any, XP_API_DRIVER, "cuLaunchKernelEx"));
	assert_false(xp_cuda_api_matches(&any, XP_API_RUNTIME, "cudaLaunchKernel"));
	assert_false(xp_cuda_api_matches(&any, XP_API_DRIVER, "cuMemAlloc"));
	assert_true(xp_cuda_api_matches(&one, XP_API_RUNTIME, "cudaMemcpy"));
	assert_false(xp_cuda_api_matches(&one, XP_API_RUNTIME, "cudaMemcpyAsync"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reduce),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_agrees_with_regex),
		cmocka_unit_test(test_launches),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
