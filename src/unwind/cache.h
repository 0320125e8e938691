/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables on disk, so that a library's table is made once and not at every recording.
 *
 * One file for each file that has a table, in a folder of our own that nobody else may write to:
 *
 *	DIR/<build id>-<device>-<inode>.xwt   a header (cache.c), then the table
 *
 * A file is written under another name and then renamed, so that a reader sees whole ones only.
 * A file that is damaged, of another version, or of another state of the same inode is ignored and
 * removed. Beyond the limit, which bounds their number as well, the least recently used files are
 * removed.
 *
 * The key is the build id and the file (base/file_identity.h), not the build id alone: whoever
 * makes a file that we profile gives it any build id, and the tables are those of all users. The
 * same library at two places has two tables, and one on a file system whose device has another
 * number after each start (of the machine, of a container) is made again then.
 *
 * Any thread; functions return 0 or -errno with error_text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/file_identity.h"
#include "elf/elf_file.h"

#define UNWIND_CACHE_LIMIT    ((uint64_t)1 << 30)
#define UNWIND_CACHE_FILE_MIN ((uint64_t)1 << 16) /* smaller files count as one of this size */

struct unwind_cache;

struct unwind_cache_key {
	uint32_t id_size; /* 0: it has no build id, and is not kept */
	uint8_t id[ELF_BUILD_ID_MAX];
	struct file_identity file;
};

/* A file that was found; to be loaded or dropped. */
struct unwind_cached {
	int fd;
	uint32_t words;
	uint64_t check;
	char name[96];
};

/* Makes the folder where it is missing. -EPERM: it is not ours alone. */
int unwind_cache_open(struct unwind_cache **ret, const char *path, uint64_t limit_bytes);
void unwind_cache_close(struct unwind_cache *c);

/* Opens what is kept; -ENOENT: nothing that can be used. */
int unwind_cache_find(
	struct unwind_cache *c, const struct unwind_cache_key *key, struct unwind_cached *ret);
/* Reads ret->words words and looks whether they are a sound table; -EINVAL: they are not, and the
 * file is removed. Closes it in any case. */
int unwind_cache_load(struct unwind_cache *c, struct unwind_cached *found, uint32_t *words);
void unwind_cache_drop(struct unwind_cached *found);
int unwind_cache_store(
	struct unwind_cache *c, const struct unwind_cache_key *key, const uint32_t *words);

/*
 * Where tables are kept by default: $XPUPROF_CACHE_DIR; for root /var/cache/xpuprof
 * (sudo may leave the caller's HOME as it is); else $XDG_CACHE_HOME/xpuprof or
 * $HOME/.cache/xpuprof. NULL: none of them is known.
 */
const char *unwind_cache_default(struct buf *text);
