// SPDX-License-Identifier: MIT
/*
 * The search order and the layout of .gnu_debuglink (a file name, zero padding to four bytes, a
 * CRC-32) are those that GDB's manual describes under "Debugging Information in Separate Files".
 */
#include "elf/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/io.h"
#include "elf/elf_internal.h"

#define LINK_MAX_BYTES 4096

/* What .gnu_debuglink says. */
struct debug_link {
	char name[LINK_MAX_BYTES];
	uint32_t crc;
};

static bool same_build_id(struct elf_file *a, struct elf_file *b)
{
	uint8_t a_id[ELF_BUILD_ID_MAX], b_id[ELF_BUILD_ID_MAX];
	size_t size = elf_file_build_id(a, a_id);

	return size && size == elf_file_build_id(b, b_id) && !memcmp(a_id, b_id, size);
}

static bool has_build_id(struct elf_file *f)
{
	uint8_t id[ELF_BUILD_ID_MAX];

	return elf_file_build_id(f, id) > 0;
}

static bool crc_is(const struct elf_file *f, uint32_t expected)
{
	uLong crc = crc32(0, NULL, 0);
	unsigned char piece[65536];
	off_t at = 0;
	ssize_t got;

	while ((got = io_pread_full(f->fd, piece, sizeof(piece), at)) > 0) {
		crc = crc32(crc, piece, (uInt)got);
		at += got;
	}
	return !got && crc == expected;
}

/* Opens `path` when it is the debug file of `f`; `link` is NULL where only a build id counts. */
static int open_if_belongs(struct elf_file **ret, struct elf_file *f, const char *path,
	const struct debug_link *link)
{
	struct elf_file *found;
	int error = elf_file_open(&found, path);
	bool belongs;

	if (error)
		return -ENOENT;
	if (has_build_id(f) && has_build_id(found))
		belongs = same_build_id(f, found);
	else
		belongs = link && crc_is(found, link->crc);
	if (!belongs || !elf_find_section(found, SHT_SYMTAB)) {
		elf_file_close(found);
		return -ENOENT;
	}
	*ret = found;
	return 0;
}

static int open_by_build_id(struct elf_file **ret, struct elf_file *f)
{
	char path[sizeof(DEBUG_FILE_ROOT "/.build-id/xx/.debug") + 2 * ELF_BUILD_ID_MAX];
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size = elf_file_build_id(f, id);
	int length;

	if (size < 2)
		return -ENOENT;
	length = snprintf(path, sizeof(path), DEBUG_FILE_ROOT "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < size; i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x", id[i]);
	snprintf(path + length, sizeof(path) - (size_t)length, ".debug");
	return open_if_belongs(ret, f, path, NULL);
}

static bool read_link(struct elf_file *f, struct debug_link *ret)
{
	const struct elf_section *s = elf_find_named_section(f, ".gnu_debuglink");
	char bytes[LINK_MAX_BYTES];
	size_t length, crc_at;

	if (!s || s->size > sizeof(bytes))
		return false;
	if (io_pread_full(f->fd, bytes, s->size, (off_t)s->offset) != (ssize_t)s->size)
		return false;
	length = strnlen(bytes, s->size);
	crc_at = (length + 4) & ~(size_t)3;
	if (!length || crc_at + 4 > s->size || memchr(bytes, '/', length))
		return false;
	memcpy(ret->name, bytes, length + 1);
	memcpy(&ret->crc, bytes + crc_at, 4);
	return true;
}

/* The part of `path` that is the root folder of a process ("/proc/12/root"), in bytes; 0 without
 * one. */
static size_t root_length(const char *path)
{
	int length = 0;

	if (sscanf(path, "/proc/%*[0-9]/root%n/", &length) < 0)
		return 0;
	return length > 0 && path[length] == '/' ? (size_t)length : 0;
}

static int open_by_link(struct elf_file **ret, struct elf_file *f, const char *path)
{
	static const char *const forms[] = {"%.*s%.*s/%s", "%.*s%.*s/.debug/%s",
		"%.*s" DEBUG_FILE_ROOT "%.*s/%s"};
	const char *slash = strrchr(path, '/');
	size_t root = root_length(path);
	struct debug_link *link;
	int error = -ENOENT;

	if (!slash || slash < path + root)
		return -ENOENT;
	link = malloc(sizeof(*link));
	if (!link)
		return -ENOENT;
	if (read_link(f, link)) {
		for (size_t i = 0; error && i < sizeof(forms) / sizeof(forms[0]); i++) {
			struct buf b = BUF_INIT;

			buf_printf(&b, forms[i], (int)root, path, (int)(slash - path) - (int)root,
				path + root, link->name);
			error = b.failed ? -ENOENT : open_if_belongs(ret, f, buf_text(&b), link);
			buf_release(&b);
		}
	}
	free(link);
	return error;
}

int debug_file_open(struct elf_file **ret, struct elf_file *f, const char *path)
{
	int error = open_by_build_id(ret, f);

	return error ? open_by_link(ret, f, path) : 0;
}
