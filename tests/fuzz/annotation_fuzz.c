// SPDX-License-Identifier: MIT
/*
 * Fuzz target: profiles with instruction samples of all kinds, written as the bytes say. Sums by
 * kernel, line and instruction must agree, and both forms of `annotate` must be made of them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/annotate.h"
#include "export/annotate_html.h"
#include "fuzz.h"
#include "profile/writer.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

struct input {
	struct bytes b;
	struct profile_writer *w;
	uint32_t strings, modules, functions, instructions, inlines;
};

static uint32_t text(struct input *in)
{
	static const char *const names[] = {"", "$", "$a$b", "$$", "_Z1fi", "k.cu", "/a/../b.cu",
		"<&\">", "\xff\t\n", "smsp__pcsamp_warps_issue_stalled_wait",
		"smsp__pcsamp_warps_issue_stalled_wait_not_issued",
		"smsp__pcsamp_warps_issue_stalled_selected", "_not_issued", "other",
		"other_not_issued", "[PTX]"};
	const char *name = names[take(&in->b, sizeof(names) / sizeof(names[0]))];
	uint32_t id = 0;

	require(!profile_add_string(in->w, name, strlen(name), &id));
	return id;
}

static void add_code(struct input *in)
{
	struct profile_module m = {.kind = MODULE_GPU_CODE,
		.build_id_size = 1,
		.build_id = {(uint8_t)take(&in->b, 3)}};
	struct profile_gpu_function f = {.name = text(in), .index = take(&in->b, 3)};
	struct profile_inline i = {
		take(&in->b, in->inlines + 1), text(in), text(in), take(&in->b, 9)};
	struct profile_instruction at = {0};
	uint32_t id;

	require(!profile_add_module(in->w, &m, &f.module));
	require(!profile_add_gpu_function(in->w, &f, &at.function));
	require(!profile_add_inline(in->w, &i, &in->inlines));
	at.offset = take(&in->b, 0) + take(&in->b, 40) * 16;
	require(!profile_add_instruction(in->w, &at, &id));
	at.text = take(&in->b, 2) ? text(in) : 0;
	at.file = take(&in->b, 4) ? text(in) : 0;
	at.line = take(&in->b, 9);
	at.inlined = take(&in->b, in->inlines + 1);
	require(!profile_describe_instruction(in->w, id, &at));
	in->instructions = id > in->instructions ? id : in->instructions;
}

static void add_stall(struct input *in)
{
	struct profile_window w = {.samples = take(&in->b, 200), .period_cycles = take(&in->b, 9)};
	struct profile_stall s = {
		.samples = take(&in->b, 255), .instruction = take(&in->b, in->instructions) + 1};

	if (!in->instructions)
		return;
	require(!profile_add_window(in->w, &w, &s.window));
	s.reason = text(in);
	require(!profile_write_stall(in->w, &s));
}

static void add_work(struct input *in)
{
	struct profile_op op = {.kind = OP_KERNEL, .name = text(in), .stream = take(&in->b, 3)};
	struct profile_work work = {.start_ns = 5, .duration_ns = take(&in->b, 200)};

	require(!profile_add_op(in->w, &op, &work.op));
	require(!profile_write_work(in->w, &work));
}

static void write_profile(const uint8_t *data, size_t size)
{
	struct input in = {.b = {.data = data, .size = size}};

	require(!profile_writer_open(&in.w, path));
	while (in.b.size)
		switch (take(&in.b, 4)) {
		case 0:
		case 1:
			add_code(&in);
			break;
		case 2:
			add_stall(&in);
			break;
		default:
			add_work(&in);
		}
	require(!profile_writer_close(in.w));
}

static uint64_t sum_of(const struct stall_count *at, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		require(!i || at[i - 1].samples >= at[i].samples);
		sum += at[i].samples;
	}
	return sum;
}

static void check(const struct annotation *a)
{
	uint64_t lines = 0, instructions = 0, sites = 0;
	size_t count, listed = 0;

	for (uint32_t i = 0; i < a->lines.count; i++) {
		const struct stall_count *at = stall_counts_of(&a->line_reasons, i, &count);

		lines += a->lines.items[i].samples;
		require(sum_of(at, count) == a->lines.items[i].samples);
		require(a->lines.items[i].called <= a->samples);
	}
	vec_foreach (site, &a->sites) {
		sites += site->samples;
		listed += site->count;
		require(site->line < a->lines.count && site->count);
	}
	for (uint32_t i = 0; i < a->instructions.count; i++) {
		const struct stall_count *at = annotation_reasons(a, i, &count);

		instructions += a->instructions.items[i].samples;
		require(sum_of(at, count) == a->instructions.items[i].samples);
	}
	require(lines == a->samples && instructions == a->samples && sites == a->samples);
	require(listed == a->instructions.count);
}

static void show(const struct annotation *a, bool all)
{
	struct source_text *sources = calloc(a->files.count + 1, sizeof(*sources));
	const char *const remarks[] = {"<remark>", NULL};
	const struct kernel_accesses none = {0};
	struct annotate t = {.path = "x",
		.range = all ? NULL : "1 s to <2 s>",
		.annotation = a,
		.accesses = &none,
		.sources = sources,
		.source = true,
		.instructions = true,
		.all = all,
		.colour = all,
		.width = all ? 0 : 60};
	const struct annotate_page page = {a, sources, all, remarks};
	struct source_map map = {0};
	struct buf out = BUF_INIT;
	struct output *o;

	require(sources);
	for (size_t i = 0; i < a->files.count; i++)
		require(!a->files.items[i].file ||
			!source_text_find(&sources[i], &map, "/nowhere"));
	annotate_text(&t, &out);
	t.source = false;
	annotate_text(&t, &out);
	require(!out.failed);
	require(!output_open(&o, NULL, "/dev/null") && !annotate_html(&page, o) &&
		!output_commit(o));
	for (size_t i = 0; i < a->files.count; i++)
		source_text_release(&sources[i]);
	free(sources);
	buf_release(&out);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	snprintf(path, sizeof(path), "/dev/shm/annotation_fuzz.%d", getpid());
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kernel_stalls k = {0};
	struct profile_reader *r;
	uint64_t samples = 0;

	write_profile(data, size);
	require(!profile_reader_open(&r, path));
	unlink(path);
	require(!kernel_stalls_read(&k, r));
	for (size_t i = 0; i < k.kernels.count; i++) {
		struct annotation all = {0}, one = {0};

		require(!annotation_make(&all, &k, i, ANNOTATION_ALL) &&
			!annotation_make(&one, &k, i, 0));
		require(all.samples == k.kernels.items[i].samples && one.samples <= all.samples);
		check(&all);
		check(&one);
		show(&all, true);
		show(&one, false);
		samples += all.samples;
		annotation_release(&all);
		annotation_release(&one);
	}
	require(samples == k.samples);
	kernel_stalls_release(&k);
	profile_reader_close(r);
	return 0;
}
