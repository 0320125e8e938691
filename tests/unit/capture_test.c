// SPDX-License-Identifier: MIT
/*
 * The CPU side against the running kernel: needs the rights for BPF, and skips aloud without them.
 *
 * The programs that are recorded are children of this one: functions of this file with known call
 * chains (everything here is built with frame pointers). A child waits on a pipe until it is
 * tracked. It is forked before its recording begins: the recorder's threads may hold locks at a
 * fork, such as those of a sanitizer's allocator, that nobody would release in the child.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/error.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "profile/reader.h"
#include "symbolize/symbolize.h"
#include "tap.h"

#define PROCESSES 3
#define THREADS	  4
#define CALLS	  500

struct recording {
	char path[64];
	struct profile_writer *w;
	struct tasks *tasks;
	struct capture *capture;
	struct vec(struct gpu_launch) launches;
	struct profile_totals totals;
	pid_t child;
	int go; /* the child's pipe */
};

static char library[4096];
static enum launch_marker chosen_marker; /* of the latest recording */

static int keep_launch(void *context, const struct gpu_launch *e)
{
	struct recording *r = context;

	return vec_push(&r->launches, *e);
}

/* ------------------------------------------------------------------ recording */

__attribute__((noinline)) static void run_child(void (*run)(void))
{
	run();
	_exit(0);
}

/* A child that begins with `run` when it is let go. */
__attribute__((noinline)) static void fork_child(struct recording *r, void (*run)(void))
{
	int go[2];

	CHECK(!pipe(go));
	fflush(stdout);
	r->child = fork();
	if (!r->child) {
		close(go[1]);
		if (read(go[0], &chosen_marker, sizeof(chosen_marker)) == sizeof(chosen_marker))
			run_child(run);
		_exit(1);
	}
	close(go[0]);
	r->go = go[1];
}

/* Tells the child which marker was chosen, and that it may run. */
static void let_go(struct recording *r)
{
	CHECK(write(r->go, &chosen_marker, sizeof(chosen_marker)) == sizeof(chosen_marker));
	close(r->go);
}

/* Begins a recording, with a child that will do `run`. */
static bool begin(struct recording *r, const struct capture_options *options, void (*run)(void))
{
	struct gpu_events launches = {.context = r, .launch = keep_launch};

	*r = (struct recording){0};
	fork_child(r, run);
	strcpy(r->path, "/tmp/capture_test.XXXXXX");
	close(mkstemp(r->path));
	if (profile_writer_open(&r->w, r->path) || tasks_new(&r->tasks, r->w) ||
		capture_open(
			&r->capture, options, r->w, r->tasks, launches, (struct walker_news){0}) ||
		capture_start(r->capture)) {
		printf("# %s\n", error_text());
		close(r->go);
		CHECK(waitpid(r->child, NULL, 0) == r->child);
		CHECK(false);
		return false;
	}
	chosen_marker = capture_marker(r->capture);
	return true;
}

/* Lets the child go, tracked from before its first step. */
static void start_child(struct recording *r)
{
	CHECK(!capture_track(r->capture, r->child));
	/* As before a library may report. */
	CHECK(!capture_stack_resolver(r->capture).prepare(r->capture, (uint32_t)r->child, true));
	let_go(r);
}

static void drain(struct recording *r)
{
	bool busy = true;

	while (busy)
		if (capture_drain(r->capture, &busy)) {
			printf("# %s\n", error_text());
			CHECK(false);
			return;
		}
}

/* Drains until the child has ended. */
static void drain_until_end(struct recording *r)
{
	struct timespec pause = {.tv_nsec = 5000000};
	int status;

	while (waitpid(r->child, &status, WNOHANG) == 0) {
		drain(r);
		nanosleep(&pause, NULL);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void finish(struct recording *r)
{
	struct symbolize_options options = {.same_boot = true};
	struct symbolize_stats stats;

	CHECK(!capture_stop(r->capture));
	drain(r);
	capture_close(r->capture);
	CHECK(!symbolize_profile(r->w, &options, &stats));
	profile_writer_totals(r->w, &r->totals);
	tasks_free(r->tasks);
	CHECK(!profile_writer_close(r->w));
}

static void release(struct recording *r)
{
	unlink(r->path);
	vec_release(&r->launches);
}

/* ------------------------------------------------------------------ looking at a profile */

static const char *frame_name(const struct profile_reader *p, uint32_t stack)
{
	const struct profile_stack_node *node = profile_stack_node(p, stack);
	const struct profile_location *l = node ? profile_location(p, node->location) : NULL;

	return l ? profile_string(p, l->name, NULL) : "";
}

static uint32_t parent_of(const struct profile_reader *p, uint32_t stack)
{
	return profile_stack_node(p, stack)->parent;
}

static void print_stack(const struct profile_reader *p, uint32_t stack)
{
	printf("#");
	for (; stack; stack = parent_of(p, stack)) {
		const struct profile_location *l =
			profile_location(p, profile_stack_node(p, stack)->location);
		const struct profile_module *m = profile_module(p, l->module);

		printf(" <- %s", frame_name(p, stack));
		if (!l->name)
			printf("(%s+%#lx)", m ? profile_string(p, m->path, NULL) : "?", l->address);
	}
	printf("\n");
}

static uint32_t root_of(const struct profile_reader *p, uint32_t stack)
{
	while (stack && parent_of(p, stack))
		stack = parent_of(p, stack);
	return stack;
}

static uint32_t depth_of(const struct profile_reader *p, uint32_t stack)
{
	uint32_t depth = 0;

	for (; stack; stack = parent_of(p, stack))
		depth++;
	return depth;
}

/* The profile with all its tables. */
static struct profile_reader *open_profile(const struct recording *r)
{
	struct profile_reader *p = NULL;
	struct profile_event e;

	CHECK(!profile_reader_open(&p, r->path));
	while (p && profile_reader_next(p, &e) > 0)
		;
	return p;
}

/* ------------------------------------------------------------------ known call chains */

__attribute__((noinline)) static void spin_leaf(volatile unsigned long *counter)
{
	struct timespec now;

	do {
		for (int i = 0; i < 100000; i++)
			++*counter;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < 300);
}

__attribute__((noinline)) static void spin_middle(volatile unsigned long *counter)
{
	spin_leaf(counter);
	++*counter;
}

__attribute__((noinline)) static void spin_outer(void)
{
	volatile unsigned long counter = 0;

	spin_middle(&counter);
	++counter;
}

/* The functions that call each other above `stack`, which is one of spin_leaf. */
static void check_spin_callers(const struct profile_reader *p, uint32_t stack)
{
	static const char *const callers[] = {
		"spin_middle", "spin_outer", "run_child", "fork_child"};

	for (size_t i = 0; i < 4; i++) {
		stack = parent_of(p, stack);
		if (strcmp(frame_name(p, stack), callers[i]))
			print_stack(p, stack);
		CHECK_TEXT(frame_name(p, stack), callers[i]);
	}
}

static uint64_t count_samples_of(const struct recording *r, const char *leaf)
{
	struct profile_reader *names = open_profile(r), *events = NULL;
	struct profile_event e;
	uint64_t count = 0;

	CHECK(!profile_reader_open(&events, r->path));
	while (profile_reader_next(events, &e) > 0)
		count += e.kind == EVENT_SAMPLE && !strcmp(frame_name(names, e.sample.stack), leaf);
	profile_reader_close(events);
	profile_reader_close(names);
	return count;
}

static void every_sample_shows_who_called_the_function_it_hit(void)
{
	const struct capture_options options = {.sample_hz = 999};
	struct recording r;
	struct profile_reader *p;

	if (!begin(&r, &options, spin_outer))
		return;
	start_child(&r);
	drain_until_end(&r);
	finish(&r);
	p = open_profile(&r);
	for (uint32_t stack = 1; stack <= profile_counts(p).stack_nodes; stack++)
		if (!strcmp(frame_name(p, stack), "spin_leaf"))
			check_spin_callers(p, stack);
	/* Nearly all of the samples are of it. */
	CHECK(count_samples_of(&r, "spin_leaf") > r.totals.samples * 9 / 10);
	CHECK(r.totals.losses[LOSS_STACKS_INCOMPLETE] < r.totals.samples / 10);
	profile_reader_close(p);
	release(&r);
}

/* ------------------------------------------------------------------ families */

static void fork_a_short_life(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_NAME, "short-lived");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Two generations that leave: the grandchild belongs to init and goes on. It has `alive` open until
 * its end. */
static void become_a_daemon(int alive)
{
	char *const arguments[] = {"/bin/sh", "-c", "exec /bin/echo one two >/dev/null", NULL};
	pid_t parent;

	if (fork())
		return;
	setsid();
	parent = getpid();
	if (fork())
		_exit(0);
	while (getppid() == parent)
		usleep(1000);
	fcntl(alive, F_SETFD, 0);
	execv(arguments[0], arguments);
	_exit(127);
}

static void raise_a_family(void)
{
	int alive[2];
	char byte;

	fork_a_short_life();
	if (pipe2(alive, O_CLOEXEC))
		_exit(1);
	become_a_daemon(alive[1]);
	close(alive[1]);
	while (waitpid(-1, NULL, 0) > 0)
		;
	if (read(alive[0], &byte, 1)) /* returns when the daemon has ended */
		_exit(1);
}

/* The first process of this name, and how many there are. */
static const struct profile_process *find_process(
	const struct profile_reader *p, const char *comm, int *ret_count)
{
	const struct profile_process *found = NULL;

	*ret_count = 0;
	for (uint32_t i = 1; i <= profile_counts(p).processes; i++) {
		const struct profile_process *process = profile_process(p, i);

		if (strcmp(profile_string(p, process->comm, NULL), comm))
			continue;
		found = found ? found : process;
		++*ret_count;
	}
	return found;
}

static void children_grandchildren_and_daemons_are_followed_through_fork_and_exec(void)
{
	const struct capture_options options = {.sample_hz = 99};
	const struct profile_process *process;
	struct profile_reader *p;
	struct recording r;
	int count;

	if (!begin(&r, &options, raise_a_family))
		return;
	start_child(&r);
	drain_until_end(&r);
	finish(&r);
	p = open_profile(&r);
	process = find_process(p, "short-lived", &count);
	CHECK(count == 1);
	CHECK(process && profile_process(p, process->parent) &&
		profile_process(p, process->parent)->pid == (uint32_t)r.child);
	process = find_process(p, "sh", &count);
	CHECK(count == 1);
	if (process)
		CHECK_TEXT(profile_string(p, process->cmdline, NULL),
			"/bin/sh -c exec /bin/echo one two >/dev/null");
	process = find_process(p, "echo", &count);
	CHECK(count == 1);
	if (process)
		CHECK_TEXT(profile_string(p, process->cmdline, NULL), "/bin/echo one two");
	profile_reader_close(p);
	release(&r);
}

static void *name_thread(void *name)
{
	prctl(PR_SET_NAME, name);
	return NULL;
}

static void start_named_threads(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, name_thread, "first-thread");
	pthread_create(&threads[1], NULL, name_thread, "second-thread");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static bool has_thread(const struct profile_reader *p, const char *name)
{
	for (uint32_t i = 1; i <= profile_counts(p).threads; i++)
		if (!strcmp(profile_string(p, profile_thread(p, i)->name, NULL), name))
			return true;
	return false;
}

static void threads_have_the_names_they_gave_themselves(void)
{
	const struct capture_options options = {.sample_hz = 99};
	struct profile_reader *p;
	struct recording r;

	if (!begin(&r, &options, start_named_threads))
		return;
	start_child(&r);
	drain_until_end(&r);
	finish(&r);
	p = open_profile(&r);
	CHECK(has_thread(p, "first-thread"));
	CHECK(has_thread(p, "second-thread"));
	profile_reader_close(p);
	release(&r);
}

static void run_many_short_processes(void)
{
	for (int i = 0; i < 10000; i++) {
		pid_t pid = vfork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static void memory_is_given_back_when_processes_end(void)
{
	const struct capture_options options = {.sample_hz = 99};
	struct recording r;
	size_t before, after;

	if (!begin(&r, &options, run_many_short_processes))
		return;
	start_child(&r);
	before = mallinfo2().uordblks;
	drain_until_end(&r);
	after = mallinfo2().uordblks;
	/* The profile's own tables keep an entry for each of 10,000 processes, and one for its
	 * thread, with its CPU time. Nothing else grows. */
	CHECK(after - before < 10000 * 600);
	finish(&r);
	CHECK(!r.totals.losses[LOSS_MAPS_LOST]);
	release(&r);
}

/* ------------------------------------------------------------------ launches */

typedef void (*marker_function)(uint64_t instance, uint64_t correlation, uint64_t kind);

static marker_function load_marker(void)
{
	static const char *const names[LAUNCH_MARKER_KINDS] = {
		[LAUNCH_MARKER_NOP1] = "xpuprof_launch_marker_nop1",
		[LAUNCH_MARKER_NOP5] = "xpuprof_launch_marker_nop5",
		[LAUNCH_MARKER_NOP10] = "xpuprof_launch_marker_nop10"};
	void *handle = dlopen(library, RTLD_NOW);
	marker_function marker =
		handle ? (marker_function)dlsym(handle, names[chosen_marker]) : NULL;

	if (!marker)
		_exit(3);
	return marker;
}

__attribute__((noinline)) static void launch_once(
	marker_function marker, uint32_t instance, uint32_t id)
{
	volatile uint32_t after = id;

	marker(instance, id, CALL_LAUNCH);
	after++;
}

static void *launch_from_thread(void *instance_and_thread)
{
	uint32_t instance = (uint32_t)((uintptr_t)instance_and_thread >> 8);
	uint32_t thread = (uint32_t)(uintptr_t)instance_and_thread & 255;
	marker_function marker = load_marker();

	for (uint32_t i = 0; i < CALLS; i++)
		launch_once(marker, instance, thread * CALLS + i);
	return NULL;
}

static void launch_from_threads(uintptr_t instance)
{
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, launch_from_thread, (void *)(instance << 8 | i));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static void launch_from_processes(void)
{
	for (uintptr_t instance = 1; instance <= PROCESSES; instance++)
		if (!fork()) {
			launch_from_threads(instance);
			_exit(0);
		}
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void check_launch_stack(const struct profile_reader *p, uint32_t stack)
{
	CHECK_TEXT(frame_name(p, stack), "launch_once");
	CHECK_TEXT(frame_name(p, parent_of(p, stack)), "launch_from_thread");
}

static void every_launch_arrives_once_with_its_ids_and_the_stack_of_its_caller(void)
{
	const struct capture_options options = {.launches = true, .library = library};
	static unsigned char seen[PROCESSES][THREADS * CALLS];
	struct profile_reader *p;
	struct recording r;

	if (!begin(&r, &options, launch_from_processes))
		return;
	start_child(&r);
	drain_until_end(&r);
	finish(&r);
	CHECK(r.launches.count == PROCESSES * THREADS * CALLS);
	p = open_profile(&r);
	vec_foreach (e, &r.launches) {
		CHECK(!e->incomplete);
		CHECK(e->instance >= 1 && e->instance <= PROCESSES &&
			e->correlation < THREADS * CALLS);
		CHECK(e->kind == CALL_LAUNCH && e->thread);
		CHECK(!seen[e->instance - 1][e->correlation]++);
		check_launch_stack(p, e->stack);
	}
	CHECK(r.totals.losses[LOSS_STACKS_RING_FULL] == 0);
	profile_reader_close(p);
	release(&r);
}

#define FLOOD 200000

static void launch_a_flood(void)
{
	marker_function marker = load_marker();

	for (uint32_t i = 0; i < FLOOD; i++)
		launch_once(marker, 1, i);
}

static void what_does_not_fit_into_the_ring_is_counted_to_the_last_launch(void)
{
	const struct capture_options options = {.launches = true, .library = library};
	struct recording r;

	if (!begin(&r, &options, launch_a_flood))
		return;
	start_child(&r);
	CHECK(waitpid(r.child, NULL, 0) == r.child); /* and nobody drains */
	finish(&r);
	CHECK(r.totals.losses[LOSS_STACKS_RING_FULL] > 0);
	CHECK(r.launches.count + r.totals.losses[LOSS_STACKS_RING_FULL] == FLOOD);
	release(&r);
}

static void a_ring_that_fills_up_wakes_the_reader(void)
{
	const struct capture_options options = {.launches = true, .library = library};
	struct recording r;
	struct pollfd fd = {.events = POLLIN};

	if (!begin(&r, &options, launch_a_flood))
		return;
	drain(&r);
	fd.fd = capture_poll_fd(r.capture);
	CHECK(poll(&fd, 1, 0) == 0);
	start_child(&r);
	CHECK(poll(&fd, 1, 10000) == 1);
	drain_until_end(&r);
	finish(&r);
	release(&r);
}

__attribute__((noinline)) static int launch_deep(marker_function marker, int depth)
{
	volatile int here = depth;

	if (depth > 1)
		here += launch_deep(marker, depth - 1);
	else
		launch_once(marker, 1, 1);
	return here;
}

static void launch_from_the_deep(void)
{
	marker_function marker = load_marker();

	launch_deep(marker, 200);
	launch_deep(marker, 3000);
	launch_deep(marker, WALK_FOLLOWED_MAX);
}

static marker_function edge_marker;

__attribute__((noinline)) static void launch_at_the_edge(void)
{
	volatile int kept = launch_deep(edge_marker, 3);

	_exit(kept < 0);
}

/* On a stack whose last byte is the last one that can be read for a page. */
static void launch_on_a_stack_that_ends_soon(void)
{
	const size_t size = 64 << 10, page = 4096;
	char *stack =
		mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ucontext_t context;

	edge_marker = load_marker();
	if (stack == MAP_FAILED || mprotect(stack + size, page, PROT_NONE) || getcontext(&context))
		_exit(3);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = size;
	context.uc_link = NULL;
	makecontext(&context, launch_at_the_edge, 0);
	setcontext(&context);
}

static void a_stack_is_whole_up_to_its_very_end(void)
{
	const struct capture_options options = {.launches = true, .library = library};
	static const char *const callers[] = {
		"launch_once", "launch_deep", "launch_deep", "launch_deep", "launch_at_the_edge"};
	struct profile_reader *p;
	struct recording r;
	uint32_t stack;

	if (!begin(&r, &options, launch_on_a_stack_that_ends_soon))
		return;
	start_child(&r);
	drain_until_end(&r);
	finish(&r);
	p = open_profile(&r);
	CHECK(r.launches.count == 1);
	stack = r.launches.count ? r.launches.items[0].stack : 0;
	for (size_t i = 0; stack && i < sizeof(callers) / sizeof(callers[0]); i++) {
		CHECK_TEXT(frame_name(p, stack), callers[i]);
		stack = parent_of(p, stack);
	}
	CHECK(stack);
	profile_reader_close(p);
	release(&r);
}

static void a_stack_deeper_than_can_be_taken_is_marked(void)
{
	const struct capture_options options = {.launches = true, .library = library};
	struct profile_reader *p;
	struct recording r;

	if (!begin(&r, &options, launch_from_the_deep))
		return;
	start_child(&r);
	drain_until_end(&r);
	finish(&r);
	p = open_profile(&r);
	CHECK(r.launches.count == 3);
	if (r.launches.count == 3) {
		const struct gpu_launch *l = r.launches.items;

		CHECK_TEXT(frame_name(p, root_of(p, l[0].stack)), "_start");
		CHECK_TEXT(frame_name(p, root_of(p, l[1].stack)), "_start");
		CHECK_TEXT(frame_name(p, root_of(p, l[2].stack)), "[incomplete stack: too deep]");
		CHECK(!l[0].incomplete && !l[1].incomplete && l[2].incomplete);
		CHECK(depth_of(p, l[0].stack) > 200 && depth_of(p, l[0].stack) < 220);
		CHECK(depth_of(p, l[1].stack) > WALK_FRAMES_MAX - 260 &&
			depth_of(p, l[1].stack) <= WALK_FRAMES_MAX);
	}
	CHECK(profile_loss_count(p, LOSS_STACKS_CUT) == 2);
	profile_reader_close(p);
	release(&r);
}

static void launch_with_nonsense(void)
{
	marker_function marker = load_marker();

	marker(0, 1, CALL_LAUNCH);
	marker(1, 1, 0);
	marker(1, 1, CALL_KINDS);
	marker(1, 1, CALL_LAUNCH);
}

static void calls_of_the_marker_with_impossible_arguments_are_counted_and_dropped(void)
{
	const struct capture_options options = {.launches = true, .library = library};
	struct recording r;

	if (!begin(&r, &options, launch_with_nonsense))
		return;
	start_child(&r);
	drain_until_end(&r);
	finish(&r);
	CHECK(r.launches.count == 1);
	CHECK(r.totals.losses[LOSS_GPU_INVALID] == 3);
	release(&r);
}

static void launch_one(void)
{
	launch_once(load_marker(), 1, 1);
}

static void somebody_elses_launches_are_not_ours(void)
{
	const struct capture_options options = {.launches = true, .library = library};
	struct recording r;

	if (!begin(&r, &options, launch_one))
		return;
	let_go(&r);
	drain_until_end(&r);
	finish(&r);
	CHECK(r.launches.count == 0);
	release(&r);
}

/* ------------------------------------------------------------------ what is there already */

static void a_process_that_runs_already_can_be_tracked(void)
{
	const struct capture_options options = {.sample_hz = 999};
	struct profile_reader *p;
	struct recording r;
	bool found = false;

	if (!begin(&r, &options, spin_outer))
		return;
	CHECK(!capture_track(r.capture, r.child));
	let_go(&r);
	drain_until_end(&r);
	finish(&r);
	p = open_profile(&r);
	for (uint32_t stack = 1; stack <= profile_counts(p).stack_nodes; stack++)
		found |= !strcmp(frame_name(p, stack), "spin_leaf");
	CHECK(found);
	profile_reader_close(p);
	release(&r);
}

static void the_whole_system_is_sampled_when_asked_for(void)
{
	const struct capture_options options = {.sample_hz = 999, .whole_system = true};
	struct profile_reader *p;
	struct recording r;
	bool found = false;

	if (!begin(&r, &options, spin_outer))
		return;
	let_go(&r);
	drain_until_end(&r);
	finish(&r);
	p = open_profile(&r);
	for (uint32_t stack = 1; stack <= profile_counts(p).stack_nodes; stack++)
		found |= !strcmp(frame_name(p, stack), "spin_leaf");
	CHECK(found);
	profile_reader_close(p);
	release(&r);
}

static void markers_are_measured_and_the_cheapest_is_named(void)
{
	uint32_t cost_ns[LAUNCH_MARKER_KINDS];
	enum launch_marker best = capture_measure_markers(cost_ns);

	CHECK(best != LAUNCH_MARKER_NONE && cost_ns[best]);
	for (int i = 0; i < LAUNCH_MARKER_KINDS; i++)
		CHECK(!cost_ns[i] || cost_ns[best] <= cost_ns[i]);
}

static void within_a_pid_namespace_processes_have_the_numbers_they_have_there(void)
{
	char command[4096 + 64];
	char self[4096] = "";

	if (system("unshare --pid --fork --mount-proc true 2>/dev/null")) {
		SKIP("no pid namespace can be made here");
		return;
	}
	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command), "unshare --pid --fork --mount-proc %s inside", self);
	fflush(stdout);
	CHECK(system(command) == 0);
}

/* What the test above runs in there; the exit status says whether all went well. */
static int run_inside(void)
{
	tap_ok = true;
	every_launch_arrives_once_with_its_ids_and_the_stack_of_its_caller();
	children_grandchildren_and_daemons_are_followed_through_fork_and_exec();
	a_process_that_runs_already_can_be_tracked();
	the_whole_system_is_sampled_when_asked_for();
	return !tap_ok;
}

/* ------------------------------------------------------------------ without rights */

static void without_rights_one_line_says_what_is_missing(void)
{
	const struct capture_options options = {.sample_hz = 99, .whole_system = true};
	struct recording r;
	int status;
	pid_t child = fork();

	if (!child) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		strcpy(r.path, "/dev/null");
		if (profile_writer_open(&r.w, r.path) || tasks_new(&r.tasks, r.w))
			_exit(3);
		if (capture_open(&r.capture, &options, r.w, r.tasks, (struct gpu_events){0},
			    (struct walker_news){0}) != -EPERM)
			_exit(4);
		_exit(strstr(error_text(), "CAP_BPF") && !strchr(error_text(), '\n') ? 0 : 5);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ------------------------------------------------------------------ */

static void do_nothing(void)
{
}

static bool have_rights(void)
{
	const struct capture_options options = {.sample_hz = 1};
	struct recording r;
	bool opened = begin(&r, &options, do_nothing);

	if (opened) {
		let_go(&r);
		drain_until_end(&r);
		capture_close(r.capture);
	}
	tasks_free(r.tasks);
	profile_writer_abort(r.w);
	unlink(r.path);
	return opened;
}

int main(int argc, char **argv)
{
	const char *build = getenv("XPUPROF_BUILD");

	snprintf(library, sizeof(library), "%s/libxpuprof-inject.so", build ? build : "build");
	if (argc > 1 && !strcmp(argv[1], "inside"))
		return run_inside();
	if (!have_rights()) {
		printf("1..0 # SKIP %s\n", error_text());
		return 0;
	}
	RUN(every_sample_shows_who_called_the_function_it_hit);
	RUN(children_grandchildren_and_daemons_are_followed_through_fork_and_exec);
	RUN(threads_have_the_names_they_gave_themselves);
	RUN(memory_is_given_back_when_processes_end);
	RUN(every_launch_arrives_once_with_its_ids_and_the_stack_of_its_caller);
	RUN(what_does_not_fit_into_the_ring_is_counted_to_the_last_launch);
	RUN(a_ring_that_fills_up_wakes_the_reader);
	RUN(a_stack_is_whole_up_to_its_very_end);
	RUN(a_stack_deeper_than_can_be_taken_is_marked);
	RUN(calls_of_the_marker_with_impossible_arguments_are_counted_and_dropped);
	RUN(somebody_elses_launches_are_not_ours);
	RUN(a_process_that_runs_already_can_be_tracked);
	RUN(the_whole_system_is_sampled_when_asked_for);
	RUN(markers_are_measured_and_the_cheapest_is_named);
	RUN(within_a_pid_namespace_processes_have_the_numbers_they_have_there);
	RUN(without_rights_one_line_says_what_is_missing);
	return tap_end();
}
