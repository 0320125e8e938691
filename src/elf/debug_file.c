// SPDX-License-Identifier: MIT
/*
 * The search order and the layout of .gnu_debuglink (a file name, zero padding to four bytes, a
 * CRC-32) are those that GDB's manual describes under "Debugging Information in Separate Files".
 */
#include "elf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "elf/elf_internal.h"

#define LINK_MAX_BYTES 4096

/* What .gnu_debuglink says. */
struct debug_link {
	char name[LINK_MAX_BYTES];
	uint32_t crc;
};

static bool has_this_build_id(struct elf_file *f, const uint8_t *id, size_t size)
{
	uint8_t own[ELF_BUILD_ID_MAX];

	return size && size == elf_file_build_id(f, own) && !memcmp(id, own, size);
}

static bool same_build_id(struct elf_file *a, struct elf_file *b)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size = elf_file_build_id(a, id);

	return has_this_build_id(b, id, size);
}

static bool has_build_id(struct elf_file *f)
{
	uint8_t id[ELF_BUILD_ID_MAX];

	return elf_file_build_id(f, id) > 0;
}

/* `f` names it; it pays for the reading, since it may have had many files named to us. */
static bool crc_is(struct elf_file *f, struct elf_file *found, uint32_t expected)
{
	uLong crc = crc32(0, NULL, 0);
	unsigned char piece[65536];
	uint64_t at = 0;
	ssize_t got;

	if (found->size > f->checked_left) {
		f->too_large = true;
		return false;
	}
	f->checked_left -= found->size;
	while (at < found->size && (got = elf_read(found, at, piece, sizeof(piece))) > 0) {
		crc = crc32(crc, piece, (uInt)got);
		at += (uint64_t)got;
	}
	return at == found->size && crc == expected;
}

static bool is_of_use(struct elf_file *found)
{
	return elf_find_section(found, SHT_SYMTAB) || elf_has_dwarf(found);
}

/* Hands `found` over when it is the debug file of `f`, or closes it; `link` is NULL where only a
 * build id counts. */
static int return_if_belongs(struct elf_file **ret, struct elf_file *f, struct elf_file *found,
	const struct debug_link *link)
{
	bool belongs;

	if (has_build_id(f) && has_build_id(found))
		belongs = same_build_id(f, found);
	else
		belongs = link && crc_is(f, found, link->crc);
	if (!belongs || !is_of_use(found)) {
		elf_file_close(found);
		return -ENOENT;
	}
	*ret = found;
	return 0;
}

static int open_if_belongs(
	struct elf_file **ret, struct elf_file *f, const char *path, const struct debug_link *link)
{
	struct elf_file *found;

	return elf_file_open(&found, path) ? -ENOENT : return_if_belongs(ret, f, found, link);
}

/* "ROOT/usr/lib/debug/.build-id/12/345678.debug" */
static void put_build_id_path(struct buf *b, const char *root, const char *folder,
	const uint8_t *id, size_t size, const char *suffix)
{
	buf_printf(b, "%s%s/.build-id/%02x/", root, folder, id[0]);
	for (size_t i = 1; i < size; i++)
		buf_printf(b, "%02x", id[i]);
	buf_puts(b, suffix);
}

/* Opens the n-th path where a build id may be found: 0, -ENOENT, or -ERANGE past the last. */
static int open_candidate(struct elf_file **ret, const uint8_t *id, size_t size,
	const struct debug_search *search, const char *suffix, size_t n)
{
	struct buf path = BUF_INIT;
	int error;

	if (n < search->folder_count)
		put_build_id_path(&path, "", search->folders[n], id, size, suffix);
	else if (n == search->folder_count && search->root)
		put_build_id_path(&path, search->root, DEBUG_FILE_ROOT, id, size, suffix);
	else if (n <= search->folder_count + 1)
		put_build_id_path(&path, "", DEBUG_FILE_ROOT, id, size, suffix);
	else
		return -ERANGE;
	error = path.failed || elf_file_open(ret, buf_text(&path)) ? -ENOENT : 0;
	buf_release(&path);
	return error;
}

int debug_file_by_build_id(struct elf_file **ret, const uint8_t *id, size_t size,
	const struct debug_search *search, bool debug)
{
	struct elf_file *found;
	int error = 0;

	if (size < 2)
		return -ENOENT;
	for (size_t n = 0; error != -ERANGE; n++) {
		error = open_candidate(&found, id, size, search, debug ? ".debug" : "", n);
		if (error)
			continue;
		if (has_this_build_id(found, id, size) && (!debug || is_of_use(found))) {
			*ret = found;
			return 0;
		}
		elf_file_close(found);
	}
	return -ENOENT;
}

static int open_by_build_id(struct elf_file **ret, struct elf_file *f)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t size = elf_file_build_id(f, id);

	return debug_file_by_build_id(ret, id, size, &f->search, true);
}

static bool read_link(struct elf_file *f, struct debug_link *ret)
{
	const struct elf_section *s = elf_find_named_section(f, ".gnu_debuglink");
	char bytes[LINK_MAX_BYTES];
	size_t length, crc_at;

	if (!s || s->size > sizeof(bytes))
		return false;
	if (!elf_read_whole(f, s->offset, bytes, s->size))
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

/* Where a link is looked for: the folder of the program's file is `folder`, its root `root`. */
static void put_link_path(struct buf *b, size_t n, const struct debug_search *search,
	const char *root, const char *folder, const char *name)
{
	switch (n) {
	case 0:
		buf_printf(b, "%s%s/%s", root, folder, name);
		break;
	case 1:
		buf_printf(b, "%s%s/.debug/%s", root, folder, name);
		break;
	case 2:
		buf_printf(b, "%s" DEBUG_FILE_ROOT "%s/%s", root, folder, name);
		break;
	default:
		n -= 3;
		buf_printf(b, "%s%s/%s", search->folders[n / 2], n % 2 ? "" : folder, name);
		break;
	}
}

static int open_by_link(struct elf_file **ret, struct elf_file *f)
{
	const struct debug_search *search = &f->search;
	const char *path = search->path ? search->path : f->path;
	size_t root_size = search->root ? 0 : root_length(path);
	const char *slash = strrchr(path + root_size, '/');
	char *root = search->root ? strdup(search->root) : strndup(path, root_size);
	char *folder = slash ? strndup(path + root_size, (size_t)(slash - path) - root_size) : NULL;
	struct debug_link *link = malloc(sizeof(*link));
	int error = -ENOENT;

	if (root && folder && link && read_link(f, link)) {
		for (size_t n = 0; error && n < 3 + 2 * search->folder_count; n++) {
			struct buf b = BUF_INIT;

			put_link_path(&b, n, search, root, folder, link->name);
			error = b.failed ? -ENOENT : open_if_belongs(ret, f, buf_text(&b), link);
			buf_release(&b);
		}
	}
	free(link);
	free(folder);
	free(root);
	return error;
}

void elf_file_debug_link(struct elf_file *f, char *ret_name, size_t size)
{
	struct debug_link *link = malloc(sizeof(*link));

	ret_name[0] = '\0';
	if (link && read_link(f, link) && strlen(link->name) < size)
		strcpy(ret_name, link->name);
	free(link);
}

static int open_given(struct elf_file **ret, struct elf_file *f)
{
	int fd = f->search.fd < 0 ? -1 : fcntl(f->search.fd, F_DUPFD_CLOEXEC, 0);
	struct debug_link *link = fd < 0 ? NULL : malloc(sizeof(*link));
	struct elf_file *found = NULL;
	int error = -ENOENT;

	if (!link && fd >= 0)
		close(fd);
	if (link && !elf_file_open_fd(&found, fd, "a debug file"))
		error = return_if_belongs(ret, f, found, read_link(f, link) ? link : NULL);
	free(link);
	return error;
}

int debug_file_open(struct elf_file **ret, struct elf_file *f)
{
	int error;

	if (f->search.is_given)
		return open_given(ret, f);
	error = f->search.file ? open_if_belongs(ret, f, f->search.file, NULL) : -ENOENT;

	if (error)
		error = open_by_build_id(ret, f);
	return error ? open_by_link(ret, f) : 0;
}
