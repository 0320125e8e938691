// SPDX-License-Identifier: MIT
/*
 * Whole sections. Compressed ones begin with an Elf64_Chdr or Elf32_Chdr (gABI, "Section
 * Compression"), which holds their decompressed size. That much memory is allocated only within the
 * caller's limit, and within what zlib can make of the bytes in the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "elf/elf_internal.h"

/* No deflate stream makes more out of less (zlib's technical notes). */
#define DEFLATE_MAX_RATIO 1032

struct compression {
	uint32_t type;
	uint64_t size; /* of the contents */
	size_t header_size;
};

static const struct elf_section *find_stored(const struct elf_file *f, const char *name)
{
	vec_foreach (s, &f->sections)
		if (s->stored_size && !strcmp(elf_section_name(f, s), name))
			return s;
	return NULL;
}

static int refuse(struct elf_file *f)
{
	f->too_large = true;
	return error_set(-EFBIG, "a section of '%s' is too large", f->path);
}

static int read_stored(
	struct elf_file *f, const struct elf_section *s, size_t limit, struct elf_contents *ret)
{
	ssize_t got;

	if (s->stored_size > limit)
		return refuse(f);
	ret->data = malloc(s->stored_size);
	if (!ret->data)
		return error_errno(-ENOMEM, "cannot read '%s'", f->path);
	got = elf_read(f, s->stored_offset, ret->data, s->stored_size);
	if (got != (ssize_t)s->stored_size) {
		elf_contents_release(ret);
		return error_errno(got < 0 ? (int)got : -EIO, "cannot read '%s'", f->path);
	}
	ret->size = s->stored_size;
	ret->vaddr = s->vaddr;
	return 0;
}

static bool read_compression(
	const struct elf_file *f, const struct elf_contents *c, struct compression *ret)
{
	Elf64_Chdr wide;
	Elf32_Chdr narrow;

	if (f->is_64bit && c->size >= sizeof(wide)) {
		memcpy(&wide, c->data, sizeof(wide));
		*ret = (struct compression){wide.ch_type, wide.ch_size, sizeof(wide)};
		return true;
	}
	if (!f->is_64bit && c->size >= sizeof(narrow)) {
		memcpy(&narrow, c->data, sizeof(narrow));
		*ret = (struct compression){narrow.ch_type, narrow.ch_size, sizeof(narrow)};
		return true;
	}
	return false;
}

/* Replaces the stored contents by the decompressed ones. */
static int decompress(struct elf_file *f, size_t limit, struct elf_contents *c)
{
	struct compression how;
	uint8_t *data;
	uLongf size;

	if (!read_compression(f, c, &how))
		return error_set(-EINVAL, "a compressed section of '%s' is damaged", f->path);
	if (how.type != ELFCOMPRESS_ZLIB)
		return error_set(-ENOTSUP, "a section of '%s' is compressed by method %u", f->path,
			how.type);
	if (how.size > limit)
		return refuse(f);
	if (!how.size || how.size / DEFLATE_MAX_RATIO > c->size)
		return error_set(-EINVAL, "a compressed section of '%s' is damaged", f->path);
	data = malloc(how.size);
	if (!data)
		return error_errno(-ENOMEM, "cannot read '%s'", f->path);
	size = how.size;
	if (uncompress(data, &size, c->data + how.header_size, c->size - how.header_size) != Z_OK ||
		size != how.size) {
		free(data);
		return error_set(-EINVAL, "a compressed section of '%s' is damaged", f->path);
	}
	free(c->data);
	c->data = data;
	c->size = how.size;
	return 0;
}

int elf_file_read_section(
	struct elf_file *f, const char *name, size_t limit, struct elf_contents *ret)
{
	const struct elf_section *s = find_stored(f, name);
	struct elf_contents c = {0};
	int error;

	if (!s)
		return error_set(-ENOENT, "'%s' has no section %s", f->path, name);
	error = read_stored(f, s, limit, &c);
	if (!error && s->compressed)
		error = decompress(f, limit, &c);
	if (error) {
		elf_contents_release(&c);
		return error;
	}
	*ret = c;
	return 0;
}

void elf_contents_release(struct elf_contents *c)
{
	free(c->data);
	*c = (struct elf_contents){0};
}

int elf_file_section_range(
	const struct elf_file *f, const char *name, uint64_t *ret_start, uint64_t *ret_end)
{
	vec_foreach (s, &f->sections) {
		if (s->vaddr_end <= s->vaddr || strcmp(elf_section_name(f, s), name))
			continue;
		*ret_start = s->vaddr;
		*ret_end = s->vaddr_end;
		return 0;
	}
	return -ENOENT;
}

bool elf_file_code_section(
	const struct elf_file *f, size_t n, uint64_t *ret_start, uint64_t *ret_end)
{
	vec_foreach (s, &f->sections) {
		if (!s->executable || !s->size || s->vaddr_end <= s->vaddr || n--)
			continue;
		*ret_start = s->vaddr;
		*ret_end = s->vaddr_end;
		return true;
	}
	return false;
}

int elf_file_read_code(struct elf_file *f, uint64_t vaddr, void *data, size_t size)
{
	const struct elf_segment *s = elf_find_code(f, vaddr);
	ssize_t got;

	if (!s || vaddr - s->vaddr > s->file_size || size > s->file_size - (vaddr - s->vaddr))
		return -ENOENT;
	got = elf_read(f, s->offset + (vaddr - s->vaddr), data, size);
	return got < 0 ? (int)got : (size_t)got == size ? 0 : -EIO;
}
