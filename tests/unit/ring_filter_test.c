// SPDX-License-Identifier: MIT
/*
 * What --ring asks for, by labels that are texts and numbers.
 */
#include <string.h>

#include "monitor/ring_filter.h"
#include "tap.h"

static bool passes_number(const char *monitor, const char *ring, uint64_t number)
{
	const struct ring_filter f = ring_filter_of(monitor_find(monitor), ring);
	char label[MONITOR_LABEL_BYTES] = {0};

	memcpy(label, &number, sizeof(number));
	label[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	return ring_filter_passes(&f, label);
}

static bool passes_text(const char *ring, const char *text)
{
	const struct ring_filter f = ring_filter_of(monitor_find("drm"), ring);
	char label[MONITOR_LABEL_BYTES] = {0};

	snprintf(label, sizeof(label), "%s", text);
	return ring_filter_passes(&f, label);
}

static void without_a_ring_everything_passes(void)
{
	CHECK(passes_text(NULL, "gfx") && passes_text("", "gfx") && passes_text(NULL, ""));
	CHECK(passes_number("vblank", NULL, 3));
}

static void a_text_is_compared_up_to_where_labels_are_cut(void)
{
	CHECK(passes_text("gfx", "gfx") && !passes_text("gfx", "gfx1") && !passes_text("gfx", ""));
	CHECK(passes_text("0", "0") && !passes_text("0x0", "0"));
	CHECK(passes_text("a ring with a name of more than thirty letters",
		"a ring with a name of more than thirty letters"));
}

static void a_number_is_one_however_it_is_written(void)
{
	CHECK(passes_number("xe", "31", 31) && passes_number("xe", "0x1f", 31));
	CHECK(passes_number("xe", "010", 10));
	CHECK(!passes_number("xe", "31", 30) && !passes_number("xe", "31x", 31));
	CHECK(!passes_number("xe", "gfx", 0) && !passes_number("xe", "-1", UINT64_MAX));
	CHECK(!passes_number("xe", "99999999999999999999", UINT64_MAX));
}

static void a_number_may_go_by_its_name_but_not_by_that_of_something_else(void)
{
	CHECK(passes_number("i915", "render", 0) && passes_number("i915", "Copy", 1));
	CHECK(passes_number("i915", "1", 1) && !passes_number("i915", "copy", 0));
	for (uint64_t number = 0; number < 8; number++)
		CHECK(!passes_number("i915", "GTT", number) &&
			!passes_number("amdgpu", "VRAM", number));
}

static const char *written(const char *ring, bool as_number)
{
	const struct monitor *m = monitor_find("i915");
	const struct ring_filter f = ring_filter_of(m, ring);
	static char text[64];
	struct buf out = BUF_INIT;

	ring_filter_write(&f, m, as_number, &out);
	snprintf(text, sizeof(text), "%s", buf_text(&out));
	buf_release(&out);
	return text;
}

static void what_passes_is_written_as_totals_have_it(void)
{
	CHECK_TEXT(written("1", true), "copy");
	CHECK_TEXT(written("COPY", true), "copy");
	CHECK_TEXT(written("77", true), "77");
	CHECK_TEXT(written("a\x1b[0m", false), "a\\x1b[0m");
}

int main(void)
{
	RUN(without_a_ring_everything_passes);
	RUN(a_text_is_compared_up_to_where_labels_are_cut);
	RUN(a_number_is_one_however_it_is_written);
	RUN(a_number_may_go_by_its_name_but_not_by_that_of_something_else);
	RUN(what_passes_is_written_as_totals_have_it);
	return tap_end();
}
