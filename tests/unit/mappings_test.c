// SPDX-License-Identifier: MIT
/* From perf's records to stacks of the profile, without a kernel: records are made here. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bare/hash_step.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "capture/changes.h"
#include "capture/perf_maps.h"
#include "capture/processes.h"
#include "capture/stacks.h"
#include "folder.h"
#include "profile/reader.h"
#include "profile/writer.h"
#include "tap.h"

/* Above what a kernel gives out: not there in /proc. */
#define PARENT 5000000u
#define CHILD  5000001u

static struct profile_writer *w;
static struct files *files;
static struct modules *modules;
static struct processes *processes;
static struct stacks *stacks;
static struct changes changes;
static uint64_t lost;
static int named; /* how often a Python frame's name was asked for */

#define CODE_TOO_MANY 99

static int name_line(void *context, struct process *process, const struct walk_python_frame *frame,
	struct python_line *ret)
{
	static char name[32];

	named++;
	if (!frame->code)
		return -ENOENT;
	snprintf(name, sizeof(name), "f%llu", (unsigned long long)frame->code);
	*ret = (struct python_line){.function = name,
		.file = "train.py",
		.line = (uint32_t)frame->at,
		.incomplete = !(uint32_t)frame->at};
	return frame->code == CODE_TOO_MANY ? -ENOSPC : 0;
}

static void begin(void)
{
	const struct python_namer namer = {.line = name_line};

	lost = 0;
	named = 0;
	changes = (struct changes){0};
	CHECK(!profile_writer_open(&w, in_folder("profile.xpu")));
	CHECK(!files_new(&files, &(struct files_options){0}));
	CHECK(!modules_new(&modules, w, "/opt/libxpuprof-inject.so", files, NULL));
	CHECK(!processes_new(&processes, modules, true));
	CHECK(!stacks_new(&stacks, w, modules, processes, files, namer));
}

static void end(void)
{
	changes_release(&changes);
	stacks_free(stacks);
	processes_free(processes);
	modules_free(modules);
	files_free(files);
	profile_writer_abort(w);
}

/* ------------------------------------------------------------------ records */

static void put(struct buf *b, uint64_t value, size_t size)
{
	buf_append(b, &value, size);
}

/* Sets the size and hands the record over. */
static void send(struct buf *b)
{
	uint16_t size = (uint16_t)b->size;

	memcpy(b->data + 6, &size, sizeof(size));
	CHECK(!perf_maps_decode(b->data, b->size, &changes, &lost));
	buf_release(b);
}

static struct buf record(uint32_t type, uint16_t misc, uint32_t pid)
{
	struct buf b = BUF_INIT;

	put(&b, type, 4);
	put(&b, misc, 2);
	put(&b, 0, 2);
	put(&b, pid, 4);
	put(&b, pid, 4);
	return b;
}

static void map(uint32_t pid, uint64_t time_ns, uint64_t start, uint64_t size, uint64_t offset,
	const char *path)
{
	struct buf b = record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, pid);
	size_t length = strlen(path) + 1;

	put(&b, start, 8);
	put(&b, size, 8);
	put(&b, offset, 8);
	put(&b, 20, 4);
	for (int i = 0; i < 20; i++)
		put(&b, (uint64_t)path[0] + (uint64_t)i, 1);
	put(&b, 5, 4); /* protection */
	put(&b, 2, 4); /* flags */
	buf_append(&b, path, length);
	for (; length & 7; length++)
		put(&b, 0, 1);
	put(&b, time_ns, 8);
	send(&b);
}

static void new_image(uint32_t pid, uint64_t time_ns)
{
	struct buf b = record(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, pid);

	put(&b, 0x6f6c6c6568, 8);
	put(&b, time_ns, 8);
	send(&b);
}

/* What capture.c does with the changes that matter here. */
static void apply_until(uint64_t until_ns)
{
	const struct change *c;

	while ((c = changes_peek(&changes, until_ns))) {
		CHECK(!(c->kind == CHANGE_MAP ? processes_map(processes, c)
					      : processes_image(processes, c->pid)));
		changes_drop(&changes);
	}
}

/* ------------------------------------------------------------------ stacks */

static uint32_t intern(
	uint32_t pid, const uint64_t *frames, uint32_t depth, bool launch, bool *ret_incomplete)
{
	uint64_t words[WALK_FRAMES_MAX];
	struct raw_stack raw = {.user = words,
		.kernel = words,
		.user_depth = depth,
		.walk_end = WALK_ASTRAY,
		.launch = launch};
	struct process *process = processes_find(processes, pid);
	struct stack_origin origin = {.pid = pid, .process = process};
	struct stack_result result = {0};

	CHECK(process);
	origin.space = process->space;
	memcpy(words, frames, depth * sizeof(*frames));
	words[0] |= launch ? 0 : WALK_FRAME_EXACT;
	CHECK(!stacks_intern(stacks, &origin, &raw, &result));
	if (ret_incomplete)
		*ret_incomplete = result.incomplete;
	return result.stack;
}

/* The newest location in the profile, as text. */
static const char *last_location(void)
{
	static char text[256];
	const struct profile_location *l =
		profile_writer_location(w, profile_writer_location_count(w));
	const struct profile_module *m = profile_writer_module(w, l->module);

	snprintf(text, sizeof(text), "%s+%#llx", m ? profile_writer_string(w, m->path) : "none",
		(unsigned long long)l->address);
	return text;
}

static void one_address_means_what_was_mapped_there_at_that_time(void)
{
	const uint64_t frame = 0x401234;

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 200, 0x401000, 0x1000, 0x2000, "/lib/second.so");
	map(PARENT, 100, 0x401000, 0x1000, 0x1000, "/lib/first.so");
	apply_until(150);
	intern(PARENT, &frame, 1, false, NULL);
	CHECK_TEXT(last_location(), "/lib/first.so+0x1234");
	apply_until(250);
	intern(PARENT, &frame, 1, false, NULL);
	CHECK_TEXT(last_location(), "/lib/second.so+0x2234");
	end();
}

static void a_return_address_lies_inside_its_call(void)
{
	/* The second frame's call is the last instruction of its mapping. */
	const uint64_t frames[] = {0x401010, 0x402000};

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/program");
	apply_until(1);
	intern(PARENT, frames, 2, false, NULL);
	CHECK(profile_writer_location_count(w) >= 2);
	CHECK_TEXT(last_location(), "/bin/program+0x10");
	intern(PARENT, frames, 1, true, NULL);
	CHECK_TEXT(last_location(), "/bin/program+0xf");
	end();
}

static void a_child_has_its_parents_mappings_until_it_execs(void)
{
	const uint64_t frame = 0x401010;

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/parent");
	apply_until(1);
	CHECK(!processes_fork(processes, PARENT, CHILD));
	CHECK(processes_find(processes, CHILD)->space == processes_find(processes, PARENT)->space);
	intern(CHILD, &frame, 1, false, NULL);
	CHECK_TEXT(last_location(), "/bin/parent+0x10");
	new_image(CHILD, 2);
	map(CHILD, 3, 0x401000, 0x1000, 0x5000, "/bin/child");
	apply_until(3);
	intern(CHILD, &frame, 1, false, NULL);
	CHECK_TEXT(last_location(), "/bin/child+0x5010");
	CHECK(address_space_find(processes_find(processes, PARENT)->space, frame)->module !=
		address_space_find(processes_find(processes, CHILD)->space, frame)->module);
	processes_exit(processes, PARENT);
	CHECK(!processes_find(processes, PARENT));
	intern(CHILD, &frame, 1, false, NULL);
	end();
}

static void code_made_at_run_time_belongs_to_its_process_alone(void)
{
	const uint64_t frame = 0x7f0000000123;

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x7f0000000000, 0x1000, 0, "//anon");
	apply_until(1);
	intern(PARENT, &frame, 1, false, NULL);
	CHECK_TEXT(last_location(), "[anon:5000000]+0x7f0000000123");
	end();
}

static void the_vdso_is_the_same_wherever_it_is_mapped(void)
{
	const uint64_t here = 0x7ff000000a10, there = 0x7ff100000a10;
	uint32_t stack;

	begin();
	CHECK(processes_get(processes, PARENT) && processes_get(processes, CHILD));
	map(PARENT, 1, 0x7ff000000000, 0x2000, 0, "[vdso]");
	map(CHILD, 1, 0x7ff100000000, 0x2000, 0, "[vdso]");
	apply_until(1);
	stack = intern(PARENT, &here, 1, false, NULL);
	CHECK_TEXT(last_location(), "[vdso]+0xa10");
	CHECK(intern(CHILD, &there, 1, false, NULL) == stack);
	end();
}

static void a_repeated_stack_is_found_again_and_a_similar_one_is_not_taken_for_it(void)
{
	const uint64_t frames[] = {0x401010, 0x401020, 0x401030},
		       other[] = {0x401010, 0x401020, 0x401031};
	uint32_t stack;

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/program");
	apply_until(1);
	stack = intern(PARENT, frames, 3, false, NULL);
	CHECK(stack && intern(PARENT, frames, 3, false, NULL) == stack);
	CHECK(intern(PARENT, other, 3, false, NULL) != stack);
	CHECK(intern(PARENT, frames, 2, false, NULL) != stack);
	CHECK(intern(PARENT, frames, 3, true, NULL) != stack);
	end();
}

static void addresses_where_a_walk_went_astray_are_cut_off(void)
{
	const uint64_t frames[] = {0x401010, 0x401020, 0xdead, 0xbeef};
	bool incomplete;
	uint32_t stack;

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/program");
	apply_until(1);
	stack = intern(PARENT, frames, 4, false, &incomplete);
	CHECK(incomplete);
	CHECK(intern(PARENT, frames, 2, false, &incomplete) == stack && incomplete);
	end();
}

static void an_address_that_gets_mapped_later_is_looked_up_again(void)
{
	const uint64_t frames[] = {0x401010, 0x501020, 0x401030};
	uint32_t stack;

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/program");
	apply_until(1);
	stack = intern(PARENT, frames, 3, false, NULL);
	CHECK(intern(PARENT, frames, 3, false, NULL) == stack);
	map(PARENT, 2, 0x501000, 0x1000, 0, "/lib/late.so");
	apply_until(2);
	CHECK(intern(PARENT, frames, 3, false, NULL) != stack);
	end();
}

static void our_own_frames_are_no_part_of_a_launch(void)
{
	const uint64_t frames[] = {0x601010, 0x701010, 0x401020}, plain[] = {0x401020};
	uint32_t stack;

	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/program");
	map(PARENT, 1, 0x601000, 0x1000, 0, "/opt/libxpuprof-inject.so");
	map(PARENT, 1, 0x701000, 0x1000, 0, "/usr/local/cuda/lib64/libcupti.so.13");
	apply_until(1);
	stack = intern(PARENT, frames, 3, true, NULL);
	CHECK(stack && intern(PARENT, plain, 1, true, NULL) == stack);
	end();
}

static void dropped_and_damaged_records_are_counted_or_passed_over(void)
{
	struct buf b = BUF_INIT;

	begin();
	put(&b, PERF_RECORD_LOST, 8);
	put(&b, 0, 8);
	put(&b, 17, 8);
	put(&b, 5, 8);
	send(&b);
	CHECK(lost == 17);
	b = record(PERF_RECORD_MMAP2, 0, PARENT); /* ends before its time */
	put(&b, 1, 8);
	send(&b);
	CHECK(!changes_peek(&changes, UINT64_MAX));
	end();
}

static void mappings_of_strangers_are_not_kept(void)
{
	begin();
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/program");
	apply_until(1);
	CHECK(!processes_find(processes, PARENT));
	end();
}

/* As intern, but all of it is given. */
static struct stack_result intern_raw(uint32_t pid, const struct raw_stack *raw)
{
	struct process *process = processes_find(processes, pid);
	struct stack_origin origin = {.pid = pid, .process = process, .space = process->space};
	struct stack_result result = {0};

	CHECK(!stacks_intern(stacks, &origin, raw, &result));
	return result;
}

static void begin_with_a_program(void)
{
	begin();
	CHECK(processes_get(processes, PARENT));
	map(PARENT, 1, 0x401000, 0x1000, 0, "/bin/program");
	apply_until(1);
}

static void an_incomplete_stack_says_why(void)
{
	const uint64_t frames[] = {0x401010 | WALK_FRAME_EXACT, 0x401020};
	struct raw_stack raw = {.user = frames, .kernel = frames, .user_depth = 2};
	uint32_t stacks_by_end[WALK_ENDS];

	begin_with_a_program();
	for (int end = WALK_NONE; end < WALK_ENDS; end++) {
		struct stack_result result;

		raw.walk_end = (enum walk_end)end;
		result = intern_raw(PARENT, &raw);
		CHECK((end == WALK_COMPLETE) == !result.incomplete);
		CHECK(end == WALK_COMPLETE || profile_loss_is_reason(result.incomplete));
		stacks_by_end[end] = result.stack;
	}
	CHECK(stacks_by_end[WALK_NO_RULE] != stacks_by_end[WALK_FAULT]);
	CHECK(stacks_by_end[WALK_COMPLETE] != stacks_by_end[WALK_FAULT]);
	raw.walk_end = WALK_NO_RULE;
	CHECK(intern_raw(PARENT, &raw).incomplete == LOSS_WALK_NO_RULE);
	end();
}

static void a_stack_walked_by_mappings_that_were_replaced_ends_there(void)
{
	const uint64_t frames[] = {0x401010 | WALK_FRAME_EXACT, 0x501020, 0x401030};
	struct raw_stack raw = {
		.user = frames, .kernel = frames, .user_depth = 3, .walk_end = WALK_COMPLETE};
	struct stack_result before, after;
	uint32_t generation;

	begin_with_a_program();
	map(PARENT, 2, 0x501000, 0x1000, 0, "/lib/first.so");
	apply_until(2);
	raw.space = (uint32_t)processes_find(processes, PARENT)->space->generation;
	CHECK(!intern_raw(PARENT, &raw).incomplete);
	map(PARENT, 3, 0x601000, 0x1000, 0, "/lib/elsewhere.so");
	apply_until(3);
	CHECK(!intern_raw(PARENT, &raw).incomplete);
	map(PARENT, 4, 0x501000, 0x1000, 0, "/lib/second.so");
	apply_until(4);
	CHECK(intern_raw(PARENT, &raw).incomplete == LOSS_WALK_STALE);
	raw.user_depth = 2;
	raw.walk_end = WALK_FAULT;
	generation = raw.space;
	raw.space = (uint32_t)processes_find(processes, PARENT)->space->generation;
	after = intern_raw(PARENT, &raw);
	CHECK(after.incomplete == LOSS_WALK_FAULT);
	raw.space = generation;
	before = intern_raw(PARENT, &raw);
	CHECK(before.incomplete == LOSS_WALK_FAULT && before.stack == after.stack);
	new_image(PARENT, 5);
	map(PARENT, 6, 0x401000, 0x1000, 0, "/bin/other");
	map(PARENT, 6, 0x501000, 0x1000, 0, "/lib/first.so");
	apply_until(6);
	CHECK(intern_raw(PARENT, &raw).incomplete == LOSS_WALK_STALE);
	end();
}

/* The profile as it is now. */
static struct profile_reader *read_back(void)
{
	struct profile_reader *r = NULL;
	struct profile_event event;

	CHECK(!profile_writer_flush(w) && !profile_reader_open(&r, in_folder("profile.xpu")));
	while (profile_reader_next(r, &event) > 0)
		;
	return r;
}

/* Frame `n` from the leaf of a stack, as text. */
static const char *frame_text(uint32_t stack, int n)
{
	static char text[64];
	const struct profile_stack_node *node;
	const struct profile_location *l;
	struct profile_reader *r = read_back();

	while ((node = profile_stack_node(r, stack)) && n--)
		stack = node->parent;
	l = node ? profile_location(r, node->location) : NULL;
	text[0] = '\0';
	if (l && l->kind == FRAME_USER)
		snprintf(text, sizeof(text), "%#llx", (unsigned long long)l->address);
	else if (l)
		snprintf(text, sizeof(text), "%s %s:%u", profile_string(r, l->name, NULL),
			profile_string(r, l->file, NULL), l->line);
	profile_reader_close(r);
	return text;
}

static void python_frames_stand_between_the_native_ones(void)
{
	const uint64_t frames[] = {
		0x401010 | WALK_FRAME_EXACT, 0x401021 | WALK_FRAME_PYTHON, 0x401031};
	const struct walk_python_frame python[] = {{4, 11}, {2, 12 | WALK_PYTHON_LAST}};
	struct raw_stack raw = {.user = frames,
		.kernel = frames,
		.user_depth = 3,
		.walk_end = WALK_COMPLETE,
		.python = python,
		.python_depth = 2};
	struct stack_result result;
	int before;

	begin_with_a_program();
	result = intern_raw(PARENT, &raw);
	CHECK_TEXT(frame_text(result.stack, 0), "0x10");
	CHECK_TEXT(frame_text(result.stack, 1), "f4 train.py:11");
	CHECK_TEXT(frame_text(result.stack, 2), "f2 train.py:12");
	CHECK_TEXT(frame_text(result.stack, 3), "0x20");
	CHECK_TEXT(frame_text(result.stack, 4), "0x30");
	CHECK_TEXT(frame_text(result.stack, 5), "");
	before = named;
	CHECK(intern_raw(PARENT, &raw).stack == result.stack && named == before);
	end();
}

static void stacks_that_differ_in_their_python_frames_alone_are_different(void)
{
	const uint64_t frames[] = {0x401010 | WALK_FRAME_EXACT, 0x401021 | WALK_FRAME_PYTHON};
	struct walk_python_frame python = {4, 11 | WALK_PYTHON_LAST};
	struct raw_stack raw = {.user = frames,
		.kernel = frames,
		.user_depth = 2,
		.walk_end = WALK_COMPLETE,
		.python = &python,
		.python_depth = 1};
	uint32_t stack;

	begin_with_a_program();
	stack = intern_raw(PARENT, &raw).stack;
	python.at++;
	CHECK(intern_raw(PARENT, &raw).stack != stack);
	python.at--;
	CHECK(intern_raw(PARENT, &raw).stack == stack);
	raw.python_depth = 0;
	CHECK(intern_raw(PARENT, &raw).stack != stack);
	end();
}

/* As hash_bytes does with one word. */
static uint64_t hash_word(uint64_t h, uint64_t word)
{
	h = hash_step(h, word);
	return h ^ h >> 29;
}

static void stacks_with_one_hash_are_told_apart_by_all_of_their_words(void)
{
	const uint64_t frames[] = {0x401010 | WALK_FRAME_EXACT, 0x401021 | WALK_FRAME_PYTHON};
	struct walk_python_frame a[] = {{4, 11}, {2, 12 | WALK_PYTHON_LAST}}, b[] = {a[0], {3, 0}};
	uint64_t h =
		hash_word(hash_word(sizeof(a) * 0xff51afd7ed558ccdull + 1, a[0].code), a[0].at);
	struct raw_stack raw = {.user = frames,
		.kernel = frames,
		.user_depth = 2,
		.walk_end = WALK_COMPLETE,
		.python = a,
		.python_depth = 2};
	uint32_t stack;

	b[1].at = a[1].at ^ hash_word(h, a[1].code) ^ hash_word(h, b[1].code);
	CHECK(hash_bytes(a, sizeof(a)) == hash_bytes(b, sizeof(b)));
	begin_with_a_program();
	stack = intern_raw(PARENT, &raw).stack;
	raw.python = b;
	CHECK(intern_raw(PARENT, &raw).stack != stack);
	end();
}

static void python_frames_that_have_not_begun_are_left_out(void)
{
	const uint64_t frames[] = {0x401010 | WALK_FRAME_EXACT, 0x401021 | WALK_FRAME_PYTHON};
	const struct walk_python_frame python[] = {{4, 0}, {2, 12 | WALK_PYTHON_LAST}};
	struct raw_stack raw = {.user = frames,
		.kernel = frames,
		.user_depth = 2,
		.walk_end = WALK_COMPLETE,
		.python = python,
		.python_depth = 2};
	struct stack_result result;

	begin_with_a_program();
	result = intern_raw(PARENT, &raw);
	CHECK_TEXT(frame_text(result.stack, 1), "f2 train.py:12");
	CHECK_TEXT(frame_text(result.stack, 2), "0x20");
	end();
}

static void python_code_that_cannot_be_read_is_counted_and_unknown(void)
{
	const uint64_t frames[] = {0x401010 | WALK_FRAME_EXACT, 0x401021 | WALK_FRAME_PYTHON};
	struct walk_python_frame python = {0, WALK_PYTHON_LAST};
	struct raw_stack raw = {.user = frames,
		.kernel = frames,
		.user_depth = 2,
		.walk_end = WALK_COMPLETE,
		.python = &python,
		.python_depth = 1};
	struct profile_totals totals;
	struct stack_result result;

	begin_with_a_program();
	result = intern_raw(PARENT, &raw);
	CHECK_TEXT(frame_text(result.stack, 1), "[unknown Python function] :0");
	profile_writer_totals(w, &totals);
	CHECK(totals.losses[LOSS_PYTHON_UNNAMED] == 1);
	python.code = CODE_TOO_MANY;
	result = intern_raw(PARENT, &raw);
	CHECK_TEXT(frame_text(result.stack, 1), "[unknown Python function] :0");
	end();
}

static void python_frames_named_earlier_are_not_asked_for_again(void)
{
	const uint64_t frames[] = {0x401010 | WALK_FRAME_EXACT, 0x401021 | WALK_FRAME_PYTHON};
	const struct walk_python_frame python = {7, 11 | WALK_PYTHON_LAST};
	uint32_t locations[1];
	bool coming;
	struct raw_stack raw = {.user = frames,
		.kernel = frames,
		.user_depth = 2,
		.walk_end = WALK_COMPLETE,
		.python = &python,
		.python_depth = 1};
	struct stack_result result;

	begin_with_a_program();
	CHECK(!stacks_name_python(
		stacks, processes_find(processes, PARENT), &python, 1, locations, &coming));
	CHECK(!coming);
	CHECK(named == 1);
	raw.python_locations = locations;
	result = intern_raw(PARENT, &raw);
	CHECK(named == 1);
	CHECK_TEXT(frame_text(result.stack, 1), "f7 train.py:11");
	end();
}

static void this_programs_own_mappings_are_read_from_proc(void)
{
	const uint64_t frame = (uint64_t)(uintptr_t)&this_programs_own_mappings_are_read_from_proc;
	struct process *self;

	begin();
	self = processes_get(processes, (uint32_t)getpid());
	CHECK(self && !processes_read_maps(processes, self, clock_now_ns()));
	intern((uint32_t)getpid(), &frame, 1, false, NULL);
	CHECK(strstr(last_location(), "mappings_test.t+0x"));
	end();
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	RUN(one_address_means_what_was_mapped_there_at_that_time);
	RUN(a_return_address_lies_inside_its_call);
	RUN(a_child_has_its_parents_mappings_until_it_execs);
	RUN(code_made_at_run_time_belongs_to_its_process_alone);
	RUN(the_vdso_is_the_same_wherever_it_is_mapped);
	RUN(a_repeated_stack_is_found_again_and_a_similar_one_is_not_taken_for_it);
	RUN(addresses_where_a_walk_went_astray_are_cut_off);
	RUN(an_address_that_gets_mapped_later_is_looked_up_again);
	RUN(our_own_frames_are_no_part_of_a_launch);
	RUN(dropped_and_damaged_records_are_counted_or_passed_over);
	RUN(mappings_of_strangers_are_not_kept);
	RUN(an_incomplete_stack_says_why);
	RUN(a_stack_walked_by_mappings_that_were_replaced_ends_there);
	RUN(python_frames_stand_between_the_native_ones);
	RUN(stacks_that_differ_in_their_python_frames_alone_are_different);
	RUN(stacks_with_one_hash_are_told_apart_by_all_of_their_words);
	RUN(python_frames_that_have_not_begun_are_left_out);
	RUN(python_code_that_cannot_be_read_is_counted_and_unknown);
	RUN(python_frames_named_earlier_are_not_asked_for_again);
	RUN(this_programs_own_mappings_are_read_from_proc);
	shell("rm -rf \"$PWD\"");
	return tap_end();
}
