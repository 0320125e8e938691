// SPDX-License-Identifier: MIT
/*
 * Prints how long each thread of a profile was there: `lives FILE`, a line "TID NANOSECONDS" each.
 */
#include <stdio.h>

#include "base/error.h"
#include "profile/reader.h"

static int print_lives(struct profile_reader *r)
{
	struct profile_event e;
	int more;

	while ((more = profile_reader_next(r, &e)) > 0)
		if (e.kind == EVENT_LIFE)
			printf("%u %llu\n", profile_thread(r, e.life.thread)->tid,
				(unsigned long long)e.life.duration_ns);
	return more;
}

int main(int argc, char **argv)
{
	struct profile_reader *r = NULL;
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: lives FILE\n");
		return 2;
	}
	error = profile_reader_open(&r, argv[1]);
	error = error ?: print_lives(r);
	if (error)
		fprintf(stderr, "lives: %s\n", error_text());
	profile_reader_close(r);
	return error ? 1 : 0;
}
