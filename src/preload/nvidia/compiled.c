// SPDX-License-Identifier: MIT
/*
 * A file: struct head, and the text. It comes to its place whole, by renaming. Its name is the hash
 * of the image from the first byte to the last that its ELF header or a section of it names.
 */
#include "preload/nvidia/compiled.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/file.h"
#include "ptx/splice.h"
#include "wire/probe.h"

#define MAGIC		0x5558504du
#define IMAGE_BYTES_MAX (256ul << 20)
#define PATH_BYTES	4096

struct head {
	uint32_t magic, version;
	uint64_t spliced; /* hash */
	uint64_t text_bytes;
};

static const char *folder(void)
{
	const char *path = getenv(PROBE_ENV_COMPILED);

	return path && path[0] == '/' ? path : NULL;
}

bool compiled_is_kept(void)
{
	return folder();
}

/* --- how large an image is -------------------------------------------------------------------- */

/* Memory whose size nobody has told: what is not mapped there fails. */
static bool read_memory(const char *at, void *to, size_t bytes)
{
	struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)at, bytes};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static void reach(uint64_t *end, uint64_t offset, uint64_t bytes)
{
	uint64_t there;

	if (__builtin_add_overflow(offset, bytes, &there))
		there = UINT64_MAX;
	if (there > *end)
		*end = there;
}

/* 0: it is not to be read. */
static uint64_t image_bytes(const char *image)
{
	Elf64_Ehdr h;
	uint64_t end = sizeof(h);

	if (!read_memory(image, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
		h.e_ident[EI_CLASS] != ELFCLASS64)
		return 0;
	reach(&end, h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr));
	reach(&end, h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr));
	if (end > IMAGE_BYTES_MAX)
		return 0;
	for (unsigned int i = 0; i < h.e_shnum; i++) {
		Elf64_Shdr s;

		if (!read_memory(image + h.e_shoff + i * sizeof(s), &s, sizeof(s)))
			return 0;
		if (s.sh_type != SHT_NOBITS && s.sh_type != SHT_NULL)
			reach(&end, s.sh_offset, s.sh_size);
	}
	return end > IMAGE_BYTES_MAX ? 0 : end;
}

bool compiled_copy(const void *image, size_t most, struct buf *ret)
{
	uint64_t bytes = image_bytes(image);

	if (!bytes || bytes > most || !buf_reserve(ret, bytes) ||
		!read_memory(image, ret->data + ret->size, bytes))
		return false;
	ret->size += bytes;
	return true;
}

/* --- the files -------------------------------------------------------------------------------- */

static bool hash_of(const char *image, uint64_t *ret)
{
	uint64_t bytes = image_bytes(image);
	char *copy = bytes ? malloc(bytes) : NULL;
	bool is_read = copy && read_memory(image, copy, bytes);

	if (is_read)
		*ret = ptx_hash(copy, bytes);
	free(copy);
	return is_read;
}

static bool name_of(uint64_t hash, const char *ending, char path[PATH_BYTES])
{
	return snprintf(path, PATH_BYTES, "%s/%016" PRIx64 "%s", folder(), hash, ending) <
	       PATH_BYTES;
}

/* Takes the head off. */
static bool take_apart(struct buf *file, uint64_t *ret_spliced)
{
	struct head h;

	if (file->size < sizeof(h))
		return false;
	memcpy(&h, file->data, sizeof(h));
	if (h.magic != MAGIC || h.version != PROBE_VERSION ||
		h.text_bytes != file->size - sizeof(h))
		return false;
	file->size = h.text_bytes;
	memmove(file->data, file->data + sizeof(h), file->size);
	*ret_spliced = h.spliced;
	return true;
}

bool compiled_find(const void *image, struct buf *ret_text, uint64_t *ret_spliced)
{
	char path[PATH_BYTES];
	uint64_t hash;

	return folder() && hash_of(image, &hash) && name_of(hash, "", path) &&
	       file_read(path, 0, ret_text) && take_apart(ret_text, ret_spliced);
}

/* The folder and those above it. */
static bool make_folder(const char *path)
{
	char part[PATH_BYTES];

	if (snprintf(part, sizeof(part), "%s/", path) >= (int)sizeof(part))
		return false;
	for (char *c = part + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = 0;
		if (mkdir(part, 0700) && errno != EEXIST)
			return false;
		*c = '/';
	}
	return true;
}

bool compiled_keep(const struct buf *image, const struct buf *text, uint64_t spliced)
{
	const struct head h = {.magic = MAGIC,
		.version = PROBE_VERSION,
		.spliced = spliced,
		.text_bytes = text->size};
	char path[PATH_BYTES], new[PATH_BYTES], ending[32];
	struct buf file = BUF_INIT;
	uint64_t hash;
	bool kept;

	if (!folder() || !make_folder(folder()) || image_bytes(image->data) > image->size ||
		!hash_of(image->data, &hash))
		return false;
	snprintf(ending, sizeof(ending), ".%d", (int)getpid());
	if (!name_of(hash, "", path) || !name_of(hash, ending, new))
		return false;
	buf_append(&file, &h, sizeof(h));
	buf_append(&file, text->data, text->size);
	kept = !file.failed && file_write(new, &file) && !rename(new, path);
	if (!kept)
		unlink(new);
	buf_release(&file);
	return kept;
}
