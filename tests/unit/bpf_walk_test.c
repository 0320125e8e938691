// SPDX-License-Identifier: MIT
/*
 * The walker in the kernel, over tables that are made here for each child: needs the rights for
 * BPF, and skips aloud without them.
 *
 * This file is built without frame pointers (tests/rules.mk). Each function of a chain notes its
 * own return address in shared memory, so that the truth comes from the program itself.
 */
#include <bpf/bpf.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/vec.h"
#include "capture/programs.h"
#include "elf/vdso.h"
#include "tap.h"
#include "unwind/cfi.h"

#define NOTES_MAX 1024
#define SPACE	  77 /* generation of what is published of a child */

typedef void (*marker_function)(uint64_t instance, uint64_t correlation, uint64_t kind);

/* What the children report: return addresses, outermost first. */
struct notes {
	uint32_t count;
	uint64_t addresses[NOTES_MAX];
};

struct harness {
	struct programs *programs;
	uint32_t used; /* words of the first chunk */
	uint32_t mapping_count;
	int go[2];
	pid_t child;
};

/* A record as it came. */
struct sampled {
	struct bpf_stack stack;
	uint64_t *user;
	uint8_t *rest; /* what is behind the words of the program */
	size_t rest_size;
};

/* Raw material: a piece of a stack. */
struct piece {
	struct bpf_stack stack;
	struct bpf_raw_stack *start; /* memory is behind it */
	size_t memory_size;
};

static char library[4096];
static struct notes *notes;
/* Measured once: two markers that cost nearly the same may swap from one time to the next. */
static struct marker_costs costs;
static marker_function marker;
static struct vec(struct sampled) all;
static struct vec(struct piece) pieces;

/* ------------------------------------------------------------------ what children do */

#define NOTE_CALLER() (notes->addresses[notes->count++] = (uint64_t)__builtin_return_address(0))

__attribute__((noinline)) static void launch(uint32_t id)
{
	volatile uint64_t kept[3] = {id};

	NOTE_CALLER();
	marker(1, id, 1);
	notes->count--;
	kept[1] = kept[0];
}

/* Frames of different sizes, with more and fewer saved registers. */
__attribute__((noinline)) static uint32_t chain(int depth, uint32_t a, uint32_t b, uint32_t c)
{
	volatile uint8_t room[24 + 8 * 13];
	uint32_t result = a;

	NOTE_CALLER();
	room[depth % 100] = (uint8_t)b;
	if (depth > 0)
		result += chain(depth - 1, b, c, a) * b + c;
	else
		launch(1);
	notes->count--;
	return result + room[depth % 100];
}

static void launch_in_a_chain(void)
{
	chain(20, 1, 2, 3);
}

static void launch_in_the_deep(void)
{
	chain(300, 1, 2, 3);
}

static void *thread_body(void *unused)
{
	NOTE_CALLER();
	chain(3, 1, 2, 3);
	return NULL;
}

static void launch_in_a_new_thread(void *(*body)(void *))
{
	pthread_t thread;

	notes->count = 0;
	pthread_create(&thread, NULL, body, NULL);
	pthread_join(thread, NULL);
}

static void launch_in_a_thread(void)
{
	launch_in_a_new_thread(thread_body);
}

/* Of most of the array no page is ever touched: a new stack has none of them, unless
 * its end happens to be that of a huge page. */
static void *body_with_a_large_array(void *unused)
{
	volatile char array[6 * 4096];

	NOTE_CALLER();
	array[sizeof(array) - 1] = 1;
	launch(1);
	return (void *)(uintptr_t)array[0];
}

static void launch_over_untouched_pages(void)
{
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	launch_in_a_new_thread(body_with_a_large_array);
}

static void handler(int number)
{
	launch((uint32_t)number);
}

__attribute__((noinline)) static void raise_deep(int depth)
{
	NOTE_CALLER();
	if (depth)
		raise_deep(depth - 1);
	else
		raise(SIGUSR1);
	notes->count--;
	__asm__ volatile("");
}

static void launch_in_a_handler(void)
{
	signal(SIGUSR1, handler);
	raise_deep(4);
}

static void launch_in_a_handler_on_another_stack(void)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
	const stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};

	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise_deep(4);
}

__attribute__((noinline)) static int realigned(int n)
{
	volatile char __attribute__((aligned(128))) room[256];
	volatile char *more = __builtin_alloca((size_t)n * 16);

	NOTE_CALLER();
	room[n] = 1;
	more[n] = 1;
	chain(2, (uint32_t)n, (uint8_t)room[n], (uint8_t)more[n]);
	notes->count--;
	return room[n];
}

static void launch_from_a_realigned_stack(void)
{
	realigned(5);
}

static void launch_in_a_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		chain(4, 1, 2, 3);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void launch_after_exec(void)
{
	char kind[2] = {(char)('0' + costs.best), '\0'};

	execl("/proc/self/exe", "bpf_walk_test", kind, NULL);
}

static void launch_often(void)
{
	for (int i = 0; i < 3000; i++)
		launch(1);
}

static void spin(void)
{
	struct timespec now;

	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while (clock() < CLOCKS_PER_SEC / 3);
}

/* ------------------------------------------------------------------ publishing for the programs */

static uint32_t add_table(struct harness *h, struct elf_file *f)
{
	const struct walk_table_header *header;
	uint32_t *table, word = h->used;

	if (unwind_build(f, &table, NULL))
		return 0;
	header = (const struct walk_table_header *)table;
	CHECK(h->used + header->words <= WALK_CHUNK_WORDS);
	if (h->used + header->words > WALK_CHUNK_WORDS)
		return 0;
	CHECK(!programs_write_words(h->programs, word, table, header->words));
	h->used += header->words;
	free(table);
	return word;
}

/* One line of /proc/PID/maps. */
static void add_mapping(struct harness *h, const char *line)
{
	struct walk_mapping *m = &programs_mappings(h->programs)[h->mapping_count];
	unsigned long start, end, offset;
	char executable, path[512] = "";
	struct elf_file *f;
	uint64_t vaddr;
	bool vdso;

	if (sscanf(line, "%lx-%lx %*c%*c%c%*c %lx %*s %*s %511s", &start, &end, &executable,
		    &offset, path) < 4 ||
		executable != 'x')
		return;
	*m = (struct walk_mapping){.start = start, .end = end};
	h->mapping_count++;
	vdso = !strcmp(path, "[vdso]");
	if (vdso ? vdso_open(&f) : elf_file_open(&f, path))
		return;
	m->table = add_table(h, f);
	if (m->table)
		m->kind = WALK_MAPPING_TABLE;
	if (!elf_file_offset_to_vaddr(f, offset, &vaddr))
		m->bias = start - vaddr;
	elf_file_close(f);
}

static void tell_mappings(struct harness *h, pid_t pid)
{
	struct bpf_space space = {.generation = SPACE};
	char path[64], line[1024];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		add_mapping(h, line);
	if (maps)
		fclose(maps);
	space.count = h->mapping_count;
	CHECK(space.count > 2);
	CHECK(!programs_put_space(h->programs, (uint32_t)pid, &space));
}

/* ------------------------------------------------------------------ recording */

static bool begin(struct harness *h, const struct capture_options *options)
{
	int fd;

	*h = (struct harness){.used = WALK_TABLE_ALIGN};
	if (programs_open(&h->programs, options, &costs) ||
		programs_new_chunk(h->programs, 0, &fd)) {
		printf("# %s\n", error_text());
		CHECK(false);
		return false;
	}
	close(fd);
	return true;
}

static void keep_piece(const struct bpf_stack *stack, const void *raw, size_t size)
{
	struct piece p = {.stack = *stack, .memory_size = stack->raw_size - sizeof(*p.start)};

	CHECK(stack->more && !stack->user_depth && !stack->python_depth && !stack->entry_count);
	CHECK(stack->raw_size > sizeof(*p.start) && stack->raw_size % 8 == 0 &&
		stack->raw_size <= size);
	p.start = malloc(size);
	memcpy(p.start, raw, size);
	CHECK(vec_push(&pieces, p) >= 0);
}

static void keep(const struct bpf_stack *stack, const void *parts, size_t size)
{
	struct sampled t = {.stack = *stack, .rest_size = size - stack->user_depth * 8};

	if (stack->raw_size) {
		keep_piece(stack, parts, size);
		return;
	}
	t.user = malloc(size + 8);
	memcpy(t.user, parts, size);
	t.rest = (uint8_t *)(t.user + stack->user_depth);
	CHECK(vec_push(&all, t) >= 0);
}

static void drain_all(struct ring *launches, struct ring *samples)
{
	const struct bpf_launch_event *launch_event;
	const struct bpf_sample_event *sample;
	size_t size;

	ring_snapshot(launches);
	while (launches->data && (launch_event = ring_peek(launches, &size))) {
		keep(&launch_event->stack, launch_event + 1, size - sizeof(*launch_event));
		ring_take(launches);
	}
	ring_snapshot(samples);
	while (samples->data && (sample = ring_peek(samples, &size))) {
		if (sample->stack.raw_size || sample->stack.walk_end != WALK_NONE)
			keep(&sample->stack, sample + 1, size - sizeof(*sample));
		ring_take(samples);
	}
}

static void forget_all(void)
{
	vec_foreach (t, &all)
		free(t->user);
	vec_release(&all);
	vec_foreach (p, &pieces)
		free(p->start);
	vec_release(&pieces);
}

static const struct capture_options launches_only = {.launches = true, .library = library};

/* Records what a child does that is published, or (published: false) not. */
static void record(const struct capture_options *options, void (*run)(void), bool published)
{
	struct harness h;
	char byte;

	forget_all();
	if (!begin(&h, options))
		return;
	notes->count = 0;
	CHECK(!pipe(h.go));
	fflush(stdout);
	h.child = fork();
	if (!h.child) {
		close(h.go[1]);
		if (read(h.go[0], &byte, 1) == 0)
			run();
		_exit(0);
	}
	close(h.go[0]);
	CHECK(!programs_track(h.programs, h.child));
	if (published)
		tell_mappings(&h, h.child);
	CHECK(!programs_start(h.programs));
	close(h.go[1]);
	CHECK(waitpid(h.child, NULL, 0) == h.child);
	CHECK(!programs_stop(h.programs));
	drain_all(options->launches ? programs_launches(h.programs) : &(struct ring){0},
		options->sample_hz ? programs_samples(h.programs) : &(struct ring){0});
	programs_close(h.programs);
}

/* ------------------------------------------------------------------ what is expected */

static void print_stack(const struct sampled *t)
{
	printf("# end %u, %u frames:", t->stack.walk_end, t->stack.user_depth);
	for (uint32_t i = 0; i < t->stack.user_depth; i++) {
		Dl_info info;
		uint64_t address = t->user[i] & WALK_FRAME_ADDRESS;

		if (dladdr((void *)address, &info))
			printf(" %s+%#lx", strrchr(info.dli_fname, '/'),
				address - (uint64_t)info.dli_fbase);
		else
			printf(" %#lx", address);
	}
	printf("\n");
}

/* The frames from the one at `from` on are those that were noted, up to the last `count`. */
static bool has_noted(const struct sampled *t, uint32_t from, uint32_t first, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (from + i >= t->stack.user_depth ||
			t->user[from + i] != notes->addresses[first + count - 1 - i]) {
			print_stack(t);
			return false;
		}
	return true;
}

static const struct sampled *only_one(void)
{
	CHECK(all.count == 1);
	return all.count == 1 ? &all.items[0] : NULL;
}

static void code_without_frame_pointers_is_walked_to_the_outermost_function(void)
{
	const struct sampled *t;

	record(&launches_only, launch_in_a_chain, true);
	t = only_one();
	if (!t)
		return;
	CHECK(has_noted(t, 1, 0, 22));
	CHECK(t->stack.walk_end == WALK_COMPLETE);
	CHECK(t->stack.space == SPACE);
	CHECK(!pieces.count);
	CHECK(t->stack.user_depth > 24); /* and main, and what calls it */
}

static void a_stack_of_more_frames_than_a_record_has_comes_in_parts(void)
{
	const struct sampled *t;
	uint32_t noted;

	record(&launches_only, launch_in_the_deep, true);
	CHECK(all.count == 2);
	if (all.count != 2)
		return;
	t = all.items;
	noted = t[0].stack.user_depth - 1;
	CHECK(t[0].stack.more && !t[0].stack.part && noted < 302);
	CHECK(has_noted(&t[0], 1, 302 - noted, noted));
	CHECK(!t[1].stack.more && t[1].stack.part == 1);
	CHECK(has_noted(&t[1], 0, 0, 302 - noted));
	CHECK(t[1].stack.walk_end == WALK_COMPLETE);
}

static void a_threads_stack_ends_where_the_thread_began(void)
{
	const struct sampled *t;

	record(&launches_only, launch_in_a_thread, true);
	t = only_one();
	if (!t)
		return;
	CHECK(has_noted(t, 1, 0, 6));
	CHECK(t->stack.walk_end == WALK_COMPLETE);
	CHECK(t->stack.user_depth <= 9); /* start_thread and clone3 */
}

/* The handler's frame, the trampoline, raise and what is below it. */
static void check_handler(void)
{
	const struct sampled *t = only_one();
	uint32_t i = 0;

	if (!t)
		return;
	CHECK(t->stack.walk_end == WALK_COMPLETE);
	CHECK(t->stack.user_depth > 8);
	while (i < t->stack.user_depth && !(t->user[i] & WALK_FRAME_EXACT))
		i++;
	CHECK(i == 2); /* the trampoline, and behind it the interrupted one, are known exactly */
	CHECK(t->user[3] & WALK_FRAME_EXACT);
	while (i < t->stack.user_depth && t->user[i] != notes->addresses[4])
		i++;
	CHECK(has_noted(t, i, 0, 5));
}

static void a_signal_handlers_stack_goes_on_with_what_was_interrupted(void)
{
	record(&launches_only, launch_in_a_handler, true);
	check_handler();
}

static void a_handler_on_a_stack_of_its_own_is_no_end(void)
{
	record(&launches_only, launch_in_a_handler_on_another_stack, true);
	check_handler();
}

static void a_realigned_stack_is_walked(void)
{
	const struct sampled *t;

	record(&launches_only, launch_from_a_realigned_stack, true);
	t = only_one();
	if (!t)
		return;
	CHECK(has_noted(t, 1, 0, 5));
	CHECK(t->stack.walk_end == WALK_COMPLETE);
}

static void a_forked_child_has_its_parents_mappings_at_once(void)
{
	const struct sampled *t;

	record(&launches_only, launch_in_a_child, true);
	t = only_one();
	if (!t)
		return;
	CHECK(has_noted(t, 1, 0, 6));
	CHECK(t->stack.walk_end == WALK_COMPLETE);
	CHECK(t->stack.space == SPACE);
}

/* What can be walked later: the registers, and the stack up to its end. Returns how many pages the
 * pieces have, and leave out. */
static uint32_t check_raw(const struct sampled *t, uint32_t *ret_absent)
{
	uint32_t pages = 0, next = 0;
	bool found = false;

	CHECK(t->stack.walk_end == WALK_NO_MAPPING && t->stack.space == 0);
	CHECK(pieces.count && t->stack.part == pieces.count);
	*ret_absent = 0;
	for (size_t n = 0; n < pieces.count; n++) {
		const struct piece *p = &pieces.items[n];

		CHECK(p->stack.part == n && p->start->first >= next && p->start->pages);
		CHECK(p->start->pc == (t->user[0] & WALK_FRAME_ADDRESS) && !p->start->exact &&
			p->start->sp);
		*ret_absent += p->start->first - next;
		next = p->start->first;
		for (uint32_t bits = p->start->pages; bits; bits >>= 1, next++) {
			pages += bits & 1;
			*ret_absent += !(bits & 1);
		}
		for (size_t i = 0; i < p->memory_size / 8; i++)
			found |= ((const uint64_t *)(p->start + 1))[i] == notes->addresses[0];
	}
	CHECK(found);
	return pages;
}

static void without_mappings_the_stack_itself_is_sent(void)
{
	const struct sampled *t;
	uint32_t absent;

	record(&launches_only, launch_in_a_chain, false);
	t = only_one();
	if (t)
		CHECK(check_raw(t, &absent) > 0);
}

/* Behind it there are other mappings. */
static void what_is_behind_a_threads_stack_is_not_sent(void)
{
	const struct sampled *t;
	uint32_t absent, pages;

	record(&launches_only, launch_in_a_thread, false);
	t = only_one();
	if (!t)
		return;
	pages = check_raw(t, &absent);
	CHECK(pages > 0 && pages <= 4 && !absent);
}

static void a_large_stack_is_sent_in_many_pieces(void)
{
	const struct sampled *t;
	uint32_t absent;

	record(&launches_only, launch_in_the_deep, false);
	t = only_one();
	if (t)
		CHECK(check_raw(t, &absent) >= 301 * 144 / BPF_RAW_PAGE_BYTES);
}

static void untouched_pages_of_the_stack_are_left_out_of_what_is_sent(void)
{
	const struct sampled *t;
	uint32_t absent;

	record(&launches_only, launch_over_untouched_pages, false);
	t = only_one();
	if (t)
		CHECK(check_raw(t, &absent) && absent);
}

static void the_registers_of_a_sample_are_sent_with_its_stack(void)
{
	const struct capture_options options = {.sample_hz = 999};
	uint32_t first = 0;

	record(&options, spin, false);
	vec_foreach (p, &pieces) {
		first += !p->start->first;
		CHECK(p->start->exact && p->start->registers[6] == p->start->fp &&
			p->start->registers[7] == p->start->sp);
	}
	CHECK(first > 10);
}

static void exec_ends_what_was_told_of_the_image_before(void)
{
	const struct sampled *t;

	record(&launches_only, launch_after_exec, true);
	t = only_one();
	if (t)
		CHECK(t->stack.walk_end == WALK_NO_MAPPING && t->stack.space == 0);
}

static void code_that_stays_unknown_stops_being_sent(void)
{
	uint32_t raw = 0;

	record(&launches_only, launch_often, false);
	CHECK(all.count == 3000);
	vec_foreach (p, &pieces)
		raw += !p->start->first;
	/* fewer where the ring was half full, or it took longer than publishing ever does */
	CHECK(raw > 10 && raw <= 1024);
}

static void samples_of_the_vdso_and_of_system_calls_are_whole(void)
{
	const struct capture_options options = {.sample_hz = 999};
	uint32_t complete = 0, exact = 0;

	record(&options, spin, true);
	CHECK(all.count > 50);
	vec_foreach (t, &all) {
		complete += t->stack.walk_end == WALK_COMPLETE;
		exact += t->stack.user_depth && t->user[0] & WALK_FRAME_EXACT;
		if (t->stack.walk_end != WALK_COMPLETE)
			print_stack(t);
	}
	printf("# %zu samples, %u exact, %u complete\n", all.count, exact, complete);
	CHECK(exact == all.count);
	/* The first ones may be of the waiting for its start, which takes long on an emulated
	 * machine. */
	CHECK(complete + 2 + all.count / 20 >= all.count);
}

/* ------------------------------------------------------------------ chunks */

/* As a program that was handed the chunk, with any rights. */
static bool can_write(int fd)
{
	static const uint32_t key, line[WALK_TABLE_ALIGN];
	void *memory = mmap(NULL, WALK_CHUNK_BYTES, PROT_WRITE, MAP_SHARED, fd, 0);
	void *seen = mmap(NULL, WALK_CHUNK_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	bool can = memory != MAP_FAILED || !bpf_map_update_elem(fd, &key, line, BPF_ANY);

	can |= seen == MAP_FAILED || !mprotect(seen, WALK_CHUNK_BYTES, PROT_READ | PROT_WRITE);
	if (memory != MAP_FAILED)
		munmap(memory, WALK_CHUNK_BYTES);
	if (seen != MAP_FAILED)
		munmap(seen, WALK_CHUNK_BYTES);
	return can;
}

/* Words that cross from one chunk to the next, and more than are written in one go. */
static void chunks_are_written_by_programs_alone(void)
{
	enum { WORDS = 8192, BEFORE = 4096 + WALK_TABLE_ALIGN };
	static uint32_t words[WORDS];
	const uint32_t *seen[2];
	struct programs *p;
	int fds[2];

	CHECK(!programs_open(&p, &(struct capture_options){.sample_hz = 1}, &costs));
	for (uint32_t i = 0; i < WORDS; i++)
		words[i] = i * 2654435761u;
	for (uint32_t i = 0; i < 2; i++) {
		CHECK(!programs_new_chunk(p, i, &fds[i]));
		CHECK(!can_write(fds[i]));
		seen[i] = mmap(NULL, WALK_CHUNK_BYTES, PROT_READ, MAP_SHARED, fds[i], 0);
		CHECK(seen[i] != MAP_FAILED);
	}
	CHECK(!programs_write_words(p, WALK_CHUNK_WORDS - BEFORE, words, WORDS));
	CHECK(!memcmp(seen[0] + WALK_CHUNK_WORDS - BEFORE, words, BEFORE * sizeof(*words)));
	CHECK(!memcmp(seen[1], words + BEFORE, (WORDS - BEFORE) * sizeof(*words)));
	CHECK(!seen[0][WALK_CHUNK_WORDS - BEFORE - 1] && !seen[1][WORDS - BEFORE]);
	CHECK(programs_write_words(p, 2 * WALK_CHUNK_WORDS, words, WALK_TABLE_ALIGN) == -EIO);
	for (uint32_t i = 0; i < 2; i++) {
		munmap((void *)(uintptr_t)seen[i], WALK_CHUNK_BYTES);
		close(fds[i]);
	}
	programs_close(p);
}

/* ------------------------------------------------------------------ */

static bool load_marker(enum launch_marker kind)
{
	static const char *const names[LAUNCH_MARKER_KINDS] = {
		[LAUNCH_MARKER_NOP1] = "xpuprof_launch_marker_nop1",
		[LAUNCH_MARKER_NOP5] = "xpuprof_launch_marker_nop5",
		[LAUNCH_MARKER_NOP10] = "xpuprof_launch_marker_nop10"};
	void *handle = dlopen(library, RTLD_NOW);

	marker = handle && kind ? (marker_function)dlsym(handle, names[kind]) : NULL;
	return marker;
}

static bool have_rights(void)
{
	struct programs *p;

	if (programs_open(&p, &(struct capture_options){.sample_hz = 1}, &costs))
		return false;
	programs_close(p);
	return true;
}

int main(int argc, char **argv)
{
	const char *build = getenv("XPUPROF_BUILD");

	snprintf(library, sizeof(library), "%s/libxpuprof-inject.so", build ? build : "build");
	notes = mmap(
		NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc > 1) { /* launch_after_exec */
		if (load_marker((enum launch_marker)atoi(argv[1])))
			launch_in_a_chain();
		return 0;
	}
	if (!have_rights()) {
		printf("1..0 # SKIP %s\n", error_text());
		return 0;
	}
	costs = marker_costs_measure();
	if (!load_marker(costs.best)) {
		printf("1..0 # SKIP no probe can be put on a marker here\n");
		return 0;
	}
	RUN(code_without_frame_pointers_is_walked_to_the_outermost_function);
	RUN(a_stack_of_more_frames_than_a_record_has_comes_in_parts);
	RUN(a_threads_stack_ends_where_the_thread_began);
	RUN(a_signal_handlers_stack_goes_on_with_what_was_interrupted);
	RUN(a_handler_on_a_stack_of_its_own_is_no_end);
	RUN(a_realigned_stack_is_walked);
	RUN(a_forked_child_has_its_parents_mappings_at_once);
	RUN(without_mappings_the_stack_itself_is_sent);
	RUN(what_is_behind_a_threads_stack_is_not_sent);
	RUN(a_large_stack_is_sent_in_many_pieces);
	RUN(untouched_pages_of_the_stack_are_left_out_of_what_is_sent);
	RUN(the_registers_of_a_sample_are_sent_with_its_stack);
	RUN(exec_ends_what_was_told_of_the_image_before);
	RUN(code_that_stays_unknown_stops_being_sent);
	RUN(chunks_are_written_by_programs_alone);
	RUN(samples_of_the_vdso_and_of_system_calls_are_whole);
	forget_all();
	return tap_end();
}
