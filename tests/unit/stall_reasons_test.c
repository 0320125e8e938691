// SPDX-License-Identifier: MIT
/* What a warp waits for, by the vendor's name of it. */
#include "view/stalls/reasons.h"

#include "tap.h"
#include "vendor/vendor.h"

#define LONG "smsp__pcsamp_warps_issue_stalled_"

static void a_reason_is_found_by_its_vendor_name(void)
{
	struct stall_name n = stall_name_parse(LONG "long_scoreboard");

	CHECK(n.reason && !strcmp(n.reason->name, "long_scoreboard"));
	CHECK_TEXT(stall_words(&n), "waiting for a global or local memory load");
	CHECK(stall_class_of(&n) == STALL_MEMORY);
	CHECK(!n.latency && !stall_is_issuing(&n));
}

static void names_with_the_shorter_prefix_are_understood(void)
{
	struct stall_name n = stall_name_parse("smsp__pcsamp_warp_stall_barrier");

	CHECK(n.reason && n.reason->class == STALL_SYNC);
}

static void latency_samples_are_told_by_the_mark_and_have_the_same_reason(void)
{
	struct stall_name n = stall_name_parse(LONG "barrier_not_issued");
	struct stall_name plain = stall_name_parse(LONG "barrier");

	CHECK(n.latency && !plain.latency);
	CHECK(n.reason && n.reason == plain.reason);
	CHECK(n.name_size == strlen("barrier"));
}

static void only_a_selected_warp_issues(void)
{
	struct stall_name selected = stall_name_parse(LONG "selected");
	struct stall_name ready = stall_name_parse(LONG "not_selected");
	struct stall_name ready_latency = stall_name_parse(LONG "not_selected_not_issued");

	CHECK(stall_is_issuing(&selected));
	CHECK(!stall_is_issuing(&ready) && stall_class_of(&ready) == STALL_ISSUING);
	CHECK(ready_latency.reason == ready.reason && ready_latency.latency);
}

static void an_unknown_reason_keeps_the_vendor_name(void)
{
	struct stall_name n = stall_name_parse(LONG "tea_break_not_issued");
	struct stall_name bare = stall_name_parse("vendor2::stalled");
	struct stall_name empty = stall_name_parse("");
	struct stall_name mark = stall_name_parse("_not_issued");

	CHECK(!n.reason && n.latency && stall_class_of(&n) == STALL_OTHER && !stall_is_issuing(&n));
	CHECK(n.name_size == strlen("tea_break") && !strncmp(n.name, "tea_break", n.name_size));
	CHECK_TEXT(stall_words(&bare), "vendor2::stalled");
	CHECK(!empty.reason && !empty.name_size && !empty.latency);
	CHECK(!mark.reason && !mark.latency && mark.name_size == strlen("_not_issued"));
}

/* Of its vendor's: views show one vendor's words for a kernel. */
static size_t check_rows(const struct stall_names *names)
{
	size_t count = 0;

	for (const struct stall_reason *r = names->reasons; r->name; r++, count++) {
		char vendor[128];

		CHECK(*r->name && *r->words && r->class < STALL_CLASSES);
		for (size_t i = 0; i < count; i++) {
			CHECK(strcmp(r->name, names->reasons[i].name) != 0);
			CHECK(strcmp(r->words, names->reasons[i].words) != 0);
		}
		snprintf(vendor, sizeof(vendor), "%s%s%s", names->prefixes[0], r->name,
			names->latency_mark ?: "");
		CHECK(stall_name_parse(vendor).reason == r);
	}
	return count;
}

static void every_row_has_a_name_and_words_of_its_own(void)
{
	size_t count = 0, all = 0;

	vendors_foreach(v) if ((*v)->stalls) count += check_rows((*v)->stalls);
	while (stall_reason_at(all))
		all++;
	CHECK(count >= 32 && count == all);
}

static void every_class_has_a_key_and_words(void)
{
	for (int c = 0; c < STALL_CLASSES; c++) {
		CHECK(*stall_class_key((enum stall_class)c) &&
			*stall_class_words((enum stall_class)c));
		for (int d = 0; d < c; d++)
			CHECK(strcmp(stall_class_key((enum stall_class)c),
				      stall_class_key((enum stall_class)d)) != 0);
	}
	CHECK_TEXT(stall_class_key(STALL_CLASSES), "other");
}

int main(void)
{
	RUN(a_reason_is_found_by_its_vendor_name);
	RUN(names_with_the_shorter_prefix_are_understood);
	RUN(latency_samples_are_told_by_the_mark_and_have_the_same_reason);
	RUN(only_a_selected_warp_issues);
	RUN(an_unknown_reason_keeps_the_vendor_name);
	RUN(every_row_has_a_name_and_words_of_its_own);
	RUN(every_class_has_a_key_and_words);
	return tap_end();
}
