// SPDX-License-Identifier: MIT
/*
 * What numbers of errors mean.
 */
#include "base/buf.h"
#include "monitor/line.h"
#include "monitor/tables/xid.h"
#include "tap.h"

static const char *meaning(const char *list, uint64_t code)
{
	const char *name = monitor_list_name(monitor_find("nvidia"), list, code);

	return name ? name : "";
}

static void known_errors_have_their_meaning(void)
{
	CHECK_TEXT(meaning("xid", 79), "GPU has fallen off the bus");
	CHECK_TEXT(meaning("xid", 31), "page fault in GPU memory");
	CHECK_TEXT(meaning("sxid", 10006), "shut down because it is too hot");
}

static void errors_of_a_switch_are_at_least_those_of_a_unit(void)
{
	CHECK_TEXT(meaning("sxid", 23999), "error of the crossbar");
	CHECK_TEXT(meaning("sxid", 27000), "");
	CHECK_TEXT(meaning("sxid", 9999), "");
}

/* A label as statistics show it. */
static const char *shown(const char *list, uint64_t code)
{
	static char text[128];
	char label[MONITOR_LABEL_BYTES] = {0};
	struct buf out = BUF_INIT;

	memcpy(label, &code, sizeof(code));
	label[MONITOR_LABEL_BYTES - 1] = MONITOR_LABEL_NUMBER;
	line_label(monitor_find("nvidia"), list, label, &out);
	snprintf(text, sizeof(text), "%s", out.data);
	buf_release(&out);
	return text;
}

static void an_error_is_shown_with_its_number(void)
{
	CHECK_TEXT(shown("xid", 48), "48 uncorrectable ECC error");
	CHECK_TEXT(shown("sxid", 12028), "12028 privilege error in an outgoing response");
}

static void an_error_that_we_do_not_know_is_said_to_be_unknown(void)
{
	CHECK_TEXT(shown("xid", 9999), "9999 unknown to xpuprof");
	CHECK_TEXT(shown("xid", 0), "0 unknown to xpuprof");
	CHECK_TEXT(shown("sxid", 5), "5 unknown to xpuprof");
}

static void errors_are_in_order_and_told_once(void)
{
	for (const struct monitor_name *n = xid_names; n[1].name; n++)
		CHECK(n[0].value < n[1].value);
	for (const struct monitor_name *n = sxid_names; n[1].name; n++)
		CHECK(n[0].value < n[1].value);
}

int main(void)
{
	RUN(known_errors_have_their_meaning);
	RUN(errors_of_a_switch_are_at_least_those_of_a_unit);
	RUN(an_error_is_shown_with_its_number);
	RUN(an_error_that_we_do_not_know_is_said_to_be_unknown);
	RUN(errors_are_in_order_and_told_once);
	return tap_end();
}
