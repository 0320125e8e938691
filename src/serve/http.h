/* SPDX-License-Identifier: MIT */
/*
 * A small HTTP server, which answers GET and HEAD.
 *
 * Everything happens in the thread that calls http_run: the caller polls http_fd beside its own
 * descriptors, for at most http_timeout_ms, and then calls it. What an answer needs is done in that
 * call, so one request at a time is answered.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct http_server;
struct http_request;

/* Comes zeroed but for the status, 200. */
struct http_answer {
	unsigned int status;
	const char *type; /* of its contents: "text/html; charset=utf-8" */
	/* what the page may load (Content-Security-Policy); NULL: anything */
	const char *policy;
	struct buf text; /* is taken over */
};

/* NULL: there is none of that name. */
const char *http_argument(const struct http_request *q, const char *name);
const char *http_header(const struct http_request *q, const char *name);
/* Without the arguments: "/metrics". */
const char *http_path(const struct http_request *q);

/* A status, and one line of text. */
void http_say(struct http_answer *a, unsigned int status, const char *line);

/* 0, or -ENOSYS with error_text: not in this build, or its library is not installed. */
int http_check(void);
/*
 * Binds to an address: "127.0.0.1:9100", "[::1]:9100", "localhost:9100"; port 0 is one that is
 * free; a path, which has a '/', is that of a Unix socket (serve/socket.h). Nothing is answered
 * before http_start. 0, or -errno with error_text: -EINVAL (no address), -EADDRINUSE, -EACCES,
 * -ENOSYS (as http_check).
 */
int http_open(const char *address, struct http_server **ret);
void http_close(struct http_server *s);
/* "127.0.0.1:9100": where it can be reached; or a path. */
const char *http_address(const struct http_server *s);
/* From now on requests go to `answer`. 0 or -errno with error_text. */
int http_start(struct http_server *s,
	void (*answer)(void *context, const struct http_request *q, struct http_answer *ret),
	void *context);
/* Readable when there is something to do; for poll(). */
int http_fd(const struct http_server *s);
/* -1: nothing has to be done in time. */
int http_timeout_ms(const struct http_server *s);
/* Does what there is to do, without waiting: 0 or -errno with error_text. */
int http_run(struct http_server *s);
