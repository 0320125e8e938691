// SPDX-License-Identifier: MIT
/*
 * What a recording says of itself while it grows. Names of code are looked up a little at a time:
 * each place in code once, soon after it was seen first. What cannot be named stays without.
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "record/joins.h"
#include "record/session_internal.h"
#include "symbolize/symbolize.h"

/* The rings of the kernel have room for this long. What takes longer gets twice the time, so
 * that it does not hold up all that comes behind it for ever. */
#define NAMING_NS     (200 * NS_PER_MS)
#define NAMING_MAX_NS (5 * NS_PER_SECOND)

static bool naming_is_over(void *context)
{
	const struct session *s = context;

	return clock_now_ns() > s->naming_until_ns;
}

/* Whoever opens and reads files for the recording has one question at a time. */
static bool is_reader_busy(const struct session *s)
{
	const struct files_processes p =
		s->capture ? capture_files_processes(s->capture) : (struct files_processes){0};

	return (p.opener && child_is_busy(p.opener)) || (p.reader && child_is_busy(p.reader));
}

static int name_new_code(struct session *s)
{
	const struct session_naming how = {.first = s->published + 1, .stopped = naming_is_over};
	uint32_t count = profile_writer_location_count(s->writer);
	struct symbolize_stats stats = {0};
	int error;

	if (count == s->published || is_reader_busy(s))
		return 0;
	s->naming_ns = s->naming_ns ?: NAMING_NS;
	s->naming_until_ns = clock_now_ns() + s->naming_ns;
	error = session_name_code(s, &how, &stats);
	if (!error && !stats.stopped) {
		s->published = count;
		s->naming_ns = NAMING_NS;
	} else if (s->naming_ns < NAMING_MAX_NS) {
		s->naming_ns *= 2;
	}
	return error;
}

struct unseen {
	const struct session *s;
	struct buf *lines;
};

static void add_unconnected(void *context, uint32_t pid, uint32_t process, int api)
{
	struct unseen *u = context;

	if (!gpu_has_connected(u->s->gpu, process) && !gpu_is_probed(u->s->gpu, process))
		buf_printf(u->lines,
			"the GPU work of process %" PRIu32
			" is not recorded: it has a GPU driver in memory, and the library that "
			"records is not (yet) in it\n",
			pid);
}

static void add_ended(void *context, const char *lines, enum gpu_missing what)
{
	struct unseen *u = context;

	if (what == GPU_MISSING_WORK)
		buf_puts(u->lines, lines);
}

static void find_unseen(const struct session *s, struct buf *lines)
{
	struct unseen u = {.s = s, .lines = lines};

	if (!gpu_is_open(s->gpu))
		return;
	buf_puts(lines, buf_text(&s->refusals));
	if (s->capture && !s->joins)
		capture_each_gpu_process(s->capture, add_unconnected, &u);
	gpu_each_refusal(s->gpu, add_ended, &u);
}

static int describe_unseen(struct session *s)
{
	struct buf lines = BUF_INIT;
	int error = 0;

	find_unseen(s, &lines);
	if (lines.failed) {
		error = error_memory(NULL);
	} else if (strcmp(buf_text(&lines), buf_text(&s->unseen)) != 0) {
		error = profile_set_meta(s->writer, META_UNSEEN, buf_text(&lines));
		buf_release(&s->unseen);
		s->unseen = lines;
		lines = BUF_INIT;
	}
	buf_release(&lines);
	return error;
}

int session_publish(struct session *s)
{
	int error = name_new_code(s);

	error = error ?: describe_unseen(s);
	return error ?: profile_writer_push(s->writer);
}
