// SPDX-License-Identifier: MIT
#include "page/access.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/error.h"

int access_init(struct access *a)
{
	uint8_t random[ACCESS_SECRET_HEX / 2];
	char *to = a->prefix;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return error_errno(-errno, "cannot make a secret address");
	*to++ = '/';
	for (size_t i = 0; i < sizeof(random); i++)
		to += snprintf(to, 3, "%02x", random[i]);
	*to++ = '/';
	*to = '\0';
	return 0;
}

/* In a time that does not depend on where they differ. */
static bool is_same(const char *a, const char *b, size_t size)
{
	unsigned char different = 0;

	for (size_t i = 0; i < size; i++)
		different |= (unsigned char)(a[i] ^ b[i]);
	return !different;
}

/* At whatever port: ssh may forward another one. */
static bool is_this_machine(const char *host)
{
	static const char *const names[] = {"127.0.0.1:", "localhost:", "[::1]:"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(host, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Of the page that was asked for at this host. */
static bool is_origin(const char *origin, const char *host)
{
	static const char scheme[] = "http://";

	return !strncmp(origin, scheme, sizeof(scheme) - 1) &&
	       !strcmp(origin + sizeof(scheme) - 1, host);
}

const char *access_check(const struct access *a, const struct http_request *q)
{
	const char *host = http_header(q, "Host"), *origin = http_header(q, "Origin"),
		   *path = http_path(q);
	size_t size = strlen(a->prefix);

	if (!host || !is_this_machine(host) || (origin && !is_origin(origin, host)))
		return NULL;
	return strlen(path) >= size && is_same(path, a->prefix, size) ? path + size : NULL;
}
