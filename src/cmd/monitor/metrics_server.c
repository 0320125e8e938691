// SPDX-License-Identifier: MIT
#include "cmd/monitor/metrics_server.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "monitor/metrics/exposition.h"
#include "monitor/metrics/metrics.h"
#include "serve/http.h"

#define HOUSEKEEPING_NS (10 * NS_PER_SECOND)

struct metrics_server {
	struct http_server *http;
	struct metrics_source source;
	struct accounts accounts;
	struct vec(struct watch_event_status) events;
	uint64_t start_ns;
	uint64_t updated_ns;
	int error; /* of a request, for the caller of metrics_server_run */
};

int metrics_server_open(const char *address, struct metrics_server **ret)
{
	struct metrics_server *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_memory(NULL);
	error = http_open(address, &s->http);
	error = error ?: accounts_init(&s->accounts, "");
	if (error) {
		metrics_server_close(s);
		return error;
	}
	*ret = s;
	return 0;
}

void metrics_server_close(struct metrics_server *s)
{
	if (!s)
		return;
	http_close(s->http);
	accounts_release(&s->accounts);
	vec_release(&s->events);
	free(s);
}

const char *metrics_server_address(const struct metrics_server *s)
{
	return http_address(s->http);
}

/* ------------------------------------------------------------------ the text */

static int fetch(struct metrics_server *s, struct totals *ret)
{
	struct totals t = TOTALS_INIT;
	uint64_t now_ns = clock_now_ns();
	int error = s->source.fetch(s->source.context, &t);

	error = error
			?: accounts_update(&s->accounts, &t, s->source.monitor, s->source.watch,
				   s->source.busy, now_ns, s->source.quiet_ns);
	if (error) {
		totals_release(&t);
		return error;
	}
	s->updated_ns = now_ns;
	*ret = t;
	return 0;
}

static int fetch_events(struct metrics_server *s)
{
	size_t count = monitor_event_count(s->source.monitor);
	int error = 0;

	s->events.count = 0;
	for (size_t e = 0; e < count && !error; e++) {
		struct watch_event_status status = {0};

		error = watch_status(s->source.watch, e, &status);
		error = error ?: vec_push(&s->events, status);
	}
	return error;
}

static int write_fetched(struct metrics_server *s, const struct totals *t, struct buf *out)
{
	const struct metrics_source *from = &s->source;
	struct held_list held = HELD_LIST_INIT;
	int error = fetch_events(s);

	error = error
			?: held_fetch(from->monitor, from->watch, s->events.items, from->pid,
				   from->ring, &held);
	if (!error) {
		struct metrics_input in = {
			.monitor = from->monitor,
			.totals = t,
			.accounts = &s->accounts,
			.held = &held,
			.events = s->events.items,
			.watched_ns = clock_now_ns() - s->start_ns,
		};

		error = metrics_write(&in, out);
	}
	held_list_release(&held);
	return error;
}

static int write_metrics(struct metrics_server *s, struct buf *out)
{
	struct totals t = TOTALS_INIT;
	int error = fetch(s, &t);

	error = error ?: write_fetched(s, &t, out);
	totals_release(&t);
	return error;
}

/* ------------------------------------------------------------------ requests */

static void answer_metrics(struct metrics_server *s, struct http_answer *a)
{
	int error = write_metrics(s, &a->text);

	a->type = EXPOSITION_CONTENT_TYPE;
	if (!error)
		return;
	s->error = error;
	http_say(a, 500, error_text());
}

static void answer_page(const struct metrics_server *s, struct http_answer *a)
{
	a->type = "text/html; charset=utf-8";
	buf_printf(&a->text,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>xpuprof "
		"monitor %s</title>"
		"</head>\n<body><h1>xpuprof monitor %s</h1>\n<p><a "
		"href=\"/metrics\">Metrics</a></p></body></html>\n",
		s->source.monitor->name, s->source.monitor->name);
}

static void answer(void *context, const struct http_request *q, struct http_answer *ret)
{
	const char *path = http_path(q);

	if (!strcmp(path, "/metrics"))
		answer_metrics(context, ret);
	else if (!strcmp(path, "/"))
		answer_page(context, ret);
	else
		http_say(ret, 404, "not found: there is /metrics");
}

int metrics_server_start(struct metrics_server *s, const struct metrics_source *source)
{
	s->source = *source;
	s->start_ns = s->updated_ns = clock_now_ns();
	return http_start(s->http, answer, s);
}

/* ------------------------------------------------------------------ the caller's loop */

int metrics_server_fd(const struct metrics_server *s)
{
	return http_fd(s->http);
}

int metrics_server_timeout_ms(const struct metrics_server *s)
{
	uint64_t now_ns = clock_now_ns(), next_ns = s->updated_ns + HOUSEKEEPING_NS;
	int own_ms = next_ns > now_ns ? (int)((next_ns - now_ns) / NS_PER_MS + 1) : 0,
	    ms = http_timeout_ms(s->http);

	return ms >= 0 && ms < own_ms ? ms : own_ms;
}

/* Also when nobody asks: ended processes are let go, and containers get their names while they are
 * there. */
static int keep_house(struct metrics_server *s)
{
	struct totals t = TOTALS_INIT;
	int error;

	if (clock_now_ns() - s->updated_ns < HOUSEKEEPING_NS)
		return 0;
	error = fetch(s, &t);
	totals_release(&t);
	return error;
}

int metrics_server_run(struct metrics_server *s)
{
	int error;

	s->error = 0;
	error = http_run(s->http);
	error = error ?: s->error;
	return error ?: keep_house(s);
}

int metrics_server_add_ended(const struct metrics_server *s, struct totals *t)
{
	return accounts_add_ended(&s->accounts, t);
}
