// SPDX-License-Identifier: MIT
#include "elf/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "base/reader.h"
#include "elf/elf_internal.h"
#include "elf/limits.h"

/* Reading anything but regular files may block or have effects. */
static int examine(struct elf_file *f)
{
	struct stat st;

	if (fstat(f->fd, &st))
		return error_errno(-errno, "cannot examine '%s'", f->path);
	if (!S_ISREG(st.st_mode))
		return error_set(-ENOEXEC, "'%s' is not a regular file", f->path);
	f->size = (uint64_t)st.st_size;
	return 0;
}

/* Of `size` bytes in memory, or of a descriptor. */
static int open_file(struct elf_file **ret, int fd, char *memory, size_t size, const char *name)
{
	struct elf_file *f = calloc(1, sizeof(*f));
	int error;

	if (!f || !(f->path = strdup(name))) {
		free(f);
		free(memory);
		if (fd >= 0)
			close(fd);
		return error_errno(-ENOMEM, "cannot open '%s'", name);
	}
	f->fd = fd;
	f->memory = memory;
	f->size = size;
	f->reads_left = ELF_READ_MAX_BYTES;
	f->checked_left = ELF_CRC_MAX_BYTES;
	error = memory ? 0 : examine(f);
	error = error ?: elf_read_headers(f);
	if (error) {
		elf_file_close(f);
		return error;
	}
	*ret = f;
	return 0;
}

int elf_file_open_fd(struct elf_file **ret, int fd, const char *name)
{
	return open_file(ret, fd, NULL, 0, name);
}

int elf_open_memory(struct elf_file **ret, char *data, size_t size, const char *name)
{
	return open_file(ret, -1, data, size, name);
}

int elf_file_open(struct elf_file **ret, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? error_errno(-errno, "cannot open '%s'", path)
		      : elf_file_open_fd(ret, fd, path);
}

void elf_file_close(struct elf_file *f)
{
	if (!f)
		return;
	elf_symbols_release(f);
	elf_extents_free(f->extents);
	vec_release(&f->segments);
	vec_release(&f->sections);
	vec_release(&f->notes);
	free(f->section_names);
	if (f->fd >= 0)
		close(f->fd);
	free(f->memory);
	free(f->path);
	free(f);
}

static ssize_t read_memory(const struct elf_file *f, uint64_t offset, void *data, size_t size)
{
	if (offset >= f->size)
		return 0;
	if (size > f->size - offset)
		size = (size_t)(f->size - offset);
	memcpy(data, f->memory + offset, size);
	return (ssize_t)size;
}

ssize_t elf_read(struct elf_file *f, uint64_t offset, void *data, size_t size)
{
	if (size > f->reads_left) {
		f->too_large = true;
		return -EFBIG;
	}
	f->reads_left -= size;
	return f->memory ? read_memory(f, offset, data, size)
			 : io_pread_full(f->fd, data, size, (off_t)offset);
}

bool elf_read_whole(struct elf_file *f, uint64_t offset, void *data, size_t size)
{
	return elf_read(f, offset, data, size) == (ssize_t)size;
}

bool elf_in_file(const struct elf_file *f, uint64_t offset, uint64_t size)
{
	return offset <= f->size && size <= f->size - offset;
}

bool elf_file_too_large(const struct elf_file *f)
{
	return f->too_large || (f->debug && f->debug->too_large) || (f->mini && f->mini->too_large);
}

/* Steps over `size` bytes and what aligns them, counted from where the notes begin. */
static const uint8_t *take_aligned(
	struct reader *r, const uint8_t *begin, uint64_t size, uint64_t alignment)
{
	const uint8_t *taken = reader_take(r, size);
	uint64_t behind = -(uint64_t)(r->at - begin) & (alignment - 1);

	reader_take(r, behind < reader_left(r) ? behind : reader_left(r));
	return taken;
}

/* Looks for the build id in notes (gABI, "Note Section"); its size, or 0. */
static size_t find_build_id(
	const uint8_t *notes, size_t size, bool wide, uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	struct reader r = {.at = notes, .end = notes + size};

	while (reader_left(&r)) {
		uint32_t name_size = reader_u32(&r), id_size = reader_u32(&r),
			 type = reader_u32(&r);
		const uint8_t *name = take_aligned(&r, notes, name_size, wide ? 8 : 4);
		const uint8_t *id = take_aligned(&r, notes, id_size, wide ? 8 : 4);

		if (r.failed)
			break;
		if (type != NT_GNU_BUILD_ID || name_size != sizeof("GNU") ||
			memcmp(name, "GNU", sizeof("GNU")) || !id_size ||
			id_size > ELF_BUILD_ID_MAX)
			continue;
		memcpy(ret_id, id, id_size);
		return id_size;
	}
	return 0;
}

static size_t build_id_in(
	struct elf_file *f, const struct elf_note_range *n, uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	uint8_t *notes;
	size_t size = 0;

	if (!n->size || n->size > ELF_NOTES_MAX_BYTES || !elf_in_file(f, n->offset, n->size))
		return 0;
	notes = malloc(n->size);
	if (notes && elf_read_whole(f, n->offset, notes, n->size))
		size = find_build_id(notes, n->size, n->wide, ret_id);
	free(notes);
	return size;
}

/* The segments first, as the kernel does. */
size_t elf_file_build_id(struct elf_file *f, uint8_t ret_id[ELF_BUILD_ID_MAX])
{
	for (size_t i = 0;
		!f->build_id_sought && !f->build_id_size && i < f->notes.count && i < ELF_NOTES_MAX;
		i++)
		f->build_id_size = build_id_in(f, &f->notes.items[i], f->build_id);
	f->build_id_sought = true;
	memcpy(ret_id, f->build_id, f->build_id_size);
	return f->build_id_size;
}

int elf_file_fd(const struct elf_file *f)
{
	return f->fd;
}

int elf_file_stat(const struct elf_file *f, struct stat *ret)
{
	return fstat(f->fd, ret) ? error_errno(-errno, "cannot examine '%s'", f->path) : 0;
}

uint16_t elf_file_machine(const struct elf_file *f)
{
	return f->machine;
}

bool elf_file_is_64bit(const struct elf_file *f)
{
	return f->is_64bit;
}

uint64_t elf_file_entry(const struct elf_file *f)
{
	return f->entry;
}

/* Segments may share a page of the file; what is executed is what callers ask for. */
int elf_file_offset_to_vaddr(struct elf_file *f, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct elf_segment *found = NULL;

	vec_foreach (s, &f->segments) {
		if (offset < s->offset || offset - s->offset >= s->file_size)
			continue;
		if (!found || (s->executable && !found->executable))
			found = s;
	}
	if (!found)
		return -ENOENT;
	*ret_vaddr = offset - found->offset + found->vaddr;
	return 0;
}

int elf_file_vaddr_to_offset(struct elf_file *f, uint64_t vaddr, uint64_t *ret_offset)
{
	vec_foreach (s, &f->segments) {
		if (vaddr < s->vaddr || vaddr - s->vaddr >= s->file_size)
			continue;
		*ret_offset = vaddr - s->vaddr + s->offset;
		return 0;
	}
	return -ENOENT;
}

const struct elf_segment *elf_find_code(const struct elf_file *f, uint64_t vaddr)
{
	vec_foreach (s, &f->segments)
		if (s->executable && vaddr >= s->vaddr && vaddr - s->vaddr < s->memory_size)
			return s;
	return NULL;
}

int elf_file_code_range(
	const struct elf_file *f, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end)
{
	const struct elf_segment *s = elf_find_code(f, vaddr);

	if (!s)
		return -ENOENT;
	*ret_start = s->vaddr;
	*ret_end = s->vaddr + s->memory_size;
	return 0;
}

const struct elf_section *elf_find_section(const struct elf_file *f, uint32_t type)
{
	vec_foreach (s, &f->sections)
		if (s->type == type && s->size)
			return s;
	return NULL;
}

const struct elf_section *elf_find_named_section(const struct elf_file *f, const char *name)
{
	vec_foreach (s, &f->sections)
		if (s->size && !strcmp(elf_section_name(f, s), name))
			return s;
	return NULL;
}

/* Compressed contents count as none in the table of sections. */
bool elf_has_dwarf(const struct elf_file *f)
{
	vec_foreach (s, &f->sections) {
		const char *name = elf_section_name(f, s);

		if (s->type != SHT_NOBITS &&
			(!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			return true;
	}
	return false;
}

void elf_file_search(struct elf_file *f, const struct debug_search *search)
{
	f->search = *search;
}

bool elf_file_code_at(const struct elf_file *f, size_t n, struct elf_code *ret)
{
	vec_foreach (s, &f->segments) {
		if (!s->executable || n--)
			continue;
		*ret = (struct elf_code){s->offset, s->file_size, s->vaddr};
		return true;
	}
	return false;
}

bool elf_file_is_debug_file(const struct elf_file *f)
{
	vec_foreach (s, &f->sections)
		if (s->executable && s->type == SHT_NOBITS)
			return true;
	return false;
}
