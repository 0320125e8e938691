// SPDX-License-Identifier: MIT
/*
 * A monitor of signals, which every kernel has, served like those of GPU drivers: prints the
 * address, serves until its input ends, and then prints how many signals of which number it
 * counted.
 *
 *	serve_metrics ADDRESS:PORT
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/monitor/metrics_server.h"
#include "monitor/watch.h"

enum { SERIES_SENT, SERIES_DELIVERY };

static const struct monitor_event events[] = {
	{
		.name = "SEND",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "signal:signal_generate",
			.fields = {{"signal", "sig", FIELD_NUMBER, .needed = true},
				{"target", "pid", FIELD_NUMBER, .needed = true}}}},
		.acts = {{.kind = ACT_OPEN,
			.object = 0,
			.key = {"target", "signal"},
			.label = {"signal"}}},
		.counts = {{SERIES_SENT, VALUE_ONE, .label = {"signal"}}},
		.label = {"signal"},
	},
	{
		.name = "DELIVER",
		.sources = {{.kind = SOURCE_TRACEPOINT,
			.name = "signal:signal_deliver",
			.fields = {{"signal", "sig", FIELD_NUMBER, .needed = true},
				{"thread", NULL, FIELD_THREAD}}}},
		.acts = {{.kind = ACT_CLOSE,
			.object = 0,
			.stage = 1,
			.key = {"thread", "signal"},
			.recurs = true}},
		.counts = {{SERIES_DELIVERY, VALUE_DURATION, .act = 0, .from = 0,
			.label = {"signal"}}},
		.label = {"signal"},
	},
	{
		.name = "MISSING",
		.sources = {{.kind = SOURCE_TRACEPOINT, .name = "signal:no_such_event"}},
	},
	{0},
};

static const struct monitor_series series[] = {
	[SERIES_SENT] = {.name = "sent",
		.title = "Signals",
		.by_process = true,
		.label = {"signal"},
		.metric = "signals_sent",
		.help = "Signals sent"},
	[SERIES_DELIVERY] = {.name = "delivery",
		.title = "Delivery",
		.unit = UNIT_NANOSECONDS,
		.histogram = true,
		.by_process = true,
		.busy = true,
		.label = {"signal"},
		.metric = "signal_delivery",
		.help = "Time between a signal being sent and being delivered"},
	{0},
};

static const struct monitor signals = {
	.name = "signals",
	.events = events,
	.objects =
		(const struct monitor_object_row[]){
			{.name = "signal", .left = "signals that were not delivered"}, {0}},
	.series = series,
};

struct serving {
	struct watch *watch;
	struct busy_times *busy;
	struct metrics_server *server;
};

static int take_span(void *context, const struct monitor_span *s)
{
	struct serving *v = context;

	return busy_times_add(v->busy, s);
}

static int read_spans(struct serving *v)
{
	return watch_read(v->watch, &(struct watch_sink){.context = v, .span = take_span});
}

static int fetch(void *context, struct totals *ret)
{
	struct serving *v = context;
	int error = read_spans(v);

	return error ?: totals_fetch(&signals, v->watch, v->busy, ret);
}

static int serve(struct serving *v)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = metrics_server_fd(v->server), .events = POLLIN},
		{.fd = watch_fd(v->watch), .events = POLLIN}};
	int error = 0;

	while (!error && !fds[0].revents) {
		int timeout_ms = metrics_server_timeout_ms(v->server);

		if (poll(fds, 3, timeout_ms < WATCH_READ_MS ? timeout_ms : WATCH_READ_MS) < 0 &&
			errno != EINTR)
			return error_errno(-errno, "cannot poll");
		error = read_spans(v);
		error = error ?: metrics_server_run(v->server);
	}
	return error;
}

static int print_totals(struct serving *v)
{
	struct totals t = TOTALS_INIT;
	int error;

	watch_stop(v->watch);
	error = fetch(v, &t);
	error = error ?: metrics_server_add_ended(v->server, &t);
	for (size_t i = 0; !error && i < t.rows.count; i++)
		if (t.rows.items[i].series == SERIES_SENT)
			printf("%s %llu\n", t.rows.items[i].label[0],
				(unsigned long long)t.rows.items[i].count);
	totals_release(&t);
	return error;
}

static int run(struct serving *v, const char *address)
{
	const struct watch_options options = {.monitor = &signals, .above_event = -1};
	struct metrics_source source = {.monitor = &signals, .fetch = fetch, .context = v};
	struct monitor_kernel kernel = {0};
	int error = metrics_server_open(address, &v->server);

	if (error)
		return error;
	monitor_kernel_look("", &kernel);
	error = watch_open(&options, &kernel, &v->watch);
	monitor_kernel_release(&kernel);
	error = error ?: busy_times_new(&signals, &v->busy);
	source.watch = v->watch;
	source.busy = v->busy;
	error = error ?: metrics_server_start(v->server, &source);
	if (error)
		return error;
	printf("%s\n", metrics_server_address(v->server));
	fflush(stdout);
	error = serve(v);
	return error ?: print_totals(v);
}

int main(int argc, char **argv)
{
	struct serving v = {0};
	int error = argc == 2 ? run(&v, argv[1])
			      : error_set(-EINVAL, "usage: serve_metrics ADDRESS:PORT");

	if (error)
		fprintf(stderr, "serve_metrics: %s\n", error_text());
	metrics_server_close(v.server);
	if (v.watch)
		watch_close(v.watch);
	busy_times_free(v.busy);
	return error ? 1 : 0;
}
