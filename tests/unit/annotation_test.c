// SPDX-License-Identifier: MIT
/* Samples of instructions by kernel, line and instruction, on profiles made by hand. */
#include "view/stalls/annotation_text.h"

#include <stdlib.h>
#include <unistd.h>

#include "profile/writer.h"
#include "report/access_lines.h"
#include "report/annotate.h"
#include "tap.h"

#define REASON "smsp__pcsamp_warps_issue_stalled_"

static char path[] = "/tmp/annotation_test.XXXXXX";
static struct profile_writer *w;
static struct profile_reader *r;
static struct kernel_stalls k;
static uint32_t window;

static uint32_t string(const char *text)
{
	uint32_t id = 0;

	CHECK(profile_add_string(w, text, strlen(text), &id) == 0);
	return id;
}

static void begin(void)
{
	struct profile_window win = {.samples = 100, .dropped = 3, .period_cycles = 1024};

	CHECK(profile_writer_open(&w, path) == 0);
	CHECK(profile_add_window(w, &win, &window) == 0);
}

static int read_back(void)
{
	CHECK(profile_writer_close(w) == 0);
	CHECK(profile_reader_open(&r, path) == 0);
	k = (struct kernel_stalls){0};
	return kernel_stalls_read(&k, r);
}

static void end(void)
{
	kernel_stalls_release(&k);
	profile_reader_close(r);
}

static uint32_t function(const char *name, uint8_t image)
{
	struct profile_module m = {
		.kind = MODULE_GPU_CODE, .build_id_size = 8, .build_id = {image}};
	struct profile_gpu_function f = {.name = string(name)};
	uint32_t id = 0;

	CHECK(profile_add_module(w, &m, &f.module) == 0);
	CHECK(profile_add_gpu_function(w, &f, &id) == 0);
	return id;
}

static uint32_t instruction(
	uint32_t f, uint32_t offset, const char *file, uint32_t line, uint32_t inlined)
{
	struct profile_instruction i = {.function = f,
		.offset = offset,
		.file = file ? string(file) : 0,
		.line = line,
		.inlined = inlined};
	uint32_t id = 0;

	CHECK(profile_add_instruction(w, &i, &id) == 0);
	CHECK(profile_describe_instruction(w, id, &i) == 0);
	return id;
}

static uint32_t inlined(uint32_t caller, const char *name, const char *file, uint32_t line)
{
	struct profile_inline i = {caller, string(name), string(file), line};
	uint32_t id = 0;

	CHECK(profile_add_inline(w, &i, &id) == 0);
	return id;
}

static void seen(uint32_t at, const char *reason, uint64_t samples)
{
	struct profile_stall e = {window, at, string(reason), 0, samples};

	CHECK(profile_write_stall(w, &e) == 0);
}

static void ran(const char *name, uint64_t duration_ns, uint32_t stream)
{
	struct profile_op op = {.kind = OP_KERNEL, .name = string(name), .stream = stream};
	struct profile_work e = {.start_ns = 1, .duration_ns = duration_ns};

	CHECK(profile_add_op(w, &op, &e.op) == 0);
	CHECK(profile_write_work(w, &e) == 0);
}

static void latency_samples_are_a_part_of_all(void)
{
	uint32_t i;

	begin();
	i = instruction(function("a", 1), 16, NULL, 0, 0);
	seen(i, REASON "barrier", 10);
	seen(i, REASON "barrier_not_issued", 4);
	seen(i, REASON "barrier", 5);
	seen(i, REASON "selected", 2);
	CHECK(read_back() == 0);
	CHECK(k.samples == 17 && k.latency == 4 && k.issuing == 2);
	CHECK(k.kernels.count == 1 && k.kernels.items[0].samples == 17);
	CHECK(k.reasons.count == 2);
	CHECK(k.windows.count == 1 && k.windows.dropped == 3 && k.windows.period_min == 1024);
	end();
}

static void kernels_stand_by_gpu_time_and_functions_by_their_share(void)
{
	begin();
	seen(instruction(function("short", 1), 0, NULL, 0, 0), REASON "wait", 10);
	seen(instruction(function("long", 1), 0, NULL, 0, 0), REASON "wait", 40);
	seen(instruction(function("called", 1), 0, NULL, 0, 0), REASON "wait", 50);
	ran("short", 100, 1);
	ran("long", 500, 1);
	ran("long", 400, 2);
	ran("never", 7, 1);
	CHECK(read_back() == 0);
	CHECK(k.kernels.count == 3 && k.not_sampled.count == 1);
	CHECK_TEXT(profile_string(r, k.kernels.items[0].name, NULL), "long");
	CHECK_TEXT(profile_string(r, k.kernels.items[1].name, NULL), "called");
	CHECK_TEXT(profile_string(r, k.kernels.items[2].name, NULL), "short");
	CHECK(k.kernels.items[0].time_ns == 900 && k.kernels.items[0].works == 2);
	CHECK(k.kernels.items[1].works == 0);
	CHECK(k.not_sampled_ns == 7 && k.gpu_ns == 1007);
	end();
}

static void images_of_one_name_are_one_kernel_and_can_be_told_apart(void)
{
	struct annotation a = {0}, all = {0}, none = {0};

	begin();
	seen(instruction(function("f", 1), 0, NULL, 0, 0), REASON "wait", 1);
	seen(instruction(function("f", 2), 32, NULL, 0, 0), REASON "wait", 5);
	CHECK(read_back() == 0);
	CHECK(k.kernels.count == 1 && k.kernels.items[0].images == 2);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	CHECK(a.images.count == 2 && a.samples == 5 && a.instructions.count == 1);
	CHECK(a.instructions.items[0].offset == 32);
	CHECK(annotation_make(&all, &k, 0, ANNOTATION_ALL) == 0);
	CHECK(all.samples == 6 && all.instructions.count == 2);
	CHECK(annotation_make(&none, &k, 0, 2) == -ENOENT);
	annotation_release(&a);
	annotation_release(&all);
	annotation_release(&none);
	end();
}

static void instructions_stand_by_offset_also_those_without_samples(void)
{
	struct annotation a = {0};
	uint32_t f;

	begin();
	f = function("f", 1);
	instruction(f, 48, NULL, 0, 0);
	seen(instruction(f, 16, NULL, 0, 0), REASON "wait", 3);
	instruction(function("g", 1), 8, NULL, 0, 0);
	instruction(f, 0, NULL, 0, 0);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	CHECK(a.instructions.count == 3);
	for (uint32_t i = 0; i + 1 < a.instructions.count; i++)
		CHECK(a.instructions.items[i].offset < a.instructions.items[i + 1].offset);
	CHECK(a.instructions.items[0].samples == 0 && a.instructions.items[1].samples == 3);
	annotation_release(&a);
	end();
}

/* Two calls of f in one function are two sites of the one line in f. */
static void a_line_has_a_place_for_each_way_it_was_inlined(void)
{
	struct annotation a = {0};
	uint32_t f, f_in, g_in;
	const struct annotation_line *line;

	begin();
	f = function("kernel", 1);
	f_in = inlined(0, "f", "f.h", 5);
	g_in = inlined(inlined(0, "f", "f.h", 6), "g", "f.h", 5);
	seen(instruction(f, 0, "k.cu", 10, f_in), REASON "wait", 1);
	seen(instruction(f, 16, "k.cu", 11, f_in), REASON "wait", 7);
	seen(instruction(f, 32, "k.cu", 10, g_in), REASON "barrier", 2);
	seen(instruction(f, 48, "k.cu", 11, f_in), REASON "wait", 1);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	CHECK(a.lines.count == 4 && a.files.count == 2);
	line = &a.lines.items[0];
	CHECK_TEXT(profile_string(r, line->file, NULL), "f.h");
	CHECK(line->line == 5 && line->samples == 11 && line->count == 3);
	CHECK(a.sites.items[line->first].samples == 8 &&
		a.sites.items[line->first].call_line == 11);
	CHECK(a.sites.items[line->first].count == 2);
	CHECK(a.by_site[a.sites.items[line->first].first] == 1);
	CHECK(a.by_site[a.sites.items[line->first].first + 1] == 3);
	annotation_release(&a);
	end();
}

/* kernel's line 10 calls f, whose line 6 calls g: both have g's samples as called; line 10 once,
 * though f is there too. */
static void a_line_with_calls_has_the_samples_of_what_was_inlined_there(void)
{
	struct annotation a = {0};
	uint32_t f, f_in, g_in;

	begin();
	f = function("kernel", 1);
	f_in = inlined(0, "f", "f.h", 6);
	g_in = inlined(f_in, "g", "g.h", 2);
	seen(instruction(f, 0, "k.cu", 10, f_in), REASON "wait", 1);
	seen(instruction(f, 16, "k.cu", 10, g_in), REASON "wait", 7);
	seen(instruction(f, 32, "k.cu", 10, 0), REASON "wait", 20);
	/* A function that calls itself is not called by its own line. */
	seen(instruction(f, 48, "k.cu", 12, inlined(f_in, "f", "f.h", 6)), REASON "wait", 40);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	CHECK(a.lines.count == 4);
	vec_foreach (line, &a.lines) {
		switch (line->line) {
		case 10:
			CHECK(line->samples == 20 && line->called == 8 && line->count == 1);
			break;
		case 12:
			CHECK(line->samples == 0 && line->called == 40 && line->count == 0);
			break;
		case 6:
			CHECK(line->samples == 41 && line->called == 7);
			break;
		case 2:
			CHECK(line->samples == 7 && line->called == 0);
			break;
		default:
			CHECK(false);
		}
	}
	annotation_release(&a);
	end();
}

static void a_chain_of_inlined_functions_begins_with_the_outermost(void)
{
	const struct profile_inline *chain[ANNOTATION_CHAIN_MAX];
	uint32_t outer, inner;

	begin();
	outer = inlined(0, "outer", "a.h", 1);
	inner = inlined(outer, "inner", "a.h", 2);
	CHECK(read_back() == 0);
	CHECK(annotation_chain(r, inner, chain) == 2);
	CHECK_TEXT(profile_string(r, chain[0]->name, NULL), "outer");
	CHECK_TEXT(profile_string(r, chain[1]->name, NULL), "inner");
	CHECK(annotation_chain(r, 0, chain) == 0 && annotation_chain(r, 99, chain) == 0);
	end();
}

static void the_way_of_a_place_names_files_where_they_change(void)
{
	struct annotation a = {0};
	struct buf b = BUF_INIT;
	uint32_t f, outer;

	begin();
	f = function("kernel", 1);
	outer = inlined(0, "_Z5outerIfET_i", "/src/a.h", 6);
	seen(instruction(f, 0, "/src/k.cu", 10, inlined(outer, "_Z5innerv", "/src/a.h", 2)),
		REASON "wait", 1);
	seen(instruction(f, 16, NULL, 0, inlined(0, "norm", "/src/b.h", 3)), REASON "wait", 1);
	seen(instruction(f, 32, "/src/k.cu", 11, 0), REASON "wait", 1);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0 && a.instructions.count == 3);
	for (size_t i = 0; i < 3; i++) {
		const struct annotation_site *p = &a.sites.items[a.instructions.items[i].site];
		static const char *const ways[] = {
			"inner, inlined at :6 in outer, at k.cu:10", "norm, called", ""};

		buf_reset(&b);
		annotation_way_text(&a, p, a.lines.items[p->line].file, &b);
		CHECK_TEXT(buf_text(&b), ways[i]);
		if (i)
			continue;
		buf_reset(&b);
		annotation_way_text(&a, p, 0, &b);
		CHECK_TEXT(buf_text(&b), "inner, inlined at a.h:6 in outer, at k.cu:10");
	}
	annotation_release(&a);
	buf_release(&b);
	end();
}

static void lines_and_files_are_in_order_and_the_unknown_last(void)
{
	struct annotation a = {0};
	uint32_t f, *rows;
	size_t count;

	begin();
	f = function("kernel", 1);
	seen(instruction(f, 0, NULL, 0, 0), REASON "wait", 50);
	seen(instruction(f, 16, "cold.h", 9, 0), REASON "wait", 1);
	seen(instruction(f, 32, "hot.cu", 20, 0), REASON "wait", 6);
	seen(instruction(f, 48, "hot.cu", 3, 0), REASON "wait", 4);
	instruction(f, 64, "hot.cu", 0, 0);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	CHECK(a.files.count == 3 && a.files.items[2].file == 0);
	CHECK_TEXT(profile_string(r, a.files.items[0].file, NULL), "hot.cu");
	CHECK(a.files.items[0].samples == 10 && a.files.items[0].count == 2);
	CHECK(a.lines.items[0].line == 3 && a.lines.items[1].line == 20);
	CHECK(a.lines.items[a.files.items[1].first].line == 9);
	CHECK(annotation_hottest_lines(&a, &rows, &count) == 0);
	CHECK(count == 4 && rows[0] == a.files.items[2].first && rows[1] == 1 && rows[3] == 2);
	free(rows);
	annotation_release(&a);
	end();
}

static void reasons_of_lines_and_instructions_are_sums_the_most_frequent_first(void)
{
	struct annotation a = {0};
	const struct stall_count *at;
	size_t count;
	uint32_t f, first, second;

	begin();
	f = function("kernel", 1);
	first = instruction(f, 0, "k.cu", 4, 0);
	second = instruction(f, 16, "k.cu", 4, 0);
	seen(first, REASON "wait", 5);
	seen(first, REASON "barrier", 3);
	seen(second, REASON "barrier", 4);
	seen(second, REASON "barrier_not_issued", 2);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	at = stall_counts_of(&a.line_reasons, 0, &count);
	CHECK(count == 2 && at[0].samples == 7 && at[0].latency == 2 && at[1].samples == 5);
	CHECK_TEXT(k.reasons.items[at[0].reason].name.reason->name, "barrier");
	at = annotation_reasons(&a, 0, &count);
	CHECK(count == 2 && at[0].samples == 5 && at[1].samples == 3);
	CHECK(!stall_counts_of(&a.line_reasons, 2, &count) && !count);
	annotation_release(&a);
	end();
}

static void samples_beyond_64_bits_are_refused(void)
{
	uint32_t i;

	begin();
	i = instruction(function("a", 1), 0, NULL, 0, 0);
	seen(i, REASON "wait", UINT64_MAX - 1);
	seen(i, REASON "barrier", 2);
	CHECK(read_back() == -EOVERFLOW);
	end();
}

static void a_profile_without_samples_has_no_kernels(void)
{
	begin();
	ran("a", 5, 1);
	CHECK(read_back() == 0);
	CHECK(!k.kernels.count && k.not_sampled.count == 1 && !k.samples);
	end();
}

static void many_counts_are_added_up_like_a_dumb_table(void)
{
	enum { ROWS = 50, REASONS = 7 };
	struct stall_counts c = STALL_COUNTS_INIT;
	uint64_t table[ROWS][REASONS] = {{0}};
	unsigned int seed = 5;

	for (unsigned int i = 0; i < 3000; i++) {
		struct stall_count one = {.row = (uint32_t)rand_r(&seed) % ROWS,
			.reason = (uint32_t)rand_r(&seed) % REASONS,
			.samples = (uint64_t)rand_r(&seed) % 9 + 1};

		table[one.row][one.reason] += one.samples;
		CHECK(stall_counts_add(&c, &one) == 0);
	}
	CHECK(stall_counts_settle(&c) == 0);
	for (uint32_t row = 0; row < ROWS; row++) {
		size_t count;
		const struct stall_count *at = stall_counts_of(&c, row, &count);

		for (size_t i = 0; i < count; i++) {
			CHECK(at[i].row == row && at[i].samples == table[row][at[i].reason]);
			CHECK(!i || at[i - 1].samples >= at[i].samples);
			table[row][at[i].reason] = 0;
		}
		for (size_t i = 0; i < REASONS; i++)
			CHECK(!table[row][i]);
	}
	stall_counts_release(&c);
}

/* What was said of accesses stands below the line that they are on, also where that has no samples;
 * the others are a table of their own. */
static void accesses_stand_below_their_lines(void)
{
	struct kernel_access items[] = {
		{.file = 1, .line = 5, .accesses = 10, .lines = 80, .least = 1},
		{.file = 1, .line = 9, .insn = 1, .accesses = 1000, .lines = 1500, .least = 1},
		{.file = 2, .line = 5, .insn = 2, .accesses = 4, .lines = 12, .least = 2},
		{.insn = 3, .accesses = 1, .lines = 1, .least = 1}};
	char *files[] = {"/src/k.cu", "/src/other.cu"};
	struct kernel_accesses accesses = {
		.items = {.items = items, .count = 4}, .files = {.items = files, .count = 2}};
	struct source_text sources[2] = {{.why = "not here"}, {.why = "not here"}};
	struct annotation a = {0};
	struct annotate t = {
		.annotation = &a, .sources = sources, .accesses = &accesses, .source = true};
	struct buf out = BUF_INIT;
	const char *text, *five, *nine;
	uint32_t f;

	begin();
	f = function("f", 1);
	seen(instruction(f, 0, "/src/k.cu", 5, 0), REASON "wait", 10);
	instruction(f, 16, "/src/k.cu", 9, 0);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	annotate_text(&t, &out);
	text = buf_text(&out);
	five = strstr(text, "8.00 lines of 128 bytes a warp, at least 1.00: 10 accesses\n");
	nine = strstr(text, "1.50 lines of 128 bytes a warp, at least 1.00: 1,000 accesses\n");
	CHECK(five && nine && strstr(text, "waiting out") < five && five < nine);
	CHECK(strstr(text, "      9  \n") && strstr(text, "      9  \n") < nine);
	CHECK(strstr(text, "3.00      2.00              4  other.cu:5\n"));
	CHECK(strstr(text, "1.00      1.00              1  access 3\n"));
	CHECK(!strstr(text, "k.cu:5") && !strstr(text, "k.cu:9"));
	/* Without source lines all are in the table. */
	buf_reset(&out);
	t.source = false;
	annotate_text(&t, &out);
	CHECK(strstr(buf_text(&out), "k.cu:5\n") && strstr(buf_text(&out), "k.cu:9\n"));
	CHECK(!strstr(buf_text(&out), "a warp, at least"));
	buf_release(&out);
	annotation_release(&a);
	end();
}

/* What access_lines_find is to find, line by line. */
static uint32_t dumb_line(const struct annotation *a, const struct kernel_accesses *all,
	const struct kernel_access *of)
{
	for (size_t f = 0; of->file && f < a->files.count; f++) {
		const struct annotation_file *file = &a->files.items[f];

		if (!file->file || strcmp(profile_string(r, file->file, NULL),
					   all->files.items[of->file - 1]) != 0)
			continue;
		for (uint32_t i = file->first; i < file->first + file->count; i++)
			if (a->lines.items[i].line == of->line)
				return i;
	}
	return ACCESS_NO_LINE;
}

#define TABLE_FILES    7
#define TABLE_LINES    3000
#define TABLE_ACCESSES 20000

static void many_accesses_are_on_the_lines_of_a_dumb_table(void)
{
	static char *names[] = {"/a.cu", "/b.cu", "/c.cu", "/d.cu", "/e.cu", "/f.cu", "/g.cu",
		"/of no instruction.cu"};
	struct kernel_accesses all = {0};
	struct access_lines l = {0};
	struct annotation a = {0};
	uint32_t f, found = 0, wrong = 0;

	srand(7);
	begin();
	f = function("f", 1);
	for (uint32_t n = 0; n < TABLE_LINES; n++)
		seen(instruction(f, n * 16, names[rand() % TABLE_FILES],
			     (uint32_t)rand() % TABLE_LINES, 0),
			REASON "wait", 1);
	CHECK(read_back() == 0);
	CHECK(annotation_make(&a, &k, 0, 0) == 0);
	for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
		CHECK(!vec_push(&all.files, names[n]));
	for (uint32_t n = 0; n < TABLE_ACCESSES; n++)
		CHECK(!vec_push(&all.items,
			(struct kernel_access){.file = (uint32_t)rand() % (TABLE_FILES + 2),
				.line = (uint32_t)rand() % TABLE_LINES,
				.insn = n,
				.accesses = 1}));
	CHECK(!access_lines_find(&l, &a, &all));
	for (uint32_t n = 0; n < TABLE_ACCESSES; n++)
		wrong += l.of[n] != dumb_line(&a, &all, &all.items.items[n]);
	CHECK(!wrong);
	for (uint32_t line = 0; line < a.lines.count; line++) {
		const uint32_t *on;
		uint32_t count = access_lines_on(&l, line, &on);

		for (uint32_t n = 0; n < count; n++)
			wrong += l.of[on[n]] != line || (n && on[n] <= on[n - 1]);
		found += count;
	}
	for (uint32_t n = 0; n < TABLE_ACCESSES; n++)
		found += l.of[n] == ACCESS_NO_LINE;
	CHECK(!wrong && found == TABLE_ACCESSES);
	access_lines_release(&l);
	vec_release(&all.items);
	vec_release(&all.files);
	annotation_release(&a);
	end();
}

int main(void)
{
	close(mkstemp(path));
	RUN(latency_samples_are_a_part_of_all);
	RUN(kernels_stand_by_gpu_time_and_functions_by_their_share);
	RUN(images_of_one_name_are_one_kernel_and_can_be_told_apart);
	RUN(instructions_stand_by_offset_also_those_without_samples);
	RUN(a_line_has_a_place_for_each_way_it_was_inlined);
	RUN(a_line_with_calls_has_the_samples_of_what_was_inlined_there);
	RUN(a_chain_of_inlined_functions_begins_with_the_outermost);
	RUN(the_way_of_a_place_names_files_where_they_change);
	RUN(lines_and_files_are_in_order_and_the_unknown_last);
	RUN(reasons_of_lines_and_instructions_are_sums_the_most_frequent_first);
	RUN(samples_beyond_64_bits_are_refused);
	RUN(a_profile_without_samples_has_no_kernels);
	RUN(many_counts_are_added_up_like_a_dumb_table);
	RUN(accesses_stand_below_their_lines);
	RUN(many_accesses_are_on_the_lines_of_a_dumb_table);
	unlink(path);
	return tap_end();
}
