/* SPDX-License-Identifier: MIT */
/*
 * Opens what other processes have mapped, for reading. Only regular files, and O_PATH first, since
 * to open anything else may have effects. A path counts by the rights of the process's user, below
 * the root folder of the process, and without links, as the paths of mappings have none; the
 * mapping itself (/proc/PID/map_files) by ours, as no user can make it lead elsewhere. In a
 * recorder that does this itself, root keeps its groups, and capabilities of its file count.
 *
 * What a program may go on changing is handed out as a copy in memory where that is asked for.
 * File systems that a user serves (FUSE) can hold up whoever closes a file, so of these a copy in
 * memory is handed out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/file_identity.h"
#include "elf/elf_file.h"

#define OPENER_OPEN_MAPPED  1 /* struct open_mapped and a path; the reply is a struct opened */
#define OPENER_OPEN_MAP	    2 /* struct open_map; the reply is a struct opened */
#define OPENER_OPEN_DEBUG   3 /* struct open_debug and the path of the file; likewise */
#define OPENER_OPEN_LISTED  4 /* struct open_listed and paths; the reply: struct opened_listed */
#define OPENER_OPEN_LATER   5 /* struct open_later; the reply is a struct opened */
#define OPENER_OPEN_PROGRAM 6 /* struct open_program; the reply is a struct opened */

#define OPEN_LINK_BYTES 256
#define OPEN_NOBODY	65534

/* Whose rights count where a process is gone, and with it what its user was. */
struct open_rights {
	uint32_t uid, gid;
};

/* The file of a mapping: under the mapping itself, at its path as the process sees it, or as we do.
 * A path must lead to the inode, if that is known; else whoever reads it has to compare. */
struct open_mapped {
	uint32_t pid;
	uint64_t start, end; /* 0, 0: not known */
	uint64_t device;     /* as makedev() */
	uint64_t inode;	     /* 0: not known */
	struct open_rights if_gone;
	/* a copy is handed out of what has no more bytes, -EFBIG of what has; 0: the file */
	uint64_t copy_bytes;
};

/* The perf map of a process (elf/perf_map.h). */
struct open_map {
	uint32_t pid;
};

/* The program that a process runs (/proc/PID/exe): like a mapping it leads nowhere else, and it is
 * there also when its file is gone. */
struct open_program {
	uint32_t pid;
};

/* The separate debug file of a file that the process mapped: what is found first, at the places
 * that GDB's manual names. Whoever reads it has to look whether it belongs to that. */
struct open_debug {
	uint32_t pid;
	uint32_t build_id_size;
	uint8_t build_id[ELF_BUILD_ID_MAX];
	char link[OPEN_LINK_BYTES]; /* its name, without a folder; "": none */
};

/*
 * The first file of a list that there is, for whoever looks for it when the process may be gone:
 * what is left of that is its root folder, a descriptor that comes with the request (-1: ours), and
 * its user. A path has a mark in front (OPEN_BELOW, OPEN_OURS) and a NUL behind.
 */
struct open_listed {
	struct open_rights rights;
};

#define OPEN_BELOW '/' /* below that root folder */
#define OPEN_OURS  '.' /* as we see it */

/* The perf map of such a process. */
struct open_later {
	struct open_rights rights;
	uint32_t inner_pid; /* its number in its own namespace */
};

struct opened {
	struct file_identity identity;
	uint32_t copied; /* the descriptor is that of a copy */
};

struct opened_listed {
	struct opened opened;
	uint32_t index; /* in the list */
};

/* All: 0 and a descriptor, or -errno without text. These run in the opener, and in tests. */
int opener_open_mapped(
	const struct open_mapped *r, const char *path, struct opened *ret, int *ret_fd);
int opener_open_debug(
	const struct open_debug *r, const char *path, struct opened *ret, int *ret_fd);
int opener_open_map(const struct open_map *r, struct opened *ret, int *ret_fd);
int opener_open_program(const struct open_program *r, struct opened *ret, int *ret_fd);
int opener_open_listed(const struct open_listed *r, int root, const char *paths, size_t size,
	struct opened_listed *ret, int *ret_fd);
int opener_open_later(const struct open_later *r, int root, struct opened *ret, int *ret_fd);

/* The process: answers until nobody asks any more. The exit status. */
int opener_run(int socket);
