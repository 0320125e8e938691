/* SPDX-License-Identifier: MIT */
/*
 * Unit tests in TAP, for prove. A test program is a table of functions whose names are sentences:
 *
 *	static void a_map_finds_what_was_put_in(void) { ...; CHECK(x == 3); }
 *	int main(void) { RUN(a_map_finds_what_was_put_in); return tap_end(); }
 *
 * A failing CHECK prints where and what, and the test goes on.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;
static bool tap_ok;
static const char *tap_skip_reason;

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			tap_ok = false;                                                            \
			printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #condition);           \
		}                                                                                  \
	} while (0)

#define CHECK_TEXT(got, expected)                                                                  \
	do {                                                                                       \
		const char *got_ = (got), *expected_ = (expected);                                 \
		if (strcmp(got_, expected_)) {                                                     \
			tap_ok = false;                                                            \
			printf("# %s:%d: '%s' is not '%s'\n", __FILE__, __LINE__, got_,            \
				expected_);                                                        \
		}                                                                                  \
	} while (0)

/* Says why this test cannot run here; return right after it. */
#define SKIP(reason) (tap_skip_reason = (reason))

static inline void tap_run(const char *name, void (*test)(void))
{
	tap_ok = true;
	tap_skip_reason = NULL;
	test();
	tap_count++;
	tap_failed += !tap_ok;
	printf("%sok %d - ", tap_ok ? "" : "not ", tap_count);
	for (; *name; name++)
		putchar(*name == '_' ? ' ' : *name);
	if (tap_skip_reason)
		printf(" # SKIP %s", tap_skip_reason);
	putchar('\n');
	fflush(stdout);
}

#define RUN(test) tap_run(#test, test)

static inline int tap_end(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed ? 1 : 0;
}
