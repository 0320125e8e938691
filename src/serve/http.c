// SPDX-License-Identifier: MIT
/*
 * libmicrohttpd without threads of its own: the caller polls our epoll descriptor, and all work is
 * done in http_run. The socket is ours (socket.h), to report what is wrong with an address, and to
 * listen at the given one only ("[::]:9100" is not IPv4 as well).
 *
 * Limits keep a client from holding on to us: connections, time and memory. The library ends a
 * connection after a time without a byte, and accepts nobody while all places are taken. So
 * connections are accepted and ended here (clients.h).
 */
#include "serve/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/printable.h"
#include "serve/clients.h"
#include "serve/microhttpd.h"
#include "serve/socket.h"

struct http_server {
	struct serve_socket socket;
	int epoll;		   /* it, and the daemon's; -1 before start */
	struct MHD_Daemon *daemon; /* NULL before start */
	void (*answer)(void *context, const struct http_request *q, struct http_answer *ret);
	void *context;
	uint64_t next_end_ns; /* of a client that is late; UINT64_MAX: of none */
	struct serve_clients clients;
};

struct http_request {
	struct MHD_Connection *connection;
	const char *path;
};

/* What this is compiled with is 0.9.71 or later: MHD_Result has been an enum since. */
#if MHD_VERSION < 0x00097002
typedef int mhd_result;
#else
typedef enum MHD_Result mhd_result;
#endif

int http_check(void)
{
	return microhttpd_load();
}

int http_open(const char *address, struct http_server **ret)
{
	struct http_server *s;
	int error = microhttpd_load();

	if (error)
		return error;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_memory(NULL);
	s->epoll = -1;
	error = serve_socket_open(&s->socket, address);
	if (error) {
		http_close(s);
		return error;
	}
	*ret = s;
	return 0;
}

void http_close(struct http_server *s)
{
	if (!s)
		return;
	if (s->daemon)
		mhd.stop_daemon(s->daemon);
	if (s->epoll >= 0)
		close(s->epoll);
	serve_socket_close(&s->socket);
	free(s);
}

const char *http_address(const struct http_server *s)
{
	return s->socket.address;
}

/* ------------------------------------------------------------------ requests */

const char *http_argument(const struct http_request *q, const char *name)
{
	return mhd.lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *http_header(const struct http_request *q, const char *name)
{
	return mhd.lookup_connection_value(q->connection, MHD_HEADER_KIND, name);
}

const char *http_path(const struct http_request *q)
{
	return q->path;
}

void http_say(struct http_answer *a, unsigned int status, const char *line)
{
	a->status = status;
	a->type = "text/plain; charset=utf-8";
	buf_reset(&a->text);
	printable_puts(&a->text, line);
	buf_putc(&a->text, '\n');
}

/* Takes the text over. */
static mhd_result reply(struct MHD_Connection *c, struct http_answer *a)
{
	struct MHD_Response *r = a->text.failed ? NULL
						: mhd.create_response_from_buffer(a->text.size,
							  a->text.data, MHD_RESPMEM_MUST_FREE);
	mhd_result result;

	if (!r) {
		buf_release(&a->text);
		return MHD_NO;
	}
	a->text = BUF_INIT;
	(void)mhd.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
	(void)mhd.add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	(void)mhd.add_response_header(r, "X-Content-Type-Options", "nosniff");
	(void)mhd.add_response_header(r, "Referrer-Policy", "no-referrer");
	if (a->policy)
		(void)mhd.add_response_header(r, "Content-Security-Policy", a->policy);
	if (a->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)mhd.add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = mhd.queue_response(c, a->status, r);
	mhd.destroy_response(r);
	return result;
}

/* A body that somebody sends with a GET is read and dropped, in the calls before the last. */
static mhd_result answer_request(void *context, struct MHD_Connection *c, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **request)
{
	const struct http_request q = {c, url};
	struct http_answer a = {.status = MHD_HTTP_OK};
	struct http_server *s = context;
	uint64_t from_ns;

	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
		http_say(&a, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD are answered");
		return reply(c, &a);
	}
	if (!*request) {
		*request = s;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0;
		return MHD_YES;
	}
	from_ns = clock_now_ns();
	s->answer(s->context, &q, &a);
	serve_clients_answered(&s->clients, from_ns, clock_now_ns());
	return reply(c, &a);
}

/* ------------------------------------------------------------------ clients */

static struct serve_client *client_of(struct MHD_Connection *c)
{
	return mhd.get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static void note_connection(void *context, struct MHD_Connection *c, void **client,
	enum MHD_ConnectionNotificationCode what)
{
	struct http_server *s = context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*client = serve_clients_add(&s->clients,
			mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
			clock_now_ns());
	else if (*client)
		serve_client_remove(*client);
}

/* The first line of a request is there. */
static void *note_request(void *context, const char *uri, struct MHD_Connection *c)
{
	(void)context;
	(void)uri;
	if (client_of(c))
		serve_client_begins(client_of(c), clock_now_ns());
	return NULL;
}

static void note_answer(void *context, struct MHD_Connection *c, void **request,
	enum MHD_RequestTerminationCode how)
{
	(void)context;
	(void)request;
	(void)how;
	if (client_of(c))
		serve_client_finished(client_of(c), clock_now_ns());
}

static int make_epoll(struct http_server *s)
{
	struct epoll_event event = {.events = EPOLLIN};
	int library = mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->epoll < 0 || epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->socket.fd, &event) ||
		epoll_ctl(s->epoll, EPOLL_CTL_ADD, library, &event))
		return error_errno(-errno, "cannot serve at '%s'", s->socket.address);
	return 0;
}

int http_start(struct http_server *s,
	void (*answer)(void *context, const struct http_request *q, struct http_answer *ret),
	void *context)
{
	s->answer = answer;
	s->context = context;
	s->next_end_ns = UINT64_MAX;
	s->daemon = mhd.start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
		answer_request, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)SERVE_CLIENTS_MAX,
		MHD_OPTION_NOTIFY_CONNECTION, note_connection, s, MHD_OPTION_URI_LOG_CALLBACK,
		note_request, s, MHD_OPTION_NOTIFY_COMPLETED, note_answer, s, MHD_OPTION_END);
	if (!s->daemon)
		return error_set(-EIO, "libmicrohttpd cannot serve at '%s'", s->socket.address);
	return make_epoll(s);
}

/* ------------------------------------------------------------------ the caller's loop */

int http_fd(const struct http_server *s)
{
	return s->epoll;
}

int http_timeout_ms(const struct http_server *s)
{
	uint64_t now_ns = clock_now_ns(), ms = INT32_MAX;
	MHD_UNSIGNED_LONG_LONG wanted_ms;

	if (s->next_end_ns != UINT64_MAX)
		ms = s->next_end_ns > now_ns ? (s->next_end_ns - now_ns) / NS_PER_MS + 1 : 0;
	if (mhd.get_timeout(s->daemon, &wanted_ms) == MHD_YES && wanted_ms < ms)
		ms = wanted_ms;
	return ms < INT32_MAX ? (int)ms : -1;
}

static int run_library(struct http_server *s)
{
	if (mhd.run(s->daemon) != MHD_YES)
		return error_set(-EIO, "libmicrohttpd stopped serving at '%s'", s->socket.address);
	return 0;
}

/* The next one that waits: 1, or 0 when nobody does. */
static int accept_client(struct http_server *s)
{
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	int fd = accept4(
		s->socket.fd, (struct sockaddr *)&from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int error;

	if (fd < 0)
		return 0;
	serve_clients_make_room(&s->clients);
	error = run_library(s);
	/* Closes it, also where it cannot take it. */
	mhd.add_connection(s->daemon, fd, (struct sockaddr *)&from, size);
	return error ?: 1;
}

/* At most so many in turn as there are places, lest the caller waits. */
static int accept_clients(struct http_server *s)
{
	int more = 1;

	for (size_t i = 0; i < SERVE_CLIENTS_MAX && more > 0; i++)
		more = accept_client(s);
	return more < 0 ? more : run_library(s);
}

int http_run(struct http_server *s)
{
	int error = run_library(s);

	error = error ?: accept_clients(s);
	if (!error)
		s->next_end_ns = serve_clients_end_late(&s->clients, clock_now_ns());
	return error;
}
