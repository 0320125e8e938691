// SPDX-License-Identifier: MIT
/*
 * What workers of symbolization and a reader of names and of GPU code send, as one that was taken
 * over would. Of workers it comes in pieces: however it is cut, the same results are handled.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "elf/lines.h"
#include "elf/names.h"
#include "fuzz.h"
#include "gpucode/answers.h"
#include "symbolize/fetch.h"

#define ITEMS 8

static uint64_t seen; /* a digest of all results */

static int note_frames(void *context, size_t n, const struct dwarf_frame *frames, size_t count)
{
	require(n < ITEMS && count && count <= DWARF_FRAMES_MAX);
	seen = hash_combine(seen, n);
	for (size_t i = 0; i < count; i++) {
		seen = hash_combine(seen, frames[i].line);
		if (frames[i].name)
			seen = hash_combine(seen, strlen(frames[i].name));
		if (frames[i].file)
			seen = hash_combine(seen, strlen(frames[i].file));
	}
	return 0;
}

static int note_name(void *context, size_t n, const char *name, size_t length, uint64_t function)
{
	size_t *next = context;

	require(n < ITEMS && n >= *next && (name ? length : !length));
	*next = n + 1;
	for (size_t i = 0; i < length; i++)
		seen = hash_combine(seen, (unsigned char)name[i]);
	return 0;
}

/* All of it at once. */
static void read_names(const uint8_t *data, size_t size)
{
	size_t next = 0;
	const struct names_reader r = {ITEMS, note_name, &next};
	struct names_facts facts;
	char *copy = malloc(size ? size : 1);

	require(copy);
	if (size)
		memcpy(copy, data, size);
	(void)names_read(&r, copy, size, 0);
	if (!names_read_facts(copy, size, &facts)) {
		require(facts.code_count <= NAMES_CODE_MAX);
		require(strlen(facts.debug_link) < NAMES_LINK_MAX);
		next = 0;
		(void)names_read(&r, copy, size, sizeof(facts));
	}
	free(copy);
}

static void read_code(const uint8_t *data, size_t size)
{
	static const uint8_t image[64];
	struct gpucode_function functions[ITEMS];
	struct gpucode_sources sources = {0};
	struct interner *texts;
	struct buf answer = BUF_INIT;

	buf_append(&answer, data, size);
	require(!interner_new(&texts));
	if (!gpucode_read_functions(&answer, image, sizeof(image), functions, ITEMS))
		for (size_t n = 0; n < ITEMS; n++)
			require(!functions[n].code ||
				(functions[n].code >= image && functions[n].size <= sizeof(image) &&
					functions[n].code + functions[n].size <=
						image + sizeof(image)));
	if (!gpucode_read_frames(&answer, ITEMS, texts, &sources)) {
		require(sources.instructions.count == ITEMS);
		vec_foreach (s, &sources.instructions) {
			require(s->count <= GPUCODE_FRAMES_MAX &&
				s->first + s->count <= sources.frames.count);
			for (uint32_t n = 0; n < s->count; n++)
				seen = hash_combine(seen,
					strlen(sources.frames.items[s->first + n].function) +
						strlen(sources.frames.items[s->first + n].path));
		}
	}
	gpucode_sources_release(&sources);
	interner_free(texts);
	buf_release(&answer);
}

static int note_path(void *context, size_t n, const char *path)
{
	require(n < ITEMS);
	seen = hash_combine(hash_combine(seen, n), strlen(path));
	return 0;
}

/* In an allocation of just that size, so that a byte read behind it is a finding. */
static long handle_piece(long (*handle)(void *, const char *, size_t), void *context,
	const uint8_t *data, size_t size)
{
	char *copy = malloc(size ? size : 1);
	long handled;

	require(copy);
	if (size)
		memcpy(copy, data, size);
	handled = handle(context, copy, size);
	free(copy);
	require(handled <= (long)size);
	return handled;
}

/* The digest of what comes in pieces of `piece` bytes. */
static uint64_t handle_all(long (*handle)(void *, const char *, size_t), void *context,
	const uint8_t *data, size_t size, size_t piece)
{
	size_t at = 0, come = 0;
	long handled = 0;

	seen = 0;
	while (come < size && handled >= 0) {
		come = size - come < piece ? size : come + piece;
		handled = handle_piece(handle, context, data + at, come - at);
		at += handled > 0 ? (size_t)handled : 0;
	}
	return hash_combine(seen, handled < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct fetch_item items[ITEMS];
	struct lines_reader lines = {.count = ITEMS, .visit = note_frames};
	struct fetch_request fetch = {.items = items, .count = ITEMS, .visit = note_path};
	size_t piece;

	if (!size)
		return 0;
	piece = 1 + data[0] % 64;
	data++;
	size--;
	read_names(data, size);
	read_code(data, size);
	require(handle_all(lines_read, &lines, data, size, piece) ==
		handle_all(lines_read, &lines, data, size, size));
	require(handle_all(fetch_handle, &fetch, data, size, piece) ==
		handle_all(fetch_handle, &fetch, data, size, size));
	return 0;
}
