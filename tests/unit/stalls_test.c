// SPDX-License-Identifier: MIT
/* How instruction samples become time of instructions, on profiles made by hand. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "profile/writer.h"
#include "tap.h"
#include "view/stalls/kernels.h"
#include "view/stalls/stalls.h"

#define LONG  "smsp__pcsamp_warps_issue_stalled_long_scoreboard"
#define WAIT  "smsp__pcsamp_warps_issue_stalled_wait"
#define ISSUE "smsp__pcsamp_warps_issue_stalled_selected"

static char path[] = "/tmp/stalls_test.XXXXXX";
static struct profile_writer *w;
static uint32_t process, device, module, stacks[26];
static struct profile_reader *reader;
static struct stalls stalls;

static uint32_t string(const char *text)
{
	uint32_t id = 0;

	CHECK(!profile_add_string(w, text, strlen(text), &id));
	return id;
}

static void begin(void)
{
	struct profile_process p = {.pid = 1};
	struct profile_device d = {.uuid = {1}};
	struct profile_module m = {.kind = MODULE_GPU_CODE, .build_id_size = 8};

	CHECK(!profile_writer_open(&w, path));
	CHECK(!profile_add_process(w, &p, &process));
	CHECK(!profile_add_device(w, &d, &device));
	CHECK(!profile_add_module(w, &m, &module));
	for (uint32_t i = 0; i < 26; i++) {
		struct profile_location l = {
			.kind = FRAME_NOTE, .name = string((char[]){(char)('A' + i), 0})};
		uint32_t location;

		CHECK(!profile_add_location(w, &l, &location));
		CHECK(!profile_add_stack_node(w, 0, location, &stacks[i]));
	}
}

/* Works of this kernel, launched by one of the stacks A to Z. */
static void work_of(uint32_t context, const char *kernel, char stack, uint64_t start_ns,
	uint64_t duration_ns, uint32_t correlation)
{
	struct profile_op op = {.kind = OP_KERNEL,
		.process = process,
		.device = device,
		.context = context,
		.stream = 7,
		.name = string(kernel),
		.grid = {(uint32_t)duration_ns + 1, 1, 1}};
	struct profile_work work = {.start_ns = start_ns,
		.duration_ns = duration_ns,
		.stack = stacks[stack - 'A'],
		.instance = 1,
		.correlation = correlation};

	CHECK(!profile_add_op(w, &op, &work.op));
	CHECK(!profile_write_work(w, &work));
}

static void work(const char *kernel, char stack, uint64_t start_ns, uint64_t duration_ns)
{
	work_of(1, kernel, stack, start_ns, duration_ns, 0);
}

static uint32_t window_of(uint32_t context, uint64_t start_ns, uint64_t end_ns, bool exact)
{
	struct profile_window window = {.process = process,
		.instance = 1,
		.device = device,
		.context = context,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.period_cycles = 4096,
		.samples = 1000,
		.dropped = 3,
		.without_code = 2,
		.exact = exact};
	uint32_t id = 0;

	CHECK(!profile_add_window(w, &window, &id));
	return id;
}

static uint32_t window(uint64_t start_ns, uint64_t end_ns)
{
	return window_of(1, start_ns, end_ns, false);
}

static void seen_in(uint32_t image, uint32_t window_id, const char *function, uint32_t offset,
	const char *reason, uint64_t samples, uint32_t correlation)
{
	struct profile_gpu_function f = {.module = image, .name = string(function)};
	struct profile_instruction i = {.offset = offset};
	struct profile_stall stall = {.window = window_id,
		.reason = string(reason),
		.samples = samples,
		.correlation = correlation};

	CHECK(!profile_add_gpu_function(w, &f, &i.function));
	CHECK(!profile_add_instruction(w, &i, &stall.instruction));
	CHECK(!profile_write_stall(w, &stall));
}

static void seen(uint32_t window_id, const char *function, uint32_t offset, const char *reason,
	uint64_t samples)
{
	seen_in(module, window_id, function, offset, reason, samples, 0);
}

static int read_all(void)
{
	static const struct view_options options;
	struct profile_event event;
	int more, error;

	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&reader, path));
	error = stalls_init(&stalls, reader, &options, NULL);
	while (!error && (more = profile_reader_next(reader, &event)))
		error = more < 0 ? more : stalls_event(&stalls, &event);
	error = error ?: stalls_finish(&stalls);
	if (error)
		printf("# %s\n", error_text());
	return error;
}

static void finish(void)
{
	stalls_release(&stalls);
	profile_reader_close(reader);
	unlink(path);
}

static void put_samples(struct buf *b, uint64_t parts)
{
	buf_printf(b, "%llu", (unsigned long long)(parts / STALLS_SAMPLE));
	if (parts % STALLS_SAMPLE)
		buf_printf(b, ".%03llu",
			(unsigned long long)(parts % STALLS_SAMPLE * 1000 / STALLS_SAMPLE));
}

/* "A k 40: 0 wait 3 =40, 16 long_scoreboard 1 =0|": stack, kernel and its time, then offset, reason, samples and
 * time of each row. */
static const char *launches(void)
{
	static char text[4096];
	struct buf b = BUF_INIT;

	vec_foreach (l, &stalls.launches) {
		buf_printf(&b, "%c %s %llu:", (char)('A' + l->key.stack - stacks[0]),
			profile_string(reader, l->kernel, NULL), (unsigned long long)l->time_ns);
		for (size_t i = 0; i < l->row_count; i++) {
			const struct stalls_row *r = &stalls.rows.items[l->first_row + i];

			buf_printf(&b, "%s %u %s ", i ? "," : "",
				profile_instruction(reader, r->instruction)->offset,
				stalls.reasons.items[r->reason].name);
			put_samples(&b, r->samples);
			buf_printf(&b, " =%llu", (unsigned long long)r->time_ns);
		}
		buf_putc(&b, '|');
	}
	snprintf(text, sizeof(text), "%s", buf_text(&b));
	buf_release(&b);
	return text;
}

static void parts_add_up_to_the_whole_and_are_less_than_one_off(void)
{
	struct stalls_division d = {.total = 100, .sum = 3};
	struct stalls_division large = {.total = UINT64_MAX, .sum = UINT64_MAX};

	CHECK(stalls_part(&d, 1) == 33 && stalls_part(&d, 1) == 33 && stalls_part(&d, 1) == 34);
	CHECK(stalls_part(&large, UINT64_MAX - 1) == UINT64_MAX - 1 && stalls_part(&large, 1) == 1);
}

static void the_time_of_one_stack_is_divided_by_its_samples_without_a_rest(void)
{
	uint32_t id;

	begin();
	work("k", 'A', 100, 50);
	work("k", 'A', 200, 51);
	id = window(0, 1000);
	seen(id, "k", 16, LONG, 2);
	seen(id, "k", 16, WAIT, 1);
	seen(id, "k", 0, WAIT, 3);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 101: 0 wait 3 =50, 16 long_scoreboard 2 =34, 16 wait 1 =17|");
	CHECK(stalls.counts.samples == 6 && stalls.counts.apportioned == 0 &&
		stalls.counts.elsewhere == 0);
	CHECK(stalls.counts.kernel_ns == 101 && stalls.counts.unsampled_ns == 0);
	CHECK(stalls.counts.windows == 1 && stalls.counts.without_code == 2);
	finish();
}

static void two_stacks_share_the_samples_by_their_time_in_the_window(void)
{
	uint32_t id;

	begin();
	work("k", 'A', 100, 30);
	work("k", 'B', 200, 10);
	id = window(0, 1000);
	seen(id, "k", 0, LONG, 300);
	seen(id, "k", 16, WAIT, 101);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 30: 0 long_scoreboard 225 =22, 16 wait 75.750 =8|"
			       "B k 10: 0 long_scoreboard 75 =7, 16 wait 25.250 =3|");
	CHECK(stalls.counts.samples == 401 && stalls.counts.apportioned == 401);
	finish();
}

static void each_window_tells_of_its_own_works_also_of_parts_of_them(void)
{
	uint32_t first, second;

	begin();
	first = window(0, 100);
	seen(first, "k", 0, WAIT, 90);
	second = window(100, 200);
	seen(second, "k", 0, LONG, 40);
	work("k", 'A', 10, 90);
	work("k", 'B', 100, 60);
	work("k", 'C', 90, 30);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 90: 0 wait 81 =90|"
			       "B k 60: 0 long_scoreboard 30 =60|"
			       "C k 30: 0 long_scoreboard 10 =15, 0 wait 9 =15|");
	CHECK(stalls.counts.apportioned == 130);
	finish();
}

static void a_stack_that_ran_alone_in_a_window_has_its_samples_for_certain(void)
{
	uint32_t first, second;

	begin();
	first = window(0, 100);
	second = window(100, 200);
	work("k", 'A', 0, 100);
	work("k", 'B', 100, 100);
	seen(first, "k", 0, WAIT, 5);
	seen(second, "k", 0, LONG, 7);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 100: 0 wait 5 =100|B k 100: 0 long_scoreboard 7 =100|");
	CHECK(stalls.counts.apportioned == 0);
	finish();
}

static void late_samples_go_to_the_window_before_then_after_then_to_the_whole_recording(void)
{
	uint32_t windows[6];

	begin();
	for (uint32_t i = 0; i < 6; i++)
		windows[i] = window(i * 100, i * 100 + 100);
	work("k", 'A', 10, 10);
	seen(windows[1], "k", 0, WAIT, 1);
	work("m", 'B', 210, 10);
	seen(windows[1], "m", 0, WAIT, 2);
	work("n", 'C', 10, 30);
	work("n", 'D', 110, 10);
	seen(windows[5], "n", 0, WAIT, 4);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 10: 0 wait 1 =10|B m 10: 0 wait 2 =10|C n 30: 0 wait 3 =30|D n "
			       "10: 0 wait 1 =10|");
	CHECK(stalls.counts.elsewhere == 7 && stalls.counts.apportioned == 4);
	finish();
}

static void a_stack_without_samples_keeps_its_time_as_not_sampled(void)
{
	uint32_t id;

	begin();
	id = window(0, 100);
	work("k", 'A', 0, 50);
	work("m", 'A', 50, 25);
	work("k", 'B', 500, 7);
	seen(id, "k", 0, WAIT, 1);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 50: 0 wait 1 =50|A m 25:|B k 7:|");
	CHECK(stalls.counts.kernel_ns == 82 && stalls.counts.unsampled_ns == 32);
	finish();
}

static void an_exact_window_names_the_launch_of_each_sample(void)
{
	uint32_t id;

	begin();
	work_of(1, "k", 'A', 100, 30, 11);
	work_of(1, "k", 'B', 200, 10, 12);
	id = window_of(1, 0, 1000, true);
	seen_in(module, id, "k", 0, LONG, 3, 12);
	seen_in(module, id, "k", 0, WAIT, 5, 11);
	seen_in(module, id, "k", 0, LONG, 2, 11);
	seen_in(module, id, "helper", 0, WAIT, 1, 12);
	seen_in(module, id, "k", 16, WAIT, 4, 99);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 30: 0 long_scoreboard 2 =6, 0 wait 5 =15, 16 wait 3 =9|"
			       "B k 10: 0 long_scoreboard 3 =6, 16 wait 1 =2, 0 wait 1 =2|");
	CHECK(stalls.counts.apportioned == 4);
	finish();
}

static void samples_of_a_function_go_to_the_kernels_of_its_image_or_the_one_of_its_name(void)
{
	struct profile_module other = {
		.kind = MODULE_GPU_CODE, .build_id_size = 8, .build_id = {1}};
	uint32_t id, image;

	begin();
	CHECK(!profile_add_module(w, &other, &image));
	work("k", 'A', 0, 30);
	work("m", 'A', 30, 10);
	work("n", 'A', 40, 100);
	id = window(0, 1000);
	seen(id, "k", 0, WAIT, 1);
	seen(id, "m", 0, WAIT, 1);
	seen_in(image, id, "n", 0, WAIT, 1, 0);
	seen(id, "helper", 8, LONG, 4);
	seen(id, "$m$sqrt", 8, LONG, 2);
	seen_in(image, id, "nobody", 8, LONG, 6, 0);
	CHECK(!read_all());
	CHECK_TEXT(launches(),
		"A k 30: 0 wait 1 =7, 8 long_scoreboard 3 =23|"
		"A m 10: 0 wait 1 =2, 8 long_scoreboard 1 =3, 8 long_scoreboard 2 =5|"
		"A n 100: 0 wait 1 =14, 8 long_scoreboard 6 =86|");
	CHECK(stalls.counts.apportioned == 4 && stalls.counts.without_kernel == 0);
	finish();
}

static void samples_of_kernels_that_never_showed_are_counted_and_in_no_row(void)
{
	struct profile_module other = {
		.kind = MODULE_GPU_CODE, .build_id_size = 8, .build_id = {1}};
	uint32_t id, image;

	begin();
	CHECK(!profile_add_module(w, &other, &image));
	work("k", 'A', 0, 30);
	work_of(2, "m", 'A', 0, 30, 0);
	id = window(0, 1000);
	seen(id, "k", 0, WAIT, 1);
	seen_in(image, id, "lost", 0, WAIT, 5, 0);
	seen_in(image, id, "m", 0, WAIT, 6, 0);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 30: 0 wait 1 =30|A m 30:|");
	CHECK(stalls.counts.samples == 12 && stalls.counts.without_kernel == 11);
	finish();
}

static void windows_of_several_contexts_may_overlap(void)
{
	uint32_t first, second;

	begin();
	first = window_of(1, 0, 1000, false);
	second = window_of(2, 0, 1000, false);
	work_of(1, "k", 'A', 0, 30, 0);
	work_of(2, "k", 'B', 0, 60, 0);
	seen(first, "k", 0, WAIT, 1);
	seen(second, "k", 0, LONG, 1);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 30: 0 wait 1 =30|B k 60: 0 long_scoreboard 1 =60|");
	CHECK(stalls.counts.apportioned == 0);
	finish();
}

static void latency_samples_are_a_part_and_not_counted_twice(void)
{
	uint32_t id;

	begin();
	work("k", 'A', 0, 100);
	id = window(0, 1000);
	seen(id, "k", 0, LONG, 8);
	seen(id, "k", 0, LONG "_not_issued", 6);
	seen(id, "k", 8, ISSUE, 2);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 100: 0 long_scoreboard 8 =80, 8 selected 2 =20|");
	CHECK(stalls.counts.samples == 10 && stalls.counts.latency == 6 &&
		stalls.counts.issuing == 2);
	CHECK(stalls.rows.items[0].latency == 6 * STALLS_SAMPLE);
	CHECK(stalls.reasons.count == 2);
	finish();
}

/* So many works that they are put into their windows on the way, in an order that nothing relies
 * on. */
static void many_works_and_windows_in_any_order_lose_no_sample_and_no_nanosecond(void)
{
	uint64_t time_ns = 0, samples = 0, sum_ns = 0, sum = 0;
	uint32_t windows[200];
	unsigned int seed = 1;

	begin();
	for (uint32_t i = 0; i < 200; i++)
		windows[i] = i % 2 ? 0 : window(i * 1000, i * 1000 + 1000);
	for (uint32_t i = 0; i < 150000; i++) {
		uint64_t duration_ns = (uint64_t)rand_r(&seed) % 3000;
		char kernel[2] = {(char)('a' + i % 5), 0};

		if (i == 100000)
			for (uint32_t n = 1; n < 200; n += 2)
				windows[n] = window(n * 1000, n * 1000 + 1000);
		work(kernel, (char)('A' + i % 7), (uint64_t)rand_r(&seed) % 200000, duration_ns);
		time_ns += duration_ns;
	}
	for (uint32_t i = 0; i < 5000; i++) {
		uint64_t count = (uint64_t)rand_r(&seed) % 1000;
		char kernel[2] = {(char)('a' + i % 5), 0};

		seen(windows[i % 200], kernel, i % 11 * 16, i % 3 ? LONG : WAIT, count);
		samples += count;
	}
	CHECK(!read_all());
	vec_foreach (row, &stalls.rows) {
		sum_ns += row->time_ns;
		sum += row->samples;
	}
	CHECK(sum_ns == time_ns && stalls.counts.unsampled_ns == 0);
	CHECK(stalls.counts.samples == samples && sum == samples * STALLS_SAMPLE);
	CHECK(stalls.launches.count == 35 && stalls.counts.elsewhere == 0);
	finish();
}

#define TWIN_WORKS     3000
#define TWIN_WINDOWS   40
#define TWIN_STALLS    400
#define TWIN_STACKS    7
#define TWIN_KERNELS   5
#define TWIN_WINDOW_NS 1000

struct twin_work {
	uint32_t kernel, stack;
	uint64_t start_ns, end_ns;
};

/* How long a kernel launched by a stack ran in a window, the long way. */
static double twin_time(
	const struct twin_work *works, uint32_t kernel, uint32_t stack, uint64_t window_number)
{
	uint64_t begin_ns = window_number * TWIN_WINDOW_NS, end_ns = begin_ns + TWIN_WINDOW_NS,
		 sum_ns = 0;

	for (uint32_t i = 0; i < TWIN_WORKS; i++) {
		uint64_t from_ns = works[i].start_ns > begin_ns ? works[i].start_ns : begin_ns;
		uint64_t to_ns = works[i].end_ns < end_ns ? works[i].end_ns : end_ns;

		if (works[i].kernel == kernel && works[i].stack == stack && from_ns < to_ns)
			sum_ns += to_ns - from_ns;
	}
	return (double)sum_ns;
}

static void twin_share(const struct twin_work *works, double (*samples)[TWIN_STACKS],
	uint32_t kernel, uint64_t window_number, double count)
{
	double times[TWIN_STACKS], sum = 0;

	for (uint32_t stack = 0; stack < TWIN_STACKS; stack++)
		sum += times[stack] = twin_time(works, kernel, stack, window_number);
	for (uint32_t stack = 0; sum > 0 && stack < TWIN_STACKS; stack++)
		samples[kernel][stack] += count * times[stack] / sum;
}

static void samples_are_where_a_computation_that_looks_at_every_work_has_them(void)
{
	static struct twin_work works[TWIN_WORKS];
	static double samples[TWIN_KERNELS][TWIN_STACKS];
	uint32_t windows[TWIN_WINDOWS];
	unsigned int seed = 7;

	begin();
	for (uint32_t i = 0; i < TWIN_WORKS; i++) {
		struct twin_work *t = &works[i];

		*t = (struct twin_work){.kernel = (uint32_t)rand_r(&seed) % TWIN_KERNELS,
			.stack = (uint32_t)rand_r(&seed) % TWIN_STACKS,
			.start_ns = (uint64_t)rand_r(&seed) % (TWIN_WINDOWS * TWIN_WINDOW_NS)};
		t->end_ns = t->start_ns + 1 + (uint64_t)rand_r(&seed) % (2 * TWIN_WINDOW_NS);
		work((char[]){(char)('a' + t->kernel), 0}, (char)('A' + t->stack), t->start_ns,
			t->end_ns - t->start_ns);
	}
	for (uint32_t i = 0; i < TWIN_WINDOWS; i++)
		windows[i] = window(i * TWIN_WINDOW_NS, (i + 1) * TWIN_WINDOW_NS);
	for (uint32_t i = 0; i < TWIN_STALLS; i++) {
		uint32_t kernel = (uint32_t)rand_r(&seed) % TWIN_KERNELS,
			 at = (uint32_t)rand_r(&seed) % TWIN_WINDOWS;
		uint64_t count = (uint64_t)rand_r(&seed) % 100;

		seen(windows[at], (char[]){(char)('a' + kernel), 0}, i % 10 * 16, WAIT, count);
		twin_share(works, samples, kernel, at, (double)count);
	}
	CHECK(!read_all());
	CHECK(stalls.launches.count == TWIN_KERNELS * TWIN_STACKS);
	vec_foreach (l, &stalls.launches) {
		double expected = samples[*profile_string(reader, l->kernel, NULL) - 'a']
					 [l->key.stack - stacks[0]];
		double off = (double)l->samples / (double)STALLS_SAMPLE - expected;

		CHECK(off < 0.001 && off > -0.001);
	}
	finish();
}

static void windows_are_joined_when_there_are_too_many_stalls_and_no_sample_is_lost(void)
{
	static const struct view_options options;
	struct profile_event event;
	uint32_t windows[64];

	begin();
	work_of(2, "m", 'C', 0, 10, 0);
	for (uint32_t i = 0; i < 64; i++) {
		windows[i] = window(i * 100, i * 100 + 100);
		work("k", i % 4 < 3 ? 'A' : 'B', i * 100, 100);
		seen(windows[i], "k", 0, LONG, 4);
		seen(windows[i], "k", 16, WAIT, i % 2);
	}
	seen(window_of(2, 0, 100, false), "m", 0, WAIT, 3);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&reader, path));
	CHECK(!stalls_init(&stalls, reader, &options, NULL));
	stalls.seen_max = 64;
	while (profile_reader_next(reader, &event) > 0)
		CHECK(!stalls_event(&stalls, &event));
	CHECK(!stalls_finish(&stalls));
	CHECK(stalls.counts.windows_joined == 4);
	CHECK_TEXT(launches(), "C m 10: 0 wait 3 =10|"
			       "A k 4800: 0 long_scoreboard 192 =4266, 16 wait 24 =534|"
			       "B k 1600: 0 long_scoreboard 64 =1422, 16 wait 8 =178|");
	CHECK(stalls.counts.samples == 291 && stalls.counts.apportioned == 288);
	finish();
}

static void numbers_beyond_64_bits_are_refused(void)
{
	uint32_t id;

	begin();
	work("k", 'A', 0, 30);
	id = window(0, 1000);
	seen(id, "k", 0, WAIT, UINT64_MAX / 2);
	CHECK(read_all() == -EOVERFLOW);
	finish();
}

static void works_that_took_no_time_and_reach_the_end_of_all_time_are_harmless(void)
{
	uint32_t id;

	begin();
	work("k", 'A', UINT64_MAX, 0);
	work("k", 'B', UINT64_MAX - 5, 10);
	id = window(50, 10);
	seen(id, "k", 0, WAIT, 11);
	CHECK(!read_all());
	CHECK_TEXT(launches(), "A k 0: 0 wait 1 =0|B k 10: 0 wait 10 =10|");
	finish();
}

/* In the first window only A ran, in the second only B, in the third both. */
static void sums_by_kernel_say_how_many_samples_would_be_apportioned(void)
{
	struct kernel_stalls k = {0};

	begin();
	work("k", 'A', 0, 50);
	work("k", 'B', 100, 50);
	work("k", 'A', 200, 10);
	work("k", 'B', 210, 30);
	seen(window(0, 90), "k", 0, WAIT, 1);
	seen(window(100, 190), "k", 0, WAIT, 20);
	seen(window(200, 290), "k", 0, WAIT, 300);
	CHECK(!profile_writer_close(w));
	CHECK(!profile_reader_open(&reader, path));
	CHECK(!kernel_stalls_read(&k, reader));
	CHECK(k.samples == 321 && k.apportioned == 300);
	kernel_stalls_release(&k);
	profile_reader_close(reader);
	unlink(path);
}

int main(void)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	RUN(parts_add_up_to_the_whole_and_are_less_than_one_off);
	RUN(the_time_of_one_stack_is_divided_by_its_samples_without_a_rest);
	RUN(two_stacks_share_the_samples_by_their_time_in_the_window);
	RUN(each_window_tells_of_its_own_works_also_of_parts_of_them);
	RUN(a_stack_that_ran_alone_in_a_window_has_its_samples_for_certain);
	RUN(late_samples_go_to_the_window_before_then_after_then_to_the_whole_recording);
	RUN(a_stack_without_samples_keeps_its_time_as_not_sampled);
	RUN(an_exact_window_names_the_launch_of_each_sample);
	RUN(samples_of_a_function_go_to_the_kernels_of_its_image_or_the_one_of_its_name);
	RUN(samples_of_kernels_that_never_showed_are_counted_and_in_no_row);
	RUN(windows_of_several_contexts_may_overlap);
	RUN(latency_samples_are_a_part_and_not_counted_twice);
	RUN(many_works_and_windows_in_any_order_lose_no_sample_and_no_nanosecond);
	RUN(samples_are_where_a_computation_that_looks_at_every_work_has_them);
	RUN(windows_are_joined_when_there_are_too_many_stalls_and_no_sample_is_lost);
	RUN(numbers_beyond_64_bits_are_refused);
	RUN(works_that_took_no_time_and_reach_the_end_of_all_time_are_harmless);
	RUN(sums_by_kernel_say_how_many_samples_would_be_apportioned);
	return tap_end();
}
