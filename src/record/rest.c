// SPDX-License-Identifier: MIT
#include "record/rest.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/text.h"
#include "capture/running.h"
#include "record/session_internal.h"

#define NAMED_MAX	      8
#define NAME_COLUMNS	      40
#define ENVIRONMENT_MAX_BYTES ((size_t)2 << 20)
#define SEARCH_PERIOD_NS      (50 * NS_PER_MS)

struct rest {
	const struct session *s;
	struct buf *names; /* may be NULL */
	size_t count;
};

static void add_name(struct rest *r, uint32_t pid)
{
	struct buf name = BUF_INIT;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	if (!io_read_file(path, 256, &name) && name.size && name.data[name.size - 1] == '\n')
		name.data[name.size - 1] = '\0';
	buf_puts(r->names, r->count > 1 ? ", " : "");
	text_fit(r->names, buf_text(&name), NAME_COLUMNS);
	buf_printf(r->names, " (%u)", pid);
	buf_release(&name);
}

static bool add(struct rest *r, uint32_t pid)
{
	if (++r->count <= NAMED_MAX && r->names)
		add_name(r, pid);
	return r->names;
}

/* Samples of a process while it ends may come after its end, or that may have been lost. */
static bool add_followed(void *context, uint32_t pid)
{
	return !running_is_alive(pid) || add(context, pid);
}

/* Whether one of the strings is `wanted`; each ends in a NUL. */
static bool has_string(const struct buf *strings, const char *wanted)
{
	size_t size = strlen(wanted) + 1;
	const char *at = strings->data, *end = at + strings->size;

	while (at && at < end) {
		const char *next = memchr(at, '\0', (size_t)(end - at));

		if (next && (size_t)(next + 1 - at) == size && !memcmp(at, wanted, size))
			return true;
		at = next ? next + 1 : end;
	}
	return false;
}

/* One that has ended and was not reaped yet has no environment. */
static int add_if_ours(void *context, uint32_t pid)
{
	struct rest *r = context;
	struct buf environment = BUF_INIT;
	bool found, more = true;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	found = pid != (uint32_t)getpid() &&
		!io_read_file(path, ENVIRONMENT_MAX_BYTES, &environment) &&
		has_string(&environment, buf_text(&r->s->mark));
	if (found)
		more = add(r, pid);
	buf_release(&environment);
	return !more;
}

size_t rest_count(const struct session *s, struct buf *names)
{
	struct rest r = {.s = s, .names = names};

	if (s->capture && capture_samples(s->capture))
		capture_each_followed(s->capture, add_followed, &r);
	else if (s->mark.size)
		(void)running_each(add_if_ours, &r);
	if (names && r.count > NAMED_MAX)
		buf_printf(names, " and %zu more", r.count - NAMED_MAX);
	return r.count;
}

/* A search is not for every round. */
static bool something_runs(struct session *s, uint64_t now_ns)
{
	if (s->capture && capture_samples(s->capture))
		return rest_count(s, NULL);
	if (now_ns < s->rest_search_ns)
		return true;
	s->rest_search_ns = now_ns + SEARCH_PERIOD_NS;
	return rest_count(s, NULL);
}

bool rest_is_awaited(struct session *s)
{
	uint64_t now_ns = clock_now_ns();

	if (!s->rest_until_ns)
		s->rest_until_ns = now_ns + s->options.wait_ns;
	return now_ns < s->rest_until_ns && !s->stop_requested && something_runs(s, now_ns);
}

int rest_report(struct session *s)
{
	struct buf names = BUF_INIT;
	size_t count = s->command_ended ? rest_count(s, &names) : 0;

	if (count)
		buf_printf(&s->refusals, "still running: %s; not recorded further\n",
			buf_text(&names));
	buf_release_for(&names, &s->refusals);
	if (s->refusals.failed)
		return error_memory(NULL);
	return profile_count_loss(s->writer, LOSS_STILL_RUNNING, count);
}
