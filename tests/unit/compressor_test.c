// SPDX-License-Identifier: MIT
#include "export/compressor.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "random.h"
#include "tap.h"

#define BLOCKS 50

/* Some can hardly be compressed, some very well. */
static void make_block(struct buf *b, unsigned int n)
{
	size_t size = 1 + n * 4000;

	buf_reset(b);
	while (b->size < size)
		buf_putc(b, (char)(n % 2 ? n : random_below(256)));
}

static void check_result(struct compressor *c, const struct buf *block)
{
	uLongf size = block->size;
	Bytef *text = malloc(size);
	const void *data = NULL;
	size_t compressed = 0;

	CHECK(!compressor_take(c, &data, &compressed) && compressed);
	CHECK(uncompress(text, &size, data, compressed) == Z_OK);
	CHECK(size == block->size && !memcmp(text, block->data, size));
	free(text);
}

static void each_block_comes_back_before_the_next_is_given(void)
{
	struct compressor *c = NULL;
	struct buf block = BUF_INIT, given = BUF_INIT;
	const void *data;
	size_t size = 1;

	CHECK(!compressor_new(&c));
	CHECK(!compressor_take(c, &data, &size) && !size);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		if (i)
			check_result(c, &given);
		make_block(&block, i);
		buf_reset(&given);
		buf_append(&given, block.data, block.size);
		compressor_give(c, &block);
		CHECK(!block.size);
	}
	check_result(c, &given);
	CHECK(!compressor_take(c, &data, &size) && !size);
	compressor_free(c);
	buf_release(&block);
	buf_release(&given);
}

static void a_block_may_be_left_where_it_is(void)
{
	struct compressor *c = NULL;
	struct buf block = BUF_INIT;

	CHECK(!compressor_new(&c));
	make_block(&block, 20);
	compressor_give(c, &block);
	compressor_free(c);
	compressor_free(NULL);
	buf_release(&block);
}

int main(void)
{
	RUN(each_block_comes_back_before_the_next_is_given);
	RUN(a_block_may_be_left_where_it_is);
	return tap_end();
}
