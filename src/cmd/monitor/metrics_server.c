// SPDX-License-Identifier: MIT
/*
 * libmicrohttpd without threads of its own: the caller polls our epoll descriptor, and all work is
 * done in metrics_server_run. The socket is ours (metrics_socket.h), to report what is wrong with
 * an address, and to listen at the given one only ("[::]:9100" is not IPv4 as well).
 *
 * Limits keep a client from holding on to us: connections, time and memory. The library ends a
 * connection after a time without a byte, and accepts nobody while all places are taken. So
 * connections are accepted and ended here (metrics_clients.h).
 */
#include "cmd/monitor/metrics_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "cmd/monitor/metrics_clients.h"
#include "cmd/monitor/metrics_socket.h"
#include "monitor/metrics/exposition.h"
#include "monitor/metrics/metrics.h"

#define HOUSEKEEPING_NS (10 * NS_PER_SECOND)

struct metrics_server {
	struct metrics_socket socket;
	int epoll;		   /* it, and the daemon's; -1 before start */
	struct MHD_Daemon *daemon; /* NULL before start */
	struct metrics_source source;
	struct accounts accounts;
	struct vec(struct watch_event_status) events;
	uint64_t start_ns;
	uint64_t updated_ns;
	uint64_t next_end_ns; /* of a client that is late; UINT64_MAX: of none */
	struct metrics_clients clients;
	int error; /* of a request, for the caller of metrics_server_run */
};

/* What this is compiled with is 0.9.71 or later: MHD_Result has been an enum since. */
#if MHD_VERSION < 0x00097002
typedef int answer;
#else
typedef enum MHD_Result answer;
#endif

bool metrics_server_supported(void)
{
	return true;
}

int metrics_server_open(const char *address, struct metrics_server **ret)
{
	struct metrics_server *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_memory(NULL);
	s->epoll = -1;
	error = metrics_socket_open(&s->socket, address);
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
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->epoll >= 0)
		close(s->epoll);
	metrics_socket_close(&s->socket);
	accounts_release(&s->accounts);
	vec_release(&s->events);
	free(s);
}

const char *metrics_server_address(const struct metrics_server *s)
{
	return s->socket.address;
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

/* Takes the text over. */
static answer reply(
	struct MHD_Connection *c, unsigned int status, const char *type, struct buf *text)
{
	struct MHD_Response *r =
		MHD_create_response_from_buffer(text->size, text->data, MHD_RESPMEM_MUST_FREE);
	answer a;

	if (!r) {
		buf_release(text);
		return MHD_NO;
	}
	*text = BUF_INIT;
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	(void)MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	a = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return a;
}

static answer reply_line(struct MHD_Connection *c, unsigned int status, const char *line)
{
	struct buf text = BUF_INIT;

	printable_puts(&text, line);
	buf_putc(&text, '\n');
	return reply(c, status, "text/plain; charset=utf-8", &text);
}

static answer reply_metrics(struct metrics_server *s, struct MHD_Connection *c)
{
	struct buf text = BUF_INIT;
	int error = write_metrics(s, &text);

	if (!error)
		return reply(c, MHD_HTTP_OK, EXPOSITION_CONTENT_TYPE, &text);
	buf_release(&text);
	s->error = error;
	return reply_line(c, MHD_HTTP_INTERNAL_SERVER_ERROR, error_text());
}

static answer reply_page(struct metrics_server *s, struct MHD_Connection *c)
{
	struct buf page = BUF_INIT;

	buf_printf(&page,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>xpuprof "
		"monitor %s</title>"
		"</head>\n<body><h1>xpuprof monitor %s</h1>\n<p><a "
		"href=\"/metrics\">Metrics</a></p></body></html>\n",
		s->source.monitor->name, s->source.monitor->name);
	return reply(c, MHD_HTTP_OK, "text/html; charset=utf-8", &page);
}

/* A body that somebody sends with a GET is read and dropped, in the calls before the last. */
static answer answer_request(void *context, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **request)
{
	struct metrics_server *s = context;

	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return reply_line(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered");
	if (!*request) {
		*request = s;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	if (!strcmp(url, "/metrics"))
		return reply_metrics(s, c);
	if (!strcmp(url, "/"))
		return reply_page(s, c);
	return reply_line(c, MHD_HTTP_NOT_FOUND, "not found: there is /metrics");
}

/* ------------------------------------------------------------------ clients */

static struct metrics_client *client_of(struct MHD_Connection *c)
{
	return MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void note_connection(void *context, struct MHD_Connection *c, void **client,
	enum MHD_ConnectionNotificationCode what)
{
	struct metrics_server *s = context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*client = metrics_clients_add(&s->clients,
			MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
			clock_now_ns());
	else if (*client)
		metrics_client_remove(*client);
}

/* The first line of a request is there. */
static void *note_request(void *context, const char *uri, struct MHD_Connection *c)
{
	(void)context;
	(void)uri;
	if (client_of(c))
		metrics_client_begins(client_of(c), clock_now_ns());
	return NULL;
}

static void note_answer(void *context, struct MHD_Connection *c, void **request,
	enum MHD_RequestTerminationCode how)
{
	(void)context;
	(void)request;
	(void)how;
	if (client_of(c))
		metrics_client_finished(client_of(c), clock_now_ns());
}

static int make_epoll(struct metrics_server *s)
{
	struct epoll_event event = {.events = EPOLLIN};
	int library = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->socket.fd, &event) ||
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, library, &event))
		return error_errno(-errno, "cannot serve metrics at '%s'", s->socket.address);
	return 0;
}

int metrics_server_start(struct metrics_server *s, const struct metrics_source *source)
{
	s->source = *source;
	s->start_ns = s->updated_ns = clock_now_ns();
	s->next_end_ns = UINT64_MAX;
	s->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
		answer_request, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)METRICS_CLIENTS_MAX,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, s, MHD_OPTION_URI_LOG_CALLBACK,
		note_request, s, MHD_OPTION_NOTIFY_COMPLETED, note_answer, s, MHD_OPTION_END);
	if (!s->daemon)
		return error_set(
			-EIO, "libmicrohttpd cannot serve metrics at '%s'", s->socket.address);
	return make_epoll(s);
}

/* ------------------------------------------------------------------ the caller's loop */

int metrics_server_fd(const struct metrics_server *s)
{
	return s->epoll;
}

int metrics_server_timeout_ms(const struct metrics_server *s)
{
	uint64_t now_ns = clock_now_ns(), next_ns = s->updated_ns + HOUSEKEEPING_NS, ms;
	MHD_UNSIGNED_LONG_LONG wanted_ms;

	if (s->next_end_ns < next_ns)
		next_ns = s->next_end_ns;
	ms = next_ns > now_ns ? (next_ns - now_ns) / NS_PER_MS + 1 : 0;

	if (MHD_get_timeout(s->daemon, &wanted_ms) == MHD_YES && wanted_ms < ms)
		ms = wanted_ms;
	return (int)ms;
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

static int run_library(struct metrics_server *s)
{
	if (MHD_run(s->daemon) != MHD_YES)
		return error_set(
			-EIO, "libmicrohttpd stopped serving metrics at '%s'", s->socket.address);
	return s->error;
}

/* The next one that waits: 1, or 0 when nobody does. */
static int accept_client(struct metrics_server *s)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	int fd = accept4(
		s->socket.fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int error;

	if (fd < 0)
		return 0;
	metrics_clients_make_room(&s->clients);
	error = run_library(s);
	/* Closes it, also where it cannot take it. */
	MHD_add_connection(s->daemon, fd, (struct sockaddr *)&from, size);
	return error ?: 1;
}

/* At most so many in turn as there are places, lest the caller waits. */
static int accept_clients(struct metrics_server *s)
{
	int more = 1;

	for (size_t i = 0; i < METRICS_CLIENTS_MAX && more > 0; i++)
		more = accept_client(s);
	return more < 0 ? more : run_library(s);
}

int metrics_server_run(struct metrics_server *s)
{
	int error;

	s->error = 0;
	error = run_library(s);
	error = error ?: accept_clients(s);
	if (error)
		return error;
	s->next_end_ns = metrics_clients_end_late(&s->clients, clock_now_ns());
	return keep_house(s);
}

int metrics_server_add_ended(const struct metrics_server *s, struct totals *t)
{
	return accounts_add_ended(&s->accounts, t);
}
