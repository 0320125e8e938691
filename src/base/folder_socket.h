/* SPDX-License-Identifier: MIT */
/* A socket in a folder that only one user may enter: others connect by its path. */
#pragma once

#include <sys/types.h>

/*
 * Binds a Unix socket that listens for nobody yet, in this very folder, whatever has happened to
 * its path. Only this user may connect. 0 or -errno.
 */
int folder_socket_bind(int fd, int folder_fd, const char *name, uid_t uid, gid_t gid);
