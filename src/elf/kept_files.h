/* SPDX-License-Identifier: MIT */
/*
 * Files that modules of a profile were mapped from, kept open from that moment on. So their symbols
 * can be read at the end of a recording, even if the files were deleted or replaced meanwhile, or
 * their process and its mount namespace are gone. Also the folders in which perf maps appear
 * (perf_map.h).
 *
 * By the module's id in the profile. Bounded: beyond KEPT_FILES_MAX, or half the descriptors
 * that a process may have, nothing more is kept. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/file_identity.h"
#include "elf/elf_file.h"

#define KEPT_FILES_MAX 1024

struct kept_files;

struct kept_files *kept_files_new(void);
void kept_files_free(struct kept_files *k);

/* Makes a place for the file of a module that this process maps, or (`is_map`) for its perf map,
 * and keeps what is needed to look for it by its path. 0, or -errno (without text): there is no
 * room, or it has one already. */
int kept_files_add(struct kept_files *k, uint32_t module, uint32_t pid, bool is_map);
/* Puts the open file there, which is ours from then on, also when it fails. */
int kept_files_put(
	struct kept_files *k, uint32_t module, int fd, const struct file_identity *identity);

/* The module's file: a descriptor of ours, or -1 when it was not kept or was written to since. */
int kept_files_find(const struct kept_files *k, uint32_t module);
/* The root folder of the process that mapped it, a descriptor of ours; -1: it is our own. */
int kept_files_root(const struct kept_files *k, uint32_t module);
/* Whose process mapped it, and that process's number in its own namespace. */
struct kept_user {
	uint32_t uid, gid, inner_pid;
};

/* False when it is not known: the process was gone. */
bool kept_files_user(const struct kept_files *k, uint32_t module, struct kept_user *ret);
/* Puts the open jitdump of a process there, likewise; its perf map's place is made already. As with
 * maps it must be root's or that of the process's user. */
int kept_files_put_dump(
	struct kept_files *k, uint32_t module, int fd, const struct file_identity *identity);
/* The jitdump that was kept: a descriptor of ours, or -errno (-ENOENT: there was none, -EACCES: it
 * was somebody else's). */
int kept_files_dump(const struct kept_files *k, uint32_t module);
/* The perf map that was kept: a descriptor for the caller, or -errno (-ENOENT: there was none
 * yet). */
int kept_files_open_map(const struct kept_files *k, uint32_t module);
