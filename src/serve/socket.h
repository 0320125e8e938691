/* SPDX-License-Identifier: MIT */
/*
 * The socket that something is served at: of TCP at an address and port, or a Unix socket at a
 * path.
 *
 * A Unix socket lets its owner and its group connect (0660, whatever the umask), if the folders
 * above let them pass. A socket that an earlier run left is replaced if it is ours and
 * nobody listens at it; any other file is refused. As root no link is followed that another user
 * may have made (base/place.h). serve_socket_close removes it.
 */
#pragma once

#include <netdb.h>
#include <sys/stat.h>

#include "base/place.h"

struct serve_socket {
	int fd; /* listening; -1: none */
	/* where it can be reached: "127.0.0.1:9100", or the path, which has a '/' */
	char address[PATH_MAX];
	struct place place; /* of a Unix socket */
	struct stat file;
};

#define SERVE_SOCKET_NONE ((struct serve_socket){.fd = -1, .place = PLACE_NONE})

/* 0, or -errno with error_text: -EINVAL (no address), -EADDRINUSE, -EACCES. */
int serve_socket_open(struct serve_socket *s, const char *address);
void serve_socket_close(struct serve_socket *s);
