// SPDX-License-Identifier: MIT
/*
 * A Unix socket is bound below the descriptor of its folder, so nobody can move it elsewhere by
 * replacing a part of the path; bind() itself follows no link, and replaces nothing.
 */
#include "serve/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"

#define BACKLOG	  128
#define UNIX_MODE 0660

static int failed(int error, const char *address)
{
	return error_errno(error, "cannot serve at '%s'", address);
}

/* ------------------------------------------------------------------ TCP */

static int bad_address(const char *address)
{
	return error_set(-EINVAL,
		"'%s' is no address to serve at: give ADDRESS:PORT, as in 127.0.0.1:9100 "
		"or [::1]:9100, or the path of a Unix socket, with a '/' in it",
		address);
}

/* Splits "[::1]:9100" and "127.0.0.1:9100". */
static int split_address(const char *address, char host[NI_MAXHOST], char port[NI_MAXSERV])
{
	const char *colon = strrchr(address, ':'), *start = address, *end = colon;
	char *rest;

	if (!colon)
		return bad_address(address);
	if (*address == '[') {
		start++;
		end--;
		if (end < start || *end != ']')
			return bad_address(address);
	} else if (memchr(address, ':', (size_t)(colon - address))) {
		return bad_address(address);
	}
	if (end == start || end - start >= NI_MAXHOST || strlen(colon + 1) >= NI_MAXSERV)
		return bad_address(address);
	if (strspn(colon + 1, "0123456789") != strlen(colon + 1) || !colon[1] ||
		strtoul(colon + 1, &rest, 10) > 65535)
		return bad_address(address);
	snprintf(host, NI_MAXHOST, "%.*s", (int)(end - start), start);
	snprintf(port, NI_MAXSERV, "%s", colon + 1);
	return 0;
}

/* A new socket, bound and listening: its descriptor, or -errno. */
static int bound(int fd, const struct sockaddr *address, socklen_t size)
{
	int error;

	if (!bind(fd, address, size) && !listen(fd, BACKLOG))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int make_socket(const struct addrinfo *a)
{
	int fd =
		socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
	int on = 1;

	if (fd < 0)
		return -errno;
	/* Connections of an earlier run that linger do not keep us from the port; a server that
	 * listens does. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	return bound(fd, a->ai_addr, a->ai_addrlen);
}

static int listen_at(
	struct serve_socket *s, const char *address, const char *host, const char *port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				.ai_flags = AI_PASSIVE | AI_NUMERICSERV},
			*found;
	int error = getaddrinfo(host, port, &hints, &found);

	if (error)
		return error_set(-EINVAL, "cannot serve at '%s': %s", address, gai_strerror(error));
	error = make_socket(found);
	freeaddrinfo(found);
	if (error >= 0) {
		s->fd = error;
		return 0;
	}
	if (error == -EACCES)
		return error_set(error,
			"cannot serve at '%s': ports below 1024 need root or "
			"CAP_NET_BIND_SERVICE",
			address);
	return failed(error, address);
}

/* The address that the socket is bound to, with the chosen port and the name resolved. */
static int note_address(struct serve_socket *s)
{
	struct sockaddr_storage storage;
	socklen_t size = sizeof(storage);
	char host[NI_MAXHOST], port[NI_MAXSERV];

	if (getsockname(s->fd, (struct sockaddr *)&storage, &size) < 0)
		return error_errno(-errno, "cannot find the address that is served at");
	if (getnameinfo((struct sockaddr *)&storage, size, host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV))
		return error_set(-EINVAL, "cannot find the address that is served at");
	snprintf(s->address, sizeof(s->address), strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
		port);
	return 0;
}

static int open_tcp(struct serve_socket *s, const char *address)
{
	char host[NI_MAXHOST], port[NI_MAXSERV];
	int error = split_address(address, host, port);

	error = error ?: listen_at(s, address, host, port);
	return error ?: note_address(s);
}

/* ------------------------------------------------------------------ Unix sockets */

/* By the descriptor of the folder; also short where the path is not. */
static int name_of(const struct place *p, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	return snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", p->folder,
		       p->name) < (int)sizeof(ret->sun_path)
		       ? 0
		       : -ENAMETOOLONG;
}

static bool somebody_listens(const struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)name, sizeof(*name)) &&
		       errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return !refused;
}

/* What an earlier run of ours left is removed; all else stays, and bind() refuses the name. */
static int remove_stale(const struct place *p, const struct sockaddr_un *name)
{
	struct stat st;
	int error = place_stat(p, &st);

	if (error)
		return error == -ENOENT ? 0 : error;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid() || somebody_listens(name))
		return -EADDRINUSE;
	return place_remove(p);
}

/* It has its mode from the beginning: what stands at the name later may be another's. */
static int make_unix_socket(const struct sockaddr_un *name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	mode_t mask;

	if (fd < 0)
		return -errno;
	mask = umask(0777 & ~UNIX_MODE);
	fd = bound(fd, (const struct sockaddr *)name, sizeof(*name));
	umask(mask);
	return fd;
}

static int open_unix(struct serve_socket *s, const char *path)
{
	struct sockaddr_un name;
	int error = place_find(&s->place, NULL, path, "serve at"), fd;

	if (error)
		return error;
	error = name_of(&s->place, &name);
	error = error ?: remove_stale(&s->place, &name);
	fd = error ?: make_unix_socket(&name);
	if (fd < 0)
		return failed(fd, path);
	s->fd = fd;
	snprintf(s->address, sizeof(s->address), "%s", path);
	error = place_stat(&s->place, &s->file);
	return error ? failed(error, path) : 0;
}

/* Not what has its name by now. */
static void remove_ours(const struct serve_socket *s)
{
	struct stat st;

	if (!place_stat(&s->place, &st) && st.st_dev == s->file.st_dev &&
		st.st_ino == s->file.st_ino)
		(void)place_remove(&s->place);
}

/* ------------------------------------------------------------------ either */

int serve_socket_open(struct serve_socket *s, const char *address)
{
	int error;

	*s = SERVE_SOCKET_NONE;
	error = strchr(address, '/') ? open_unix(s, address) : open_tcp(s, address);
	if (error)
		serve_socket_close(s);
	return error;
}

void serve_socket_close(struct serve_socket *s)
{
	if (s->fd >= 0 && s->place.folder >= 0)
		remove_ours(s);
	if (s->fd >= 0)
		close(s->fd);
	place_release(&s->place);
	s->fd = -1;
}
