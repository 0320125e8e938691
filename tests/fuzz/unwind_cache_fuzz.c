// SPDX-License-Identifier: MIT
/*
 * Fuzz target: files of the cache of unwind tables. By the first byte the input is a whole file, or
 * the words of a table that is stored (so that its checks are right), of which one byte may then be
 * spoilt. What is loaded must be sound; what is not must be gone afterwards.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "unwind/cache.h"
#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct unwind_cache_key key = {
	.id_size = 20, .id = {0xaa}, .file = {.device = 1, .inode = 2}};
static char folder[] = "/tmp/unwind-cache-fuzz-XXXXXX";
static char path[128];
static struct unwind_cache *cache;

static void remove_folder(void)
{
	unlink(path);
	rmdir(folder);
}

static void open_cache(void)
{
	int length;

	if (!mkdtemp(folder) || unwind_cache_open(&cache, folder, UNWIND_CACHE_LIMIT))
		abort();
	length = snprintf(path, sizeof(path), "%s/", folder);
	for (size_t i = 0; i < key.id_size; i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x", key.id[i]);
	snprintf(path + length, sizeof(path) - (size_t)length, "-1-2.xwt");
	atexit(remove_folder);
}

static void write_file(const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || io_write_all(fd, data, size))
		abort();
	close(fd);
}

static void load(struct unwind_cached *found)
{
	uint32_t *words;

	/* As the service does, which bounds it by its budget. */
	if (found->words > 1u << 20) {
		unwind_cache_drop(found);
		return;
	}
	words = malloc((size_t)found->words * 4 + 1);
	if (!words)
		abort();
	if (unwind_cache_load(cache, found, words)) {
		if (!access(path, F_OK))
			abort();
	} else if (!unwind_table_is_sound(words, found->words)) {
		abort();
	}
	free(words);
}

static void store(const uint8_t *data, size_t size)
{
	uint32_t count = (uint32_t)(size / 4), *words = calloc(count + 2, 4);

	if (!words)
		abort();
	memcpy(words, data, (size_t)count * 4);
	words[0] = WALK_TABLE_MAGIC;
	words[1] = count > 2 ? count : 2;
	if (unwind_cache_store(cache, &key, words))
		abort();
	free(words);
}

static void spoil(uint16_t place, uint8_t bits)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	if (fd < 0)
		abort();
	if (pread(fd, &byte, 1, place) == 1) {
		byte ^= bits;
		if (pwrite(fd, &byte, 1, place) != 1)
			abort();
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_cached found;

	if (!cache)
		open_cache();
	if (size < 4)
		return 0;
	if (data[0] & 1) {
		write_file(data + 1, size - 1);
	} else {
		store(data + 4, size - 4);
		spoil((uint16_t)(data[1] | data[2] << 8), data[3]);
	}
	if (!unwind_cache_find(cache, &key, &found))
		load(&found);
	else if (!access(path, F_OK))
		abort();
	return 0;
}
