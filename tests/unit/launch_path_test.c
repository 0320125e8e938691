// SPDX-License-Identifier: MIT
/* The part of a launching stack that is the program's, and which stacks are one path. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/writer.h"
#include "tap.h"
#include "view/names/launch_path.h"
#include "view/names/location_text.h"
#include "view/fold/stacks.h"

static char path[] = "/tmp/launch_path_test.XXXXXX";

/* A stack of one frame: code without a name, whose function begins at `function`. */
static uint32_t stack(
	struct profile_writer *w, uint32_t module, uint64_t address, uint64_t function)
{
	struct profile_location l = {.kind = FRAME_USER, .module = module, .address = address};
	uint32_t id, node = 0;

	CHECK(!profile_add_location(w, &l, &id));
	if (function)
		CHECK(!profile_add_function_start(w, id, function));
	CHECK(!profile_add_stack_node(w, 0, id, &node));
	return node;
}

static struct profile_reader *write_stacks(uint32_t ret_stacks[6])
{
	struct profile_module module = {.kind = MODULE_FILE};
	struct profile_reader *r = NULL;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t a, b;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_string(w, "/lib/a.so", 9, &module.path));
	CHECK(!profile_add_module(w, &module, &a));
	CHECK(!profile_add_string(w, "/lib/b.so", 9, &module.path));
	CHECK(!profile_add_module(w, &module, &b));
	ret_stacks[0] = stack(w, a, 0x110, 0x100);
	ret_stacks[1] = stack(w, a, 0x150, 0x100);
	ret_stacks[2] = stack(w, a, 0x250, 0x200);
	ret_stacks[3] = stack(w, b, 0x110, 0x100);
	ret_stacks[4] = stack(w, b, 0x510, 0);
	ret_stacks[5] = stack(w, b, 0x520, 0);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	return r;
}

static void calls_in_one_function_without_a_name_are_one_path(void)
{
	const uint32_t *first = NULL;
	uint32_t stacks[6];
	struct profile_reader *r = write_stacks(stacks);
	struct internals i;

	CHECK(!internals_init(&i, r));
	CHECK(!launch_path_merge(&i, PATH_PROGRAM, &first));
	CHECK(first && first[stacks[1]] == stacks[0]);
	for (int n = 2; first && n < 6; n++)
		CHECK(first[stacks[n]] == stacks[n]);
	internals_release(&i);
	profile_reader_close(r);
}

static void a_function_without_a_name_is_called_by_where_it_begins(void)
{
	static const char *const texts[] = {
		"a.so+0x100", "a.so+0x100", "a.so+0x200", "b.so+0x100", "b.so+0x510", "b.so+0x520"};
	uint32_t stacks[6];
	struct profile_reader *r = write_stacks(stacks);
	struct location_texts texts_of;

	CHECK(!location_texts_init(&texts_of, r, false));
	for (int n = 0; n < 6; n++) {
		struct buf b = BUF_INIT;

		location_text(&texts_of,
			profile_location(r, profile_stack_node(r, stacks[n])->location), &b);
		CHECK_TEXT(buf_text(&b), texts[n]);
		buf_release(&b);
	}
	location_texts_release(&texts_of);
	profile_reader_close(r);
}

/* Main, nvcc's stub, a template of CUDA's headers and the call, in a library or in the program. */
static struct profile_reader *write_launch(
	bool linked_in, uint32_t ret_stacks[4], uint32_t *ret_api)
{
	static const char *const names[] = {"main", "_ZL23__device_stub__Z4gemmPfPf",
		"_ZL16cudaLaunchKernelIcE9cudaErrorPT_", "cudaLaunchKernel"};
	struct profile_module module = {.kind = MODULE_FILE};
	struct profile_reader *r = NULL;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t program, runtime;

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_string(w, "/bin/gemm", 9, &module.path));
	CHECK(!profile_add_module(w, &module, &program));
	CHECK(!profile_add_string(w, "/lib/libcudart.so.13", 20, &module.path));
	CHECK(!profile_add_module(w, &module, &runtime));
	for (uint32_t i = 0, parent = 0; i < 4; parent = ret_stacks[i++]) {
		struct profile_location l = {.kind = FRAME_USER, .address = 0x1000 + i};
		uint32_t id;

		l.module = i == 3 && !linked_in ? runtime : program;
		CHECK(!profile_add_string(w, names[i], strlen(names[i]), &l.name));
		CHECK(!profile_add_location(w, &l, &id));
		CHECK(!profile_add_stack_node(w, parent, id, &ret_stacks[i]));
		*ret_api = l.name;
	}
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	return r;
}

static void what_nvcc_puts_before_a_launch_is_cut_off_with_the_call(void)
{
	for (int linked_in = 0; linked_in < 2; linked_in++) {
		uint32_t stack[4], api, call = 0;
		struct profile_reader *r = write_launch(linked_in, stack, &api);
		const struct profile_location *l;
		struct launch_frames frames;
		struct stacks stacks;
		struct tree *t;

		CHECK(!tree_new(&t));
		CHECK(!stacks_init(&stacks, r, t, &(struct stacks_options){0}));
		CHECK(stacks_cut_call(&stacks, stack[3], api, &call) == stack[0]);
		l = profile_location(r, call);
		CHECK(l && l->name == api);
		CHECK(stacks_cut_call(&stacks, stack[0], api, &call) == stack[0]);
		CHECK(!launch_frames_init(&frames, r));
		CHECK(launch_path_of(&frames, stack[3]) == stack[0]);
		launch_frames_release(&frames);
		stacks_release(&stacks);
		tree_free(t);
		profile_reader_close(r);
	}
}

static struct profile_reader *write_recursion(unsigned int depth, uint32_t *ret_stack)
{
	static const char *const names[] = {"outer", "inner"};
	struct profile_location l = {.kind = FRAME_USER};
	struct profile_reader *r = NULL;
	struct profile_writer *w;
	struct profile_event e;
	uint32_t id, node = 0;

	CHECK(!profile_writer_open(&w, path));
	for (unsigned int n = 0; n <= depth; n++) {
		l.address = 0x100 + n;
		CHECK(!profile_add_string(w, names[n > 0], 5, &l.name));
		CHECK(!profile_add_location(w, &l, &id));
		CHECK(!profile_add_stack_node(w, node, id, &node));
	}
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&r, path));
	CHECK(profile_reader_next(r, &e) == 0);
	*ret_stack = node;
	return r;
}

static void a_function_that_calls_itself_leaves_room_for_its_caller(void)
{
	uint32_t stack, locations[LAUNCH_PATH_MAX];
	struct profile_reader *r = write_recursion(20, &stack);
	struct internals i;

	CHECK(!internals_init(&i, r));
	CHECK(launch_path_functions(&i, stack, PATH_PROGRAM, 4, locations) == 2);
	CHECK_TEXT(profile_string(r, profile_location(r, locations[0])->name, NULL), "outer");
	CHECK_TEXT(profile_string(r, profile_location(r, locations[1])->name, NULL), "inner");
	internals_release(&i);
	profile_reader_close(r);
}

static void paths_that_differ_only_in_how_deep_a_function_calls_itself_are_one(void)
{
	const uint32_t *first = NULL;
	uint32_t stack;
	struct profile_reader *r = write_recursion(20, &stack);
	struct internals i;

	CHECK(!internals_init(&i, r));
	CHECK(!launch_path_merge(&i, PATH_PROGRAM, &first));
	for (uint32_t inner = 2; first && inner <= stack; inner++)
		CHECK(first[inner] == 2);
	CHECK(first && first[1] == 1);
	internals_release(&i);
	profile_reader_close(r);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(calls_in_one_function_without_a_name_are_one_path);
	RUN(a_function_without_a_name_is_called_by_where_it_begins);
	RUN(what_nvcc_puts_before_a_launch_is_cut_off_with_the_call);
	RUN(a_function_that_calls_itself_leaves_room_for_its_caller);
	RUN(paths_that_differ_only_in_how_deep_a_function_calls_itself_are_one);
	unlink(path);
	return tap_end();
}
