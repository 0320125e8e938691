// SPDX-License-Identifier: MIT
/* Replaces http.c where libmicrohttpd is missing. */
#include "serve/http.h"

#include <errno.h>

#include "base/error.h"

int http_check(void)
{
	return error_set(-ENOSYS, "this build cannot serve anything: libmicrohttpd was missing");
}

int http_open(const char *address, struct http_server **ret)
{
	return http_check();
}

void http_close(struct http_server *s)
{
}

const char *http_address(const struct http_server *s)
{
	return "";
}

int http_start(struct http_server *s,
	void (*answer)(void *context, const struct http_request *q, struct http_answer *ret),
	void *context)
{
	return -ENOSYS;
}

const char *http_argument(const struct http_request *q, const char *name)
{
	return NULL;
}

const char *http_header(const struct http_request *q, const char *name)
{
	return NULL;
}

const char *http_path(const struct http_request *q)
{
	return "";
}

void http_say(struct http_answer *a, unsigned int status, const char *line)
{
}

int http_fd(const struct http_server *s)
{
	return -1;
}

int http_timeout_ms(const struct http_server *s)
{
	return -1;
}

int http_run(struct http_server *s)
{
	return -ENOSYS;
}
