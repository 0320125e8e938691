// SPDX-License-Identifier: MIT
/*
 * Facts are a struct names_facts; they are not there in names of a map. Then for each place that
 * something is known of, rising:
 *
 *	u32 place's number, u32 size of the name, u64 offset of the function, the name
 *
 * where the size is 0 when only the function is known, and the offset is 0 when only the name is.
 */
#include "elf/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/reader.h"
#include "elf/limits.h"
#include "elf/perf_map.h"

#define NAME "a file of code"
/* Of all names together; those that come then are left out. Of a whole request (of 8,000 places)
 * names that templates make have a few megabytes. */
#define NAMES_MAX_BYTES ((size_t)64 << 20)

/* --- the file --------------------------------------------------------------------------------- */

void names_file_close(struct names_file *f)
{
	elf_file_close(f->elf);
	*f = (struct names_file){0};
}

static int identify(int fd, struct file_identity *ret)
{
	struct stat st;

	*ret = (struct file_identity){0};
	if (fd < 0)
		return 0;
	if (fstat(fd, &st))
		return -errno;
	*ret = file_identity_of(&st);
	return 0;
}

static int open_with(struct names_file *f, int fd, int debug_fd)
{
	const struct debug_search search = {.is_given = true, .fd = debug_fd};
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	int error = own < 0 ? -errno : elf_file_open_fd(&f->elf, own, NAME);

	if (error) {
		f->elf = NULL;
		return error;
	}
	elf_file_search(f->elf, &search);
	f->has_debug = elf_file_has_debug_file(f->elf); /* now, while it is open */
	return 0;
}

/* Opens what is asked about, unless it is what was asked about last. */
static int enter(struct names_file *f, const struct names_question *q)
{
	struct file_identity identity, debug;
	int error = identify(q->fd, &identity);

	error = error ?: identify(q->debug_fd, &debug);
	if (error)
		return error;
	if (f->elf && !memcmp(&identity, &f->identity, sizeof(identity)) &&
		!memcmp(&debug, &f->debug_identity, sizeof(debug)))
		return 0;
	names_file_close(f);
	f->identity = identity;
	f->debug_identity = debug;
	return open_with(f, q->fd, q->debug_fd);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void put_name(struct buf *b, size_t n, const char *name, size_t length, uint64_t function)
{
	uint32_t head[2] = {(uint32_t)n, (uint32_t)length};

	buf_append(b, head, sizeof(head));
	buf_append(b, &function, sizeof(function));
	buf_append(b, name, length);
}

static bool fits(const struct buf *b, size_t length)
{
	return length <= ELF_NAME_MAX_BYTES && b->size + length <= NAMES_MAX_BYTES;
}

static int vaddr_of(struct elf_file *elf, const struct names_question *q, size_t n, uint64_t *ret)
{
	*ret = q->places[n];
	return q->are_vaddrs ? 0 : elf_file_offset_to_vaddr(elf, q->places[n], ret);
}

/* A function without a name is at least one function. */
static void write_place(struct elf_file *elf, size_t n, uint64_t vaddr, struct buf *ret)
{
	uint64_t start = 0, offset = 0;
	const char *name = elf_file_function_at(elf, vaddr, &start);
	bool begins = !elf_file_is_debug_file(elf) &&
		      (name || !elf_file_function_start(elf, vaddr, &start)) &&
		      !elf_file_vaddr_to_offset(elf, start, &offset);

	if (name && fits(ret, strlen(name)))
		put_name(ret, n, name, strlen(name), begins ? offset : 0);
	else if (!name && begins)
		put_name(ret, n, "", 0, offset);
}

static void gather_facts(struct names_file *f, struct names_facts *ret)
{
	struct elf_file *elf = f->elf;

	ret->build_id_size = (uint32_t)elf_file_build_id(elf, ret->build_id);
	ret->is_debug_file = elf_file_is_debug_file(elf);
	ret->has_debug_file = f->has_debug;
	ret->has_symtab = elf_file_has_symtab(elf);
	ret->has_dwarf = elf_file_dwarf_fd(elf) >= 0;
	while (ret->code_count < NAMES_CODE_MAX &&
		elf_file_code_at(elf, ret->code_count, &ret->code[ret->code_count]))
		ret->code_count++;
	elf_file_debug_link(elf, ret->debug_link, sizeof(ret->debug_link));
	ret->too_large = elf_file_too_large(elf);
}

int names_write(struct names_file *f, const struct names_question *q, struct buf *ret)
{
	struct names_facts facts = {0};
	size_t at = ret->size;
	uint64_t vaddr;
	int error = enter(f, q);

	if (error)
		return error;
	buf_append(ret, &facts, sizeof(facts));
	for (size_t n = 0; n < q->count; n++)
		if ((q->are_vaddrs || !elf_file_is_debug_file(f->elf)) &&
			!vaddr_of(f->elf, q, n, &vaddr))
			write_place(f->elf, n, vaddr, ret);
	gather_facts(f, &facts);
	facts.too_large |= ret->size + ELF_NAME_MAX_BYTES > NAMES_MAX_BYTES;
	if (ret->failed)
		return -ENOMEM;
	memcpy(ret->data + at, &facts, sizeof(facts));
	return 0;
}

int names_dwarf(
	struct names_file *f, const struct names_question *q, uint64_t *ret_vaddrs, int *ret_fd)
{
	int error = enter(f, q), fd;

	if (error)
		return error;
	fd = elf_file_dwarf_fd(f->elf);
	if (fd < 0)
		return -ENOENT;
	for (size_t n = 0; n < q->count; n++)
		if (vaddr_of(f->elf, q, n, &ret_vaddrs[n]))
			ret_vaddrs[n] = UINT64_MAX;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

/* --- perf maps -------------------------------------------------------------------------------- */

/* The end of it when it is larger than any. */
static int read_map(int fd, struct buf *b)
{
	struct stat st;
	size_t size;
	off_t at = 0;
	ssize_t got;

	if (fstat(fd, &st))
		return -errno;
	size = (uint64_t)st.st_size < PERF_MAP_MAX_BYTES ? (size_t)st.st_size : PERF_MAP_MAX_BYTES;
	at = st.st_size - (off_t)size;
	if (!buf_reserve(b, size + 1))
		return -ENOMEM;
	got = io_pread_full(fd, b->data, size, at);
	b->size = got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

int names_write_map(int fd, const uint64_t *places, size_t count, struct buf *ret)
{
	struct perf_map_match *matches = calloc(count + 1, sizeof(*matches));
	struct buf text = BUF_INIT;
	int error = matches ? read_map(fd, &text) : -ENOMEM;

	for (size_t n = 0; matches && n < count; n++)
		matches[n].address = places[n];
	error = error ?: perf_map_match(text.data, text.size, matches, count);
	for (size_t n = 0; !error && n < count; n++)
		if (matches[n].name && fits(ret, matches[n].name_length))
			put_name(ret, n, matches[n].name, matches[n].name_length, 0);
	buf_release(&text);
	free(matches);
	return error ?: ret->failed ? -ENOMEM : 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool code_is_sound(const struct elf_code *code)
{
	return code->size <= UINT64_MAX - code->offset && code->size <= UINT64_MAX - code->vaddr;
}

int names_read_facts(const void *data, size_t size, struct names_facts *ret)
{
	if (size < sizeof(*ret))
		return -EPROTO;
	memcpy(ret, data, sizeof(*ret));
	if (ret->build_id_size > ELF_BUILD_ID_MAX || ret->code_count > NAMES_CODE_MAX ||
		!memchr(ret->debug_link, '\0', sizeof(ret->debug_link)) ||
		strchr(ret->debug_link, '/'))
		return -EPROTO;
	for (uint32_t i = 0; i < ret->code_count; i++)
		if (!code_is_sound(&ret->code[i]))
			return -EPROTO;
	return 0;
}

int names_read(const struct names_reader *r, const void *data, size_t size, size_t skipped)
{
	struct reader from = {.at = data, .end = (const uint8_t *)data + size};
	size_t next = 0;
	int error = 0;

	reader_take(&from, skipped);
	while (!error && reader_left(&from)) {
		uint32_t n = reader_u32(&from), length = reader_u32(&from);
		uint64_t function = reader_u64(&from);
		const void *name = reader_take(&from, length);

		if (from.failed || n < next || n >= r->count || length > ELF_NAME_MAX_BYTES)
			return -EPROTO;
		next = (size_t)n + 1;
		error = r->visit(r->context, n, length ? name : NULL, length, function);
	}
	return error ?: from.failed ? -EPROTO : 0;
}
