// SPDX-License-Identifier: MIT
#include "export/gzip.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/error.h"

#define SUBJECT "compressed output"

/* The largest window, and the header of gzip. */
#define WINDOW_BITS  (15 + 16)
#define MEMORY_LEVEL 8

struct gzip {
	struct output *output;
	z_stream stream;
	unsigned char buffer[64 << 10];
};

int gzip_new(struct gzip **ret, struct output *o)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g || deflateInit2(&g->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_BITS,
			  MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return error_memory(SUBJECT);
	}
	g->output = o;
	*ret = g;
	return 0;
}

/* Deflate fails only if the stream is used in a wrong way. */
static void run(struct gzip *g, int flush)
{
	do {
		g->stream.next_out = g->buffer;
		g->stream.avail_out = sizeof(g->buffer);
		(void)deflate(&g->stream, flush);
		output_write(g->output, g->buffer, sizeof(g->buffer) - g->stream.avail_out);
	} while (!g->stream.avail_out);
}

int gzip_write(struct gzip *g, const void *data, size_t size)
{
	static const size_t most = 1u << 30;

	while (size) {
		size_t part = size < most ? size : most;

		g->stream.next_in = (unsigned char *)data;
		g->stream.avail_in = (unsigned int)part;
		run(g, Z_NO_FLUSH);
		data = (const char *)data + part;
		size -= part;
	}
	return output_error(g->output);
}

int gzip_finish(struct gzip *g)
{
	run(g, Z_FINISH);
	return output_error(g->output);
}

void gzip_free(struct gzip *g)
{
	if (!g)
		return;
	(void)deflateEnd(&g->stream);
	free(g);
}
