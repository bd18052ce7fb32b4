// SPDX-License-Identifier: Apache-2.0
/* Recorded stacks -> whose code a finding names: the frame that is the program's own; memory that lacks. */
#include "triage_scene_stacks.h"

static const struct {
	const char *stack, *own;
} stacks[] = {
	{ "score@/srv/app < main@/srv/app", "score" },
	{ "clear_page@k < memset@/usr/lib/x86_64-linux-gnu/libc.so.6 < encode@/srv/app", "encode" },
	{ "_int_malloc@/srv/static < __libc_malloc@/srv/static < parse@/srv/static", "parse" },
	{ "__poll@/lib64/libc.so.6 < start_thread@/lib64/libc.so.6 < __clone3@/lib64/libc.so.6", NULL },
	{ "std::_Rb_tree<int>::find(int)@/srv/app < count_word(char)@/srv/app", "count_word(char)" },
	{ "void std::__sort<It>(It, It)@/srv/app < rank(std::vector<int>&)@/srv/app", "rank(std::vector<int>&)" },
	{ "sum<std::vector<int> >(int)@/srv/app < main@/srv/app", "sum<std::vector<int> >(int)" },
	{ "<alloc::vec::Vec<T>>::push@/srv/app < app::fill@/srv/app", "app::fill" },
	{ "runtime.mallocgc@/srv/app < main.handle@/srv/app", "main.handle" },
	{ "exec_replication@/usr/lib/postgresql/15/bin/postgres < main@/usr/lib/postgresql/15/bin/postgres", "exec_replication" },
	{ "push@/opt/app/lib/libqueue.so.2 < main@/srv/app", "push" },
	{ "deepcopy@/usr/lib/python3.11/copy.py:146 < render@/srv/job.py:5 < main@/srv/job.py:11", "render" },
	{ "matmul@/srv/venv/lib/python3.11/site-packages/numpy/x.py:3 < main@/srv/job.py:11", "matmul" },
	{ "read@/lib/libc.so.6 < list_dealloc@/usr/bin/python3.11 < dumps@/usr/lib/python3.11/pool.py:51", "dumps" },
	{ "list_dealloc@/usr/bin/python3.11 < take@/usr/lib/libpython3.11.so.1.0", NULL },
	{ "blend@/srv/ext.so < draw@/srv/job.py:7", "draw" },
	{ "@/srv/app < vdso_call@[vdso]", NULL },
};

static void own_frames(void **state)
{
	struct scene *s = *state;

	for (size_t i = 0; i < XP_LEN(stacks); i++) {
		size_t n;
		const struct xp_frame *const *frames = stack_of(s->arena, stacks[i].stack, &n);
		const struct xp_frame *own = xp_own_frame(frames, n);

		if (!own != !stacks[i].own || (own && strcmp(own->symbol, stacks[i].own) != 0))
			fail_msg("%s: %s", stacks[i].stack, own ? own->symbol : "none");
	}
}

static const struct {
	const char *symbol, *text;
} functions[] = {
	{ "update_table", "update_table" },
	{ "log_file::append(std::string const&) const", "log_file::append" },
	{ "(anonymous namespace)::parse(int)", "(anonymous namespace)::parse" },
	{ "cache::operator()(int)", "cache::operator()" },
	{ "operator<(key const&, key const&)", "operator<" },
	{ "main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()" },
	{ "sum<std::vector<int> >(std::vector<int>)", "sum<std::vector<int> >" },
	{ "find<std::map<std::string, std::vector<double> >, (anonymous namespace)::order>(std::map<std::string, int>&)", "find<...>" },
	{ "void table<std::basic_string<char, std::char_traits<char> > >::insert<std::pair<int, int> >(std::pair<int, int>&&)",
	  "void table<...>::insert<...>" },
	{ "<alloc::vec::Vec<(u8, u8)> as app::Store>::put", "<alloc::vec::Vec<(u8, u8)> as app::Store>::put" },
};

static void short_functions(void **state)
{
	(void)state;
	for (size_t i = 0; i < XP_LEN(functions); i++) {
		xp_auto_builder text = { 0 };

		xp_short_function(functions[i].symbol, &text);
		assert_string_equal(text.data, functions[i].text);
	}
}

/* A library's hot function is named with the code that calls it, as long as one function makes at least half of it. */
static void hot_library_function(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	runs(s, r, "_int_free@/usr/lib/libc.so.6 < free@/usr/lib/libc.so.6 < drop(Item*) const@/srv/app < main@/srv/app", 20);
	runs(s, r, "_int_free@/usr/lib/libc.so.6 < free@/usr/lib/libc.so.6 < other@/srv/app", 20);
	r->hot = (struct xp_hot_thread){ MAIN, "main", 40, 40 };
	r->spot = (struct xp_hotspot){ .frame = r->groups[0].frames[0],
				       .inclusive_samples = 40,
				       .exclusive_samples = 40,
				       .by_exclusive = r->hot,
				       .by_inclusive = r->hot,
				       .hot = &r->hot,
				       .n_hot = 1 };
	r->cpu.inventory.n_hotspots = 1;
	says(s, "cpu_hotspot", "in _int_free, called from drop");
	says_not(s, "Item");
	json_t *from = json_object_get(s->found.at[0]->evidence, "called_from");
	assert_string_equal(json_string_value(json_object_get(from, "function")), "drop(Item*) const");
	r->groups[0].samples = 19;
	runs(s, r, "_int_free@/usr/lib/libc.so.6", 1);
	says(s, "cpu_hotspot", "called from other");
	r->groups[1].samples = 19;
	says_not(s, "called from");
	/* The program's own function needs nobody to be named with. */
	r->spot.frame = stack_of(s->arena, "drop@/srv/app", &(size_t){ 0 })[0];
	r->groups[0].frames++;
	says_not(s, "called from");
}

static void kernel_work_has_an_owner(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	runs(s, r, "clear_page@k < asm_exc_page_fault@k < memset@/usr/lib/libc.so.6 < encode@/srv/app", 30);
	r->thread.fault_samples = 30;
	says(s, "cpu_kernel", "mostly in page faults of encode");
	r->thread.fault_samples = 0;
	r->call = (struct xp_cpu_call){ "munmap", 30 };
	r->thread.n_calls = 1;
	says(s, "cpu_kernel", "mostly in munmap, called from encode");
	s->sums[0] = (struct xp_call_sum){ .name = "munmap", .calls = 50000, .total_ns = 50000000 };
	s->uses[0] = (struct xp_call_use){ .tid = MAIN, .thread_name = "main", .name = "munmap", .calls = 50000, .total_ns = 50000000 };
	s->view.n_sums = s->view.n_uses = 1;
	says(s, "syscall_rate", "most of them from encode");
	r->call.samples = 14; /* less than half of the kernel samples: they may be somebody else's */
	says(s, "syscall_rate", "us each");
	for (size_t i = 0; i < s->found.n; i++)
		assert_null(strstr(s->found.at[i]->message, "most of them from"));
}

static const struct {
	const char *reclaim;
	uint64_t samples; /* of 50 */
	const char *words;
} reclaims[] = {
	{ "shrink_node@k < try_to_free_mem_cgroup_pages@k < charge@k < asm_exc_page_fault@k < sum@/srv/app", 20,
	  "the control group is at its memory limit" },
	{ "shrink_node@k < mem_cgroup_handle_over_high@k < exit_to_user@k < sum@/srv/app", 20, "the control group is at its memory limit" },
	{ "shrink_node@k < try_to_free_pages.constprop.0@k < asm_exc_page_fault@k < sum@/srv/app", 20,
	  "the machine has no free memory left" },
	{ "shrink_node@k < try_to_free_pages@k < asm_exc_page_fault@k < sum@/srv/app", 19, NULL },
	{ "sum@/srv/app < try_to_free_pages@/srv/app", 20, NULL }, /* its own function has that name */
};

static void memory_is_taken_back(void **state)
{
	for (size_t i = 0; i < XP_LEN(reclaims); i++) {
		struct scene *s = *state;
		struct recorded *r = record(s);

		runs(s, r, reclaims[i].reclaim, reclaims[i].samples);
		runs(s, r, "filemap_fault@k < asm_exc_page_fault@k < sum@/srv/app", 50 - reclaims[i].samples);
		r->thread.fault_samples = r->thread.kernel_samples;
		says(s, "cpu_kernel", reclaims[i].words ? reclaims[i].words : "mostly in page faults of sum");
		const struct xp_next_action *next = s->found.at[0]->next;
		assert_string_equal(next->code, reclaims[i].words ? "check_memory" : "collect_cpu_samples");
	}
}

static void waits_have_an_owner(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	blocks(s, r, MAIN, "fsync", "fsync@/usr/lib/libc.so.6 < save@/srv/job.py:9 < main@/srv/job.py:20", 300);
	says(s, "syscall_blocked", "in fsync, called from save (job.py:9)");
	r->uses[0].total_ns = 601 * MS; /* most blocks were too short to have a stack */
	says(s, "syscall_blocked", "in fsync, its longer waits from save (job.py:9)");
	r->blocks[0].total_ns = 150 * MS; /* all but a few */
	says(s, "syscall_blocked", "in fsync");
	says_not(s, "from save");
	runs(s, r, "iowrite16@k < do_fsync@k < fsync@/usr/lib/libc.so.6 < flush@/srv/job.py:4", 9);
	r->call = (struct xp_cpu_call){ "fsync", 5 };
	r->thread.n_calls = 1;
	says(s, "syscall_blocked", "in fsync, by CPU samples called from flush (job.py:4)");
}

static void a_hung_call_has_an_owner(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	s->threads[0] = thread(MAIN, "main", 0, 0);
	s->time.active = 0;
	blocks(s, r, MAIN, "connect", "__libc_connect@/usr/lib/libc.so.6 < open_session@/srv/app", 1000);
	s->open[0] = (struct xp_view_open){ .tid = MAIN, .thread_name = "main", .name = "connect", .age_ns = 400 * MS };
	s->view.n_open = 1;
	s->sums[0].max_ns = 401 * MS;
	says(s, "fully_blocked", "waits in connect, 7 times in 1000 ms, the longest for 401, called from open_session");
	assert_int_equal(*(const int *)s->found.at[0]->next, XP_NEXT_SPEC);
	s->uses[0].calls = 1;
	says(s, "fully_blocked", "waits in connect, called from open_session");
	assert_string_equal(((const struct xp_next_action *)s->found.at[0]->next)->code, "collect_off_cpu");
}

static void faults_have_an_owner(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	s->threads[0].major_faults = s->time.major_faults = 4001;
	blocks(s, r, MAIN, NULL, "find@/srv/job.py:9", 310);
	says(s, "major_faults", "for them, in find (job.py:9)");
	assert_int_equal(json_array_size(json_object_get(s->found.at[0]->evidence, "stack")), 1);
	/* A fast disk: no block is long enough for a stack, but the kernel was sampled. */
	r->off_cpu.n_groups = 0;
	runs(s, r, "submit_bio@k < asm_exc_page_fault@k < scan@/srv/job.py:4", 10);
	r->thread.fault_samples = 10;
	says(s, "major_faults", "for them, in scan (job.py:4)");
}

/* The collector runs wherever it is due: in whose work it mostly is. */
static void collections_have_an_owner(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	runs(s, r, "deduce_unreachable@/usr/bin/python3.11 < load@/srv/job.py:9 < main@/srv/job.py:20", 30);
	runs(s, r, "_PyEval@/usr/bin/python3.11 < parse@/srv/job.py:31 < main@/srv/job.py:21", 60);
	r->groups[0].collector = true;
	r->thread.gc_samples = 30;
	says(s, "python_gc", "in Python's garbage collector, most of it inside load (job.py:9)");
}

/* Who holds Python's lock, and with which of its functions. */
static void the_interpreter_is_held_by(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	s->threads[1] = thread(MAIN + 1, "worker", 600, 0);
	s->time.n_threads = 2;
	blocks(s, r, MAIN, "futex", "take_gil@/usr/bin/python3.11 < produce@/srv/job.py:7", 500);
	r->blocks[0].interpreter_lock = true;
	r->uses[0].lock_ns = 500 * MS;
	r->uses[0].lock = r->uses[0].longest;
	says(s, "python_gil", "while others ran, most of all worker");
	runs(s, r, "scan_once@/usr/lib/_json.so < loads@/usr/lib/python3.11/json/decoder.py:353 < parse@/srv/job.py:4", 60);
	says_not(s, "parse"); /* of another thread */
	r->groups[0].thread_name_pattern = "worker";
	says(s, "python_gil", "while others ran, most of all worker in parse (job.py:4)");
}

/* Nobody waits longer for children than they ran; where processes are many, their number is what costs. */
static void children(void **state)
{
	struct scene *s = *state;
	struct recorded *r = record(s);

	s->threads[0] = thread(MAIN, "main", 100, 0);
	s->time.children_cpu_ns = 600 * MS;
	blocks(s, r, MAIN, "read", "read@/usr/lib/libc.so.6 < stamp@/srv/job.py:3", 500);
	codes(s);
	assert_true(share(s, 0) == 0.6);
	says(s, "busy_children", "600 ms of CPU time; the main thread waited mostly in read, called from stamp (job.py:3)");
	s->input.forked = 20;
	says(s, "busy_children", "; 20 processes were started in this time;");
	s->input.forked = 19;
	says_not(s, "were started");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCENE_TEST(the_interpreter_is_held_by),
		cmocka_unit_test(short_functions),
		SCENE_TEST(own_frames),
		SCENE_TEST(hot_library_function),
		SCENE_TEST(kernel_work_has_an_owner),
		SCENE_TEST(memory_is_taken_back),
		SCENE_TEST(waits_have_an_owner),
		SCENE_TEST(a_hung_call_has_an_owner),
		SCENE_TEST(faults_have_an_owner),
		SCENE_TEST(collections_have_an_owner),
		SCENE_TEST(children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
