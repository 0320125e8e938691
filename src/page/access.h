/* SPDX-License-Identifier: MIT */
/*
 * Who is answered. Other users of this machine can connect to the port, and so can the script of
 * any site that the browser shows. Against these:
 *
 *	the secret in the address	which only the terminal and the browser have
 *	the Host header			is of this machine, not a name that somebody made to mean 127.0.0.1
 *	the Origin header		where there is one, is that host
 */
#pragma once

#include <stdbool.h>

#include "serve/http.h"

#define ACCESS_SECRET_HEX 32 /* 128 bits */

struct access {
	char prefix[ACCESS_SECRET_HEX + 3]; /* "/SECRET/" */
};

/* 0 or -errno with error_text. */
int access_init(struct access *a);
/* What of the path is behind the secret, "" at least; NULL: not to be answered. */
const char *access_check(const struct access *a, const struct http_request *q);
