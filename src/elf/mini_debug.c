// SPDX-License-Identifier: MIT
/*
 * The section is decompressed piece by piece into memory, which can be read as any other ELF file:
 * where this runs no file can be made (sandbox/reader.h). Its contents are not trusted: both the
 * decoder's memory and the output are bounded.
 */
#include "elf/mini_debug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "base/buf.h"
#include "elf/elf_internal.h"
#include "elf/limits.h"

#define PIECE_BYTES	  65536
#define DECODER_MAX_BYTES ((uint64_t)80 << 20) /* xz -9 needs 65 MiB */

struct unpacking {
	struct elf_file *f;
	uint64_t at, left; /* of the section */
	struct buf output;
	lzma_stream stream;
	uint8_t in[PIECE_BYTES], out[PIECE_BYTES];
};

static int read_piece(struct unpacking *u)
{
	size_t want = u->left < sizeof(u->in) ? (size_t)u->left : sizeof(u->in);

	if (!elf_read_whole(u->f, u->at, u->in, want))
		return -ENOENT;
	u->at += want;
	u->left -= want;
	u->stream.next_in = u->in;
	u->stream.avail_in = want;
	return 0;
}

static int write_piece(struct unpacking *u)
{
	size_t size = sizeof(u->out) - u->stream.avail_out;

	if (u->stream.total_out > ELF_MINI_DEBUG_MAX_BYTES) {
		u->f->too_large = true;
		return -ENOENT;
	}
	buf_append(&u->output, u->out, size);
	u->stream.next_out = u->out;
	u->stream.avail_out = sizeof(u->out);
	return u->output.failed ? -ENOMEM : 0;
}

static int decode(struct unpacking *u)
{
	lzma_ret result = LZMA_OK;
	int error = 0;

	u->stream.next_out = u->out;
	u->stream.avail_out = sizeof(u->out);
	while (!error && result == LZMA_OK) {
		if (!u->stream.avail_in && u->left)
			error = read_piece(u);
		if (!error)
			result = lzma_code(&u->stream, u->left ? LZMA_RUN : LZMA_FINISH);
		if (!error && (!u->stream.avail_out || result == LZMA_STREAM_END))
			error = write_piece(u);
	}
	if (result == LZMA_MEM_ERROR)
		return -ENOMEM;
	if (error == -ENOMEM)
		return error;
	return error || result != LZMA_STREAM_END || !u->output.size ? -ENOENT : 0;
}

static int unpack(struct elf_file *f, const struct elf_section *s, struct buf *ret)
{
	struct unpacking *u = calloc(1, sizeof(*u));
	int error;

	if (!u)
		return -ENOMEM;
	u->f = f;
	u->at = s->offset;
	u->left = s->size;
	error = lzma_stream_decoder(&u->stream, DECODER_MAX_BYTES, 0) == LZMA_OK ? decode(u)
										 : -ENOMEM;
	lzma_end(&u->stream);
	*ret = u->output;
	free(u);
	return error;
}

int mini_debug_open(struct elf_file **ret, struct elf_file *f)
{
	const struct elf_section *s = elf_find_named_section(f, ".gnu_debugdata");
	struct buf output = BUF_INIT;
	int error;

	if (!s)
		return -ENOENT;
	if (s->size > ELF_MINI_DEBUG_STORED_MAX_BYTES) {
		f->too_large = true;
		return -ENOENT;
	}
	error = unpack(f, s, &output);
	if (error) {
		buf_release(&output);
		return error;
	}
	return elf_open_memory(ret, output.data, output.size, "mini debug info") ? -ENOENT : 0;
}

bool mini_debug_supported(void)
{
	return true;
}
