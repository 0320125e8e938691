// SPDX-License-Identifier: MIT
#include "monitor/line.h"

#include <errno.h>

#include "base/error.h"
#include "checks/monitor.h"
#include "tap.h"

static const struct monitor_event events[] = {
	{
		.name = "RUN",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "t:run",
			.fields = {{"job", "job", FIELD_NUMBER}, {"job2", "job2", FIELD_NUMBER},
				{"name", "name", FIELD_STRING}, {"diff", "diff", FIELD_NUMBER},
				{"write", "write", FIELD_NUMBER},
				{"place", "place", FIELD_NUMBER}}}},
		.counts = {{0, VALUE_DURATION, .label = {"name"}}},
		.label = {"name", "place"},
		.above = 1,
		.column = {"{job}[:{job2}]", "{ring}/{other}", "{name}",
			"d={diff}[ t={#0:time}] {write:yes WRITE READ}",
			"{place:where} {job:x} {job2:size}", "{comm}({pid})[ c{client}]"},
	},
	{0},
};

static const struct monitor_series series[] = {
	{.name = "run_time", .unit = UNIT_NANOSECONDS, .busy = true, .label = {"name"}},
	{0},
};

static const struct monitor_list lists[] = {
	{.name = "where",
		.names = (const struct monitor_name[]){{1, "VRAM"}, {2, "GTT"}, {0, NULL}}},
	{0},
};

static const struct monitor table = {
	.name = "test",
	.column = {"A", "B", "C", "D", "E", "F"},
	.events = events,
	.series = series,
	.lists = lists,
};

/* As the fields of the table are read on one kernel. */
static struct monitor_event_plan plan_of_all(void)
{
	struct monitor_event_plan p = {.presence = PRESENT, .source = &events[0].sources[0]};

	for (size_t i = 0; i < 6; i++)
		p.plan.field[i] = (struct monitor_field_plan){
			.read = READ_UNSIGNED, .size = 8, .string = MONITOR_NONE};
	p.plan.field[2].read = READ_DATA_LOC;
	p.plan.field[2].string = 0;
	p.plan.field[3].read = READ_SIGNED;
	return p;
}

static struct monitor_record record_of_all(void)
{
	struct monitor_record r = {.message = MESSAGE_RECORD,
		.pid = 42,
		.client = 7,
		.comm = "game",
		.count = {1250000, MONITOR_NO_VALUE, MONITOR_NO_VALUE, MONITOR_NO_VALUE},
		.label = {"gfx"},
		.field = {12, 3145728, 0, (uint64_t)-5, 1, 2},
		.string = {"gfx_0.0.0"}};

	r.label[1][0] = 2;
	r.label[1][MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	return r;
}

static void check_column(const struct monitor_event_plan *p, const struct monitor_record *r,
	size_t column, const char *expected)
{
	struct buf b = BUF_INIT;

	buf_puts(&b, "<");
	line_column(&table, 0, p, r, column, &b);
	CHECK_TEXT(buf_text(&b) + 1, expected);
	buf_release(&b);
}

static void places_are_filled_with_fields_labels_counts_and_the_process(void)
{
	struct monitor_event_plan p = plan_of_all();
	struct monitor_record r = record_of_all();

	check_column(&p, &r, 0, "12:3145728");
	check_column(&p, &r, 1, "gfx/2");
	check_column(&p, &r, 2, "gfx_0.0.0");
	check_column(&p, &r, 3, "d=-5 t=1.25 ms WRITE");
	check_column(&p, &r, 4, "GTT 0xc 3 MiB");
	check_column(&p, &r, 5, "game(42) c7");
	check_column(&p, &r, 6, "");
}

static void what_is_between_brackets_goes_when_a_value_in_it_is_not_there(void)
{
	struct monitor_event_plan p = plan_of_all();
	struct monitor_record r = record_of_all();

	p.plan.field[1].read = READ_NOTHING;
	r.count[0] = MONITOR_NO_VALUE;
	r.field[4] = 0;
	r.client = 0;
	check_column(&p, &r, 0, "12");
	check_column(&p, &r, 3, "d=-5 READ");
	check_column(&p, &r, 4, "GTT 0xc ");
	check_column(&p, &r, 5, "game(42)");
}

static void the_number_0_is_there(void)
{
	struct monitor_event_plan p = plan_of_all();
	struct monitor_record r = record_of_all();

	r.field[1] = 0;
	r.count[0] = 0;
	r.label[1][0] = 0;
	check_column(&p, &r, 0, "12:0");
	check_column(&p, &r, 1, "gfx/0");
	check_column(&p, &r, 3, "d=-5 t=0 ns WRITE");
}

static void a_number_without_a_name_is_written_out(void)
{
	struct monitor_event_plan p = plan_of_all();
	struct monitor_record r = record_of_all();

	r.field[5] = 77;
	check_column(&p, &r, 4, "77 0xc 3 MiB");
}

static void text_of_programs_cannot_steer_a_terminal_and_may_fill_its_place(void)
{
	struct monitor_event_plan p = plan_of_all();
	struct monitor_record r = record_of_all();
	char full[MONITOR_STRING_BYTES + 1];

	memcpy(r.comm, "a\033[2J\x7f\xff", 8);
	check_column(&p, &r, 5, "a\\x1b[2J\\x7f\\xff(42) c7");
	memset(full, 'x', sizeof(full) - 1);
	full[sizeof(full) - 1] = '\0';
	memset(r.string[0], 'x', MONITOR_STRING_BYTES);
	memset(r.label[0], 'y', 3);
	check_column(&p, &r, 2, full);
}

static void a_field_of_a_string_that_the_plan_puts_nowhere_is_not_there(void)
{
	struct monitor_event_plan p = plan_of_all();
	struct monitor_record r = record_of_all();

	p.plan.field[2].string = MONITOR_NONE;
	check_column(&p, &r, 2, "");
	CHECK(line_field(&p, &r, 2).kind == LINE_NOTHING);
	CHECK(line_field(&p, &r, 3).kind == LINE_SIGNED &&
		(int64_t)line_field(&p, &r, 3).number == -5);
}

static void check_label(
	const char *list, const char label[MONITOR_LABEL_BYTES], const char *expected)
{
	struct buf b = BUF_INIT;

	line_label(&table, list, label, &b);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void a_label_is_a_string_a_number_a_name_or_nothing(void)
{
	char text[MONITOR_LABEL_BYTES] = "gfx", none[MONITOR_LABEL_BYTES] = "",
	     number[MONITOR_LABEL_BYTES] = {0};
	uint64_t got = 1;

	number[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	check_label(NULL, text, "gfx");
	check_label("where", none, "");
	check_label(NULL, number, "0");
	number[0] = 1;
	check_label("where", number, "VRAM");
	check_label("no such list", number, "1");
	number[1] = 1;
	check_label("where", number, "257");
	CHECK(!line_label_number(text, &got) && !line_label_number(none, &got) && got == 1);
	CHECK(line_label_number(number, &got) && got == 257);
}

static void check_time(uint64_t ns, const char *expected)
{
	struct buf b = BUF_INIT;

	line_time(&b, ns);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void check_size(uint64_t bytes, const char *expected)
{
	struct buf b = BUF_INIT;

	line_size(&b, bytes);
	CHECK_TEXT(buf_text(&b), expected);
	buf_release(&b);
}

static void times_and_sizes_have_three_digits_and_a_unit(void)
{
	check_time(0, "0 ns");
	check_time(999, "999 ns");
	check_time(1000, "1.00 us");
	check_time(340000, "340 us");
	check_time(999499, "999 us");
	check_time(999500, "1.00 ms");
	check_time(1250000, "1.25 ms");
	check_time(12345678901, "12.3 s");
	check_time(UINT64_MAX, "18446744074 s");
	check_size(0, "0 B");
	check_size(4096, "4 KiB");
	check_size(1536 * 1024, "1.5 MiB");
	check_size(1023, "1023 B");
	check_size((uint64_t)100 << 20, "100 MiB");
	check_size((uint64_t)123456789, "118 MiB");
	check_size(UINT64_MAX, "16384 PiB");
}

static void check_refused(const char *template, const char *expected)
{
	struct monitor_event broken[] = {events[0], {0}};
	struct monitor m = table;

	broken[0].column[0] = template;
	m.events = broken;
	CHECK(line_check(&m) == -EINVAL);
	CHECK(strstr(error_text(), expected));
}

static void a_table_is_checked_against_its_own_names(void)
{
	struct monitor_event broken[] = {events[0], {0}};
	struct monitor m = table;

	CHECK(!line_check(&table));
	check_refused("{nobody}", "'nobody'");
	check_refused("{job:nothing}", "'nothing'");
	check_refused("{job", "without '}'");
	check_refused("{#1}", "'#1'");
	check_refused("[{job}", "'[' too many");
	check_refused("[[{job}]]", "'[' too many");
	check_refused("{job}]", "']' too many");
	check_refused("{write:yes WRITE}", "'yes WRITE'");
	m.column[5] = NULL;
	CHECK(line_check(&m) == -EINVAL && strstr(error_text(), "no heading"));
	m = table;
	m.events = broken;
	broken[0].counts[0].label[0] = "place";
	CHECK(line_check(&m) == -EINVAL && strstr(error_text(), "busy"));
}

static void every_table_of_the_program_is_right(void)
{
	for (size_t n = 0; monitor_at(n); n++)
		if (line_check(monitor_at(n))) {
			CHECK(false);
			printf("# %s\n", error_text());
		}
}

int main(void)
{
	RUN(places_are_filled_with_fields_labels_counts_and_the_process);
	RUN(what_is_between_brackets_goes_when_a_value_in_it_is_not_there);
	RUN(the_number_0_is_there);
	RUN(a_number_without_a_name_is_written_out);
	RUN(text_of_programs_cannot_steer_a_terminal_and_may_fill_its_place);
	RUN(a_field_of_a_string_that_the_plan_puts_nowhere_is_not_there);
	RUN(a_label_is_a_string_a_number_a_name_or_nothing);
	RUN(times_and_sizes_have_three_digits_and_a_unit);
	RUN(a_table_is_checked_against_its_own_names);
	RUN(every_table_of_the_program_is_right);
	return tap_end();
}
