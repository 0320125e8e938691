// SPDX-License-Identifier: MIT
/*
 * The library walks its own stacks: against libgcc's unwinder, from code without frame pointers,
 * whatever happens around it.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

#include "fake_python.h"
#include "inject/repeat.h"
#include "inprocess.h"
#include "random.h"
#include "tap.h"

#define THREADS 4
#define DEPTHS	200

static struct inprocess in;
static uint32_t correlation;

/* The C library's own: a sanitizer's, which comes first, is a frame of its own. */
static int (*libc_backtrace)(void **, int);

/* What a launch left in the ring. */
struct sent {
	struct wire_launch launch;
	struct wire_stack stack; /* type 0: it was not sent with this launch */
	uint64_t words[WALK_FRAMES_MAX + 2 * WALK_PYTHON_FRAMES_MAX];
};

/* And what libgcc finds at the same moment. */
struct moment {
	void *frames[WALK_FRAMES_MAX];
	int depth;
	bool sent;
	uint32_t correlation; /* of the launch; 0: the next one */
};

static struct sent read_sent(void)
{
	uint64_t record[WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES / sizeof(uint64_t)];
	struct sent t = {0};
	int size;

	CHECK(ring_snapshot(&in.reader) == 0);
	while ((size = ring_read(&in.reader, record)) > 0) {
		if (*(const uint8_t *)record == WIRE_LAUNCH) {
			memcpy(&t.launch, record, sizeof(t.launch));
		} else {
			memcpy(&t.stack, record, sizeof(t.stack));
			memcpy(t.words, (const char *)record + sizeof(t.stack),
				(size_t)size - sizeof(t.stack));
		}
	}
	CHECK(size == 0);
	ring_release(&in.reader);
	return t;
}

/* A launch from here, as on_callback makes it. */
static __attribute__((noinline)) void launch(struct moment *m)
{
	struct wire_launch record = {.type = WIRE_LAUNCH,
		.kind = 1,
		.tid = 1,
		.correlation = m->correlation ? m->correlation : ++correlation,
		.time_ns = now_ns()};

	m->depth = libc_backtrace(m->frames, WALK_FRAMES_MAX);
	m->sent = stacks_send(__builtin_frame_address(0), &record);
}

/* The first of libgcc's frames is in `launch`, where the library's begins with the caller. */
static bool is_sent_as(const uint64_t *words, uint32_t depth, const struct moment *m)
{
	if (depth != (uint32_t)m->depth - 1)
		return false;
	for (uint32_t i = 0; i < depth; i++)
		if ((words[i] & WALK_FRAME_ADDRESS) != (uintptr_t)m->frames[i + 1])
			return false;
	return true;
}

static __attribute__((noinline)) int descend(int depth, struct moment *m)
{
	volatile char room[8 + depth % 5 * 16];

	room[0] = 0;
	if (depth)
		return descend(depth - 1, m) + room[0] + 1;
	launch(m);
	return room[0];
}

static struct moment *comparing;

static int compare_and_launch(const void *a, const void *b)
{
	launch(comparing);
	return *(const int *)a - *(const int *)b;
}

static void a_stack_without_frame_pointers_is_what_libgcc_finds(void)
{
	int numbers[] = {2, 1};
	struct moment m = {0};
	struct sent t;

	CHECK(descend(20, &m) == 20);
	t = read_sent();
	CHECK(m.sent && t.stack.walk_end == WALK_COMPLETE && t.stack.python_depth == 0);
	CHECK(is_sent_as(t.words, t.stack.user_depth, &m));
	CHECK(t.launch.stack == t.stack.number && t.launch.correlation == correlation);
	comparing = &m;
	qsort(numbers, 2, sizeof(numbers[0]), compare_and_launch);
	t = read_sent();
	CHECK(m.sent && t.stack.walk_end == WALK_COMPLETE);
	CHECK(is_sent_as(t.words, t.stack.user_depth, &m));
}

static void a_stack_is_sent_once_and_then_named(void)
{
	struct moment m = {0};
	struct sent t[3];

	for (volatile int n = 0; n < 3; n++) { /* one call site: not unrolled */
		CHECK(descend(n == 1 ? 8 : 7, &m) > 0 && m.sent);
		t[n] = read_sent();
	}
	CHECK(t[0].stack.number && t[1].stack.number && !t[2].stack.type);
	CHECK(t[0].launch.stack == t[2].launch.stack && t[0].launch.stack != t[1].launch.stack);
}

static void after_code_was_replaced_stacks_have_other_numbers(void)
{
	struct moment m = {0};
	struct sent t[2];

	for (int n = 0; n < 2; n++) {
		descend(9, &m);
		t[n] = read_sent();
		library.ring.control->code_epoch++;
	}
	CHECK(t[0].stack.number && t[1].stack.number && t[0].stack.number != t[1].stack.number);
}

static void a_stack_for_which_there_was_no_room_is_sent_the_next_time(void)
{
	struct wire_control *c = library.ring.control;
	uint64_t head = c->head;
	struct moment m = {0};
	struct sent t;

	c->head = c->tail + INPROCESS_SLOTS - 1; /* room for a launch, not for its stack */
	descend(11, &m);
	CHECK(!m.sent && c->head == c->tail + INPROCESS_SLOTS - 1);
	c->head = head;
	descend(11, &m);
	t = read_sent();
	CHECK(m.sent && t.stack.number && t.launch.stack == t.stack.number);
}

static void set_kinds(enum walk_mapping_kind from, enum walk_mapping_kind to)
{
	for (uint32_t n = 0; n < in.image.mapping_count; n++)
		if (in.image.mappings[n].kind == from)
			in.image.mappings[n].kind = to;
	inprocess_send_space(&in);
}

static void any_marker(uint64_t instance, uint64_t number, uint64_t kind)
{
}

static void what_cannot_be_walked_is_left_to_the_marker(void)
{
	struct moment m = {0};

	library.marker = any_marker;
	set_kinds(WALK_MAPPING_TABLE, WALK_MAPPING_PENDING);
	descend(12, &m);
	CHECK(!m.sent && !read_sent().stack.type);
	set_kinds(WALK_MAPPING_PENDING, WALK_MAPPING_TABLE);
	descend(12, &m);
	CHECK(m.sent && read_sent().stack.walk_end == WALK_COMPLETE);
	library.marker = NULL;
}

static void without_a_marker_it_is_sent_as_far_as_it_goes(void)
{
	struct moment m = {0};
	struct sent t;

	set_kinds(WALK_MAPPING_TABLE, WALK_MAPPING_PENDING);
	descend(13, &m);
	t = read_sent();
	CHECK(m.sent && t.stack.walk_end == WALK_PENDING && t.stack.user_depth == 1);
	CHECK((t.words[0] & WALK_FRAME_ADDRESS) == (uintptr_t)m.frames[1]);
	set_kinds(WALK_MAPPING_PENDING, WALK_MAPPING_TABLE);
}

static struct moment in_signal;

static void on_signal(int number)
{
	launch(&in_signal);
}

static void a_signal_frame_is_passed_as_libgcc_passes_it(void)
{
	struct sent t;

	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	t = read_sent();
	CHECK(in_signal.sent && t.stack.walk_end == WALK_COMPLETE);
	CHECK(is_sent_as(t.words, t.stack.user_depth, &in_signal));
}

static ucontext_t outside, elsewhere;
static struct moment in_coroutine;

static void coroutine(void)
{
	launch(&in_coroutine);
}

static void a_stack_that_is_not_the_threads_own_is_left_alone(void)
{
	static char stack[65536];
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};

	library.marker = any_marker;
	getcontext(&elsewhere);
	elsewhere.uc_stack = alternate;
	elsewhere.uc_link = &outside;
	makecontext(&elsewhere, coroutine, 0);
	swapcontext(&outside, &elsewhere);
	CHECK(!in_coroutine.sent && in_coroutine.depth > 1);
	CHECK(sigaltstack(&alternate, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
	raise(SIGUSR1);
	CHECK(!in_signal.sent);
	CHECK(!read_sent().launch.type);
	library.marker = NULL;
}

static void without_a_marker_it_is_read_by_the_kernel(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	struct sent t;

	CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
	raise(SIGUSR1);
	t = read_sent();
	CHECK(in_signal.sent && t.stack.walk_end == WALK_COMPLETE);
	CHECK(is_sent_as(t.words, t.stack.user_depth, &in_signal));
}

/* ---- what a launch uses of its thread's stack ---- */

#define ROOM_WORDS 4096
#define OWN_WORDS  128 /* of the function that measures */
#define UNTOUCHED  0x5aa55aa55aa55aa5ull

/* In bytes, from here on. */
static __attribute__((noinline, no_sanitize("address"))) size_t stack_of_a_launch(void)
{
	struct wire_launch record = {
		.type = WIRE_LAUNCH, .kind = 1, .correlation = ++correlation, .time_ns = now_ns()};
	volatile uint64_t *end = __builtin_frame_address(0), *word;

	for (word = end - ROOM_WORDS; word < end - OWN_WORDS; word++)
		*word = UNTOUCHED;
	CHECK(stacks_send(__builtin_frame_address(0), &record));
	for (word = end - ROOM_WORDS; *word == UNTOUCHED; word++)
		;
	return (size_t)(end - word) * sizeof(*word);
}

static void a_launch_takes_little_of_a_small_stack(void)
{
	struct moment m = {0};
	size_t first, again;

#ifdef __SANITIZE_ADDRESS__
	SKIP("a sanitizer uses more than the library");
	return;
#endif
	descend(1, &m);
	read_sent();
	first = stack_of_a_launch();
	CHECK(read_sent().stack.walk_end == WALK_COMPLETE);
	again = stack_of_a_launch();
	CHECK(read_sent().launch.stack);
	printf("# %zu bytes, and %zu when it comes again\n", first, again);
	CHECK(first <= 2048 && again <= 2048);
}

/* ---- stacks that come again ---- */

static __attribute__((noinline)) void one_caller(struct moment *m)
{
	descend(3, m);
	__asm__ volatile("");
}

static __attribute__((noinline)) void another_caller(struct moment *m)
{
	descend(3, m);
	__asm__ volatile(" # not one_caller");
}

/* The same inner frames at the same addresses, under one function or the other. */
static void what_comes_again_in_turn_is_distinguished(void)
{
	uint32_t numbers[2] = {0};
	struct moment m = {0};
	struct sent t;

	for (int n = 0; n < 20; n++) {
		(n % 2 ? one_caller : another_caller)(&m);
		t = read_sent();
		CHECK(m.sent && (n < 2) == !!t.stack.type);
		CHECK(n < 2 ? is_sent_as(t.words, t.stack.user_depth, &m)
			    : t.launch.stack == numbers[n % 2]);
		numbers[n % 2] = t.launch.stack;
	}
	CHECK(numbers[0] != numbers[1]);
}

static struct unwound realigned_walk;
static uint64_t noted[WALK_FRAMES_MAX * 4];

/* Walks from here and notes it, or else whether this is what was noted. */
static __attribute__((noinline)) bool note_or_recognize(bool note)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), end = stack_end_of(frame);
	static struct unwound now; /* too large for this stack */

	if (!note) {
		unwind_begin(&now, frame);
		return repeat_matches(
			(const struct repeat *)noted, realigned_walk.words, 0, &now, end);
	}
	unwind_begin(&realigned_walk, frame);
	unwind_stack(&realigned_walk, end);
	CHECK(repeat_words(&realigned_walk) < sizeof(noted) / sizeof(noted[0]));
	repeat_note((struct repeat *)noted, &realigned_walk);
	return realigned_walk.repeatable && realigned_walk.walk_end == WALK_COMPLETE;
}

/* Its CFA is in a word of its own frame. */
static __attribute__((noinline)) bool realigned(bool note, size_t more_bytes)
{
	volatile char __attribute__((aligned(128))) room[256];
	volatile char *more = __builtin_alloca(more_bytes);
	bool result;

	room[0] = more[0] = 1;
	result = note_or_recognize(note);
	return result && room[0] == more[0];
}

/* One call, so that all calls are from the same place. */
static __attribute__((noinline)) bool under_realigned(bool note, size_t more_bytes)
{
	bool result = realigned(note, more_bytes);

	__asm__ volatile("");
	return result;
}

static void stacks_with_realigned_frames_are_recognized(void)
{
	static const struct {
		bool note;
		size_t more_bytes;
		bool expected;
	} calls[] = {{true, 16, true}, {false, 16, true}, {false, 4096, false}, {false, 16, true}};

	for (volatile size_t n = 0; n < sizeof(calls) / sizeof(calls[0]); n++)
		CHECK(under_realigned(calls[n].note, calls[n].more_bytes) == calls[n].expected);
}

/* A Python function, called from a loop of its own, and the number of a launch in it. */
static __attribute__((noinline)) uint32_t launch_from_python(
	const void *code, const void *at, struct python_frame *outer)
{
	struct python_frame entry = {.owner = PYTHON_ENTRY, .previous = outer},
			    frame = {.code = code, .at = at, .previous = &entry};
	struct moment m = {0};

	python_thread.frame = &frame;
	launch(&m);
	python_thread.frame = NULL;
	return m.sent ? read_sent().launch.stack : 0;
}

static void python_frames_that_differ_are_other_stacks(void)
{
	static uint64_t codes[2][32];
	struct python_frame entry = {.owner = PYTHON_ENTRY},
			    caller = {.code = codes[1], .at = codes, .previous = &entry};
	uint32_t numbers[6];

	CHECK(begin_python(&in));
	for (volatile int round = 0; round < 3; round++) { /* not unrolled */
		uint32_t again[] = {launch_from_python(codes[0], &codes[0][1], NULL),
			launch_from_python(codes[0], &codes[0][2], NULL),
			launch_from_python(codes[1], &codes[0][1], NULL),
			launch_from_python(codes[0], &codes[0][1], &caller), 0, 0};

		codes[0][0] = 1; /* another function was made at its address */
		again[4] = launch_from_python(codes[0], &codes[0][1], NULL);
		codes[0][0] = 0;
		caller.at = &codes[1][3];
		again[5] = launch_from_python(codes[0], &codes[0][1], &caller);
		caller.at = codes;
		if (!round)
			memcpy(numbers, again, sizeof(numbers));
		CHECK(!memcmp(numbers, again, sizeof(numbers)));
	}
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < i; j++)
			CHECK(numbers[i] && numbers[i] != numbers[j]);
}

/* As a recorder would describe one whose _PyRuntime is there. */
static const struct walk_python *send_interpreter(const void *runtime, uint32_t version)
{
	struct wire_space *list = ring_space(&library.ring);

	list->python.runtime = (uintptr_t)runtime;
	list->python.version = version;
	inprocess_send_space(&in);
	return space->python;
}

static void what_walks_go_by_is_not_changed_under_them(void)
{
	const struct walk_python *first = send_interpreter(&python_key, 0x030d);
	struct walk_python before = *first;

	for (uint32_t version = 0x0401; version < 0x0404; version++)
		CHECK(send_interpreter(&python_key, version)->version == version);
	CHECK(!memcmp(first, &before, sizeof(before)));
	CHECK(send_interpreter(&python_key, 0x030d) == first);
}

static void an_interpreter_that_may_be_unloaded_is_not_walked(void)
{
	static const char name[] = "libresolv.so.2";
	struct link_map *shared = dlopen(name, RTLD_NOW),
			*apart = dlmopen(LM_ID_NEWLM, name, RTLD_NOW);
	struct moment m = {0};

	if (!shared || !apart) {
		SKIP("no library to load here");
		return;
	}
	CHECK(send_interpreter(apart->l_ld, 0x0501)->layout == WALK_PYTHON_NONE);
	descend(14, &m);
	CHECK(m.sent && read_sent().stack.flags & WIRE_STACK_PYTHON_INCOMPLETE);
	CHECK(send_interpreter(shared->l_ld, 0x0501)->version == 0x0501);
	dlclose(shared);
	CHECK(dlopen(name, RTLD_NOW | RTLD_NOLOAD));
	send_interpreter(&python_key, 0x030d);
}

static void of_an_interpreter_that_was_ended_by_another_thread_nothing_is_read(void)
{
	static uint64_t finalizing = 0x2000;
	struct wire_space *list = ring_space(&library.ring);
	struct moment m = {0};

	list->python.finalizing_address = (uintptr_t)&finalizing;
	inprocess_send_space(&in);
	CHECK(pthread_setspecific(python_key.key, (void *)0x1000) == 0);
	descend(15, &m);
	CHECK(m.sent && !read_sent().stack.python_depth);
	CHECK(pthread_setspecific(python_key.key, &python_thread) == 0);
	list->python.finalizing_address = 0;
	inprocess_send_space(&in);
}

/* ---- threads ---- */

static struct moment moments[THREADS][DEPTHS + 1]; /* by depth */
static bool go_on;

static void *launch_from_many_depths(void *context)
{
	struct moment *mine = context;

	for (int n = 0; n < 1000 && !mine[0].sent; n++) {
		launch(&mine[0]);
		usleep(1000);
	}
	for (int round = 0; round < 20; round++)
		for (int n = 1; n < DEPTHS; n++)
			descend(n, &mine[n]);
	return NULL;
}

/* As our own thread does it, but all the time. */
static void *change_everything(void *unused)
{
	while (__atomic_load_n(&go_on, __ATOMIC_RELAXED)) {
		stack_end_answer();
		inprocess_send_space(&in);
	}
	return NULL;
}

struct sent_words {
	uint32_t depth;
	uint64_t words[WALK_FRAMES_MAX];
};

/* Reads what has come: false when a launch names a stack that is not its own, or one that was not
 * sent before. */
static bool check_sent(struct sent_words *stacks, uint32_t *ret_launches)
{
	uint64_t record[WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES / sizeof(uint64_t)];
	const struct wire_stack *stack = (const struct wire_stack *)record;
	const struct wire_launch *sent = (const struct wire_launch *)record;

	*ret_launches = 0;
	while (ring_read(&in.reader, record) > 0) {
		uint32_t number = sent->type == WIRE_LAUNCH ? sent->stack : stack->number;
		struct sent_words *words = &stacks[number];

		if (!number || (sent->type == WIRE_LAUNCH) != !!words->depth)
			return false;
		if (sent->type == WIRE_LAUNCH) {
			++*ret_launches;
			if (!is_sent_as(words->words, words->depth,
				    &moments[sent->correlation >> 16][sent->correlation & 0xffff]))
				return false;
			continue;
		}
		words->depth = stack->user_depth;
		memcpy(words->words, stack + 1, stack->user_depth * sizeof(uint64_t));
	}
	return true;
}

static void threads_are_distinguished_while_everything_changes(void)
{
	static struct sent_words stacks[WIRE_STACKS + 1];
	pthread_t threads[THREADS], changer;
	uint32_t launches;

	CHECK(!read_sent().launch.type);
	go_on = true;
	library.marker = any_marker;
	pthread_create(&changer, NULL, change_everything, NULL);
	for (uint32_t t = 0; t < THREADS; t++) {
		for (uint32_t n = 0; n < DEPTHS; n++)
			moments[t][n].correlation = t << 16 | n;
		moments[t][0].correlation = t << 16 | DEPTHS;
		pthread_create(&threads[t], NULL, launch_from_many_depths, moments[t]);
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	__atomic_store_n(&go_on, false, __ATOMIC_RELAXED);
	pthread_join(changer, NULL);
	for (int t = 0; t < THREADS; t++)
		moments[t][DEPTHS] = moments[t][0];
	CHECK(ring_snapshot(&in.reader) == 0);
	CHECK(check_sent(stacks, &launches));
	CHECK(launches > DEPTHS);
	ring_release(&in.reader);
	library.marker = NULL;
}

/* ---- launches in the middle of launches ---- */

#define INTERRUPTIONS 2000

static uint32_t interruptions;

static void launch_in_between(int number)
{
	struct wire_launch record = {
		.type = WIRE_LAUNCH, .kind = 1, .tid = 1, .correlation = UINT32_MAX};

	interruptions += stacks_send(__builtin_frame_address(0), &record);
}

/* Like check_sent, but for the launches of handlers: they interrupt what no other code can
 * describe. */
static bool check_interrupted(struct sent_words *stacks)
{
	uint64_t record[WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES / sizeof(uint64_t)];
	const struct wire_stack *stack = (const struct wire_stack *)record;
	const struct wire_launch *sent = (const struct wire_launch *)record;
	bool good = ring_snapshot(&in.reader) == 0;

	while (good && ring_read(&in.reader, record) > 0) {
		struct sent_words *words =
			&stacks[sent->type == WIRE_LAUNCH ? sent->stack : stack->number];

		if (sent->type == WIRE_LAUNCH) {
			good = words->depth && (sent->correlation == UINT32_MAX ||
						       is_sent_as(words->words, words->depth,
							       &moments[0][sent->correlation]));
			continue;
		}
		good = !words->depth;
		words->depth = stack->user_depth;
		memcpy(words->words, stack + 1, stack->user_depth * sizeof(uint64_t));
	}
	ring_release(&in.reader);
	return good;
}

static void a_launch_in_the_middle_of_another_has_a_stack_of_its_own(void)
{
	static struct sent_words stacks[WIRE_STACKS + 1];
	struct itimerval often = {.it_interval.tv_usec = 50, .it_value.tv_usec = 50}, never = {0};
	bool good = true;

	library.ring.control->code_epoch++; /* none of those from before */
	library.marker = any_marker;
	CHECK(signal(SIGALRM, launch_in_between) != SIG_ERR &&
		!setitimer(ITIMER_REAL, &often, NULL));
	for (uint32_t round = 0; good && round < 5000 && interruptions < INTERRUPTIONS; round++) {
		for (uint32_t n = 1; n < 40; n++) {
			moments[0][n].correlation = n;
			descend((int)n, &moments[0][n]);
		}
		good = check_interrupted(stacks);
	}
	CHECK(!setitimer(ITIMER_REAL, &never, NULL) && check_interrupted(stacks));
	CHECK(good && interruptions);
	library.marker = NULL;
}

/* ---- what must not happen, whatever the recorder sends ---- */

/* Last, since it leaves nothing whole. */
static void whatever_is_in_the_tables_nothing_is_read_but_the_stack(void)
{
	struct moment m = {0};
	uint32_t *words;

	for (uint32_t i = 0; i < OWN_WORDS_MAX / WALK_CHUNK_WORDS; i++) {
		words = (uint32_t *)(uintptr_t)space->chunks[i];
		CHECK(mprotect(words, WALK_CHUNK_BYTES, PROT_READ | PROT_WRITE) == 0);
		for (uint32_t n = 0; n < WALK_CHUNK_WORDS; n++)
			if (random_u64() % 4)
				words[n] = in.image.words[i * WALK_CHUNK_WORDS + n] ^
					   (uint32_t)(random_u64() % 3 ? 1u << random_u64() % 32
								       : random_u64());
	}
	for (int round = 0; round < 200; round++) {
		struct walk_mapping *mapping =
			&in.image.mappings[random_u64() % in.image.mapping_count];

		mapping->table ^= (uint32_t)(random_u64() >> random_u64() % 40);
		mapping->bias ^= 1ull << random_u64() % 64;
		inprocess_send_space(&in);
		for (int n = 1; n < 50; n++)
			descend(n, &m);
		CHECK(ring_snapshot(&in.reader) == 0);
		in.reader.tail = in.reader.limit;
		ring_release(&in.reader);
	}
}

int main(void)
{
	*(void **)&libc_backtrace = dlsym(dlopen("libc.so.6", RTLD_NOW), "backtrace");
	if (!libc_backtrace || !inprocess_begin(&in)) {
		printf("1..0 # SKIP the library's memory cannot be set up here\n");
		return 0;
	}
	RUN(a_stack_without_frame_pointers_is_what_libgcc_finds);
	RUN(a_stack_is_sent_once_and_then_named);
	RUN(after_code_was_replaced_stacks_have_other_numbers);
	RUN(what_comes_again_in_turn_is_distinguished);
	RUN(stacks_with_realigned_frames_are_recognized);
	RUN(python_frames_that_differ_are_other_stacks);
	RUN(what_walks_go_by_is_not_changed_under_them);
	RUN(an_interpreter_that_may_be_unloaded_is_not_walked);
	RUN(of_an_interpreter_that_was_ended_by_another_thread_nothing_is_read);
	RUN(a_stack_for_which_there_was_no_room_is_sent_the_next_time);
	RUN(what_cannot_be_walked_is_left_to_the_marker);
	RUN(without_a_marker_it_is_sent_as_far_as_it_goes);
	RUN(a_signal_frame_is_passed_as_libgcc_passes_it);
	RUN(a_stack_that_is_not_the_threads_own_is_left_alone);
	RUN(without_a_marker_it_is_read_by_the_kernel);
	RUN(a_launch_takes_little_of_a_small_stack);
	RUN(threads_are_distinguished_while_everything_changes);
	RUN(a_launch_in_the_middle_of_another_has_a_stack_of_its_own);
	RUN(whatever_is_in_the_tables_nothing_is_read_but_the_stack);
	return tap_end();
}
