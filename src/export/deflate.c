// SPDX-License-Identifier: MIT
/*
 * Each place is looked up once, by its next five bytes, in a table of where such bytes were last;
 * what is the same there becomes a reference (deflate's "match"), and the first match is taken. So
 * the data becomes symbols: a byte, or a length and a distance. They are gathered in blocks, each
 * with codes for its symbols (Huffman's).
 */
#include "export/deflate.h"

#include <endian.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "export/prefix_code.h"

#define HEAD_BYTES 2
#define SUM_BYTES  4

#define LENGTH_MIN   5 /* deflate has 3, which is seldom shorter than bytes */
#define LENGTH_MAX   258
#define DISTANCE_MAX 32768
#define TABLE_BITS   12 /* more find little more, and are slower to get at */

#define BLOCK_SYMBOLS 32768
#define BLOCK_HEAD    512 /* bytes, at most: its codes, and what fills up the last byte */

/* The alphabets of a block: bytes, its end, and codes of lengths; codes of distances; lengths of
 * the codes of these two. */
enum { END = 256, FIRST_LENGTH, LENGTH_CODES = 29, LITERALS = FIRST_LENGTH + LENGTH_CODES };
enum { DISTANCES = 30 };
enum { SIZES = 19 };
enum { LITERAL_BITS_MAX = 15, SIZE_BITS_MAX = 7 };

/* A code stands for a stretch of values; further bits say which. */
struct stretch {
	uint16_t first;
	uint8_t bits;
};

static const struct stretch lengths[LENGTH_CODES] = {{3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {8, 0},
	{9, 0}, {10, 0}, {11, 1}, {13, 1}, {15, 1}, {17, 1}, {19, 2}, {23, 2}, {27, 2}, {31, 2},
	{35, 3}, {43, 3}, {51, 3}, {59, 3}, {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5},
	{195, 5}, {227, 5}, {258, 0}};

/* A byte has the distance 0. */
struct symbol {
	uint16_t value; /* or a length */
	uint16_t distance;
};

/* The output: bits that do not fill a byte yet wait. */
struct writer {
	uint8_t *out;
	uint64_t bits;
	unsigned int bit_count;
};

struct deflater {
	uint8_t code_of_length[LENGTH_MAX + 1];
	uint32_t last[1 << TABLE_BITS]; /* by the hash of LENGTH_MIN bytes: their last place */
	struct symbol symbols[BLOCK_SYMBOLS];
	size_t count;
	uint32_t literal_counts[LITERALS], distance_counts[DISTANCES];
	struct prefix_code literals[LITERALS], distances[DISTANCES];
	struct writer writer;
};

int deflater_new(struct deflater **ret)
{
	struct deflater *d = calloc(1, sizeof(*d));

	if (!d)
		return error_memory("compressed output");
	for (unsigned int code = 0; code < LENGTH_CODES; code++)
		for (unsigned int i = 0; i < 1u << lengths[code].bits; i++)
			if (lengths[code].first + i <= LENGTH_MAX)
				d->code_of_length[lengths[code].first + i] = (uint8_t)code;
	*ret = d;
	return 0;
}

void deflater_free(struct deflater *d)
{
	free(d);
}

/* Codes have at most 15 bits, so a byte becomes less than two, and a match of five bytes or more
 * at most six: codes with 5 and 13 further bits. */
size_t deflate_bound(size_t size)
{
	return HEAD_BYTES + 2 * size + (size / BLOCK_SYMBOLS + 1) * BLOCK_HEAD + SUM_BYTES +
	       sizeof(uint64_t);
}

/* Bits, the lowest first: at most 48 between two calls of put_bytes. */
static inline void put_bits(struct writer *w, uint64_t bits, unsigned int count)
{
	w->bits |= bits << w->bit_count;
	w->bit_count += count;
}

/* Those that are whole. */
static inline void put_bytes(struct writer *w)
{
	uint64_t little = htole64(w->bits);

	memcpy(w->out, &little, sizeof(little));
	w->out += w->bit_count / 8;
	w->bits >>= w->bit_count & ~7u;
	w->bit_count &= 7;
}

static inline void put_code(struct writer *w, const struct prefix_code *code)
{
	put_bits(w, code->bits, code->size);
}

/* Two codes for each power of two; `distance` is at least 1. */
static inline unsigned int distance_code(unsigned int distance, unsigned int *ret_bits)
{
	unsigned int from_0 = distance - 1, log;

	if (from_0 < 4) {
		*ret_bits = 0;
		return from_0;
	}
	log = 31 - (unsigned int)__builtin_clz(from_0);
	*ret_bits = log - 1;
	return 2 * log + (from_0 >> (log - 1) & 1);
}

static inline void put_match(struct writer *w, const struct deflater *d, const struct symbol *s)
{
	unsigned int length = d->code_of_length[s->value], bits;
	unsigned int distance = distance_code(s->distance, &bits);

	put_code(w, &d->literals[FIRST_LENGTH + length]);
	put_bits(w, s->value - lengths[length].first, lengths[length].bits);
	put_code(w, &d->distances[distance]);
	put_bits(w, (s->distance - 1u) & ((1u << bits) - 1), bits);
}

static void put_sizes(struct writer *w, const struct prefix_code *sizes,
	const struct prefix_code *codes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		put_code(w, &sizes[codes[i].size]);
		put_bytes(w);
	}
}

/* The sizes of all codes, one by one, in codes for these. */
static void put_codes(struct writer *w, const struct deflater *d)
{
	static const uint8_t order[SIZES] = {
		16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
	struct prefix_code sizes[SIZES];
	uint32_t counts[SIZES] = {0};

	for (size_t i = 0; i < LITERALS; i++)
		counts[d->literals[i].size]++;
	for (size_t i = 0; i < DISTANCES; i++)
		counts[d->distances[i].size]++;
	prefix_codes(sizes, counts, SIZES, SIZE_BITS_MAX);
	put_bits(w, LITERALS - 257, 5);
	put_bits(w, DISTANCES - 1, 5);
	put_bits(w, SIZES - 4, 4);
	for (size_t i = 0; i < SIZES; i++) {
		put_bits(w, sizes[order[i]].size, 3);
		put_bytes(w);
	}
	put_sizes(w, sizes, d->literals, LITERALS);
	put_sizes(w, sizes, d->distances, DISTANCES);
}

static void put_symbols(struct deflater *d)
{
	struct writer w = d->writer; /* in registers */

	for (size_t i = 0; i < d->count; i++) {
		const struct symbol *s = &d->symbols[i];

		if (s->distance)
			put_match(&w, d, s);
		else
			put_code(&w, &d->literals[s->value]);
		put_bytes(&w);
	}
	d->writer = w;
}

static void put_block(struct deflater *d, bool last)
{
	struct writer *w = &d->writer;

	d->literal_counts[END] = 1;
	prefix_codes(d->literals, d->literal_counts, LITERALS, LITERAL_BITS_MAX);
	prefix_codes(d->distances, d->distance_counts, DISTANCES, LITERAL_BITS_MAX);
	put_bits(w, last, 1);
	put_bits(w, 2, 2); /* its own codes */
	put_codes(w, d);
	put_symbols(d);
	put_code(w, &d->literals[END]);
	put_bytes(w);
	d->count = 0;
	memset(d->literal_counts, 0, sizeof(d->literal_counts));
	memset(d->distance_counts, 0, sizeof(d->distance_counts));
}

static inline void add_byte(struct deflater *d, uint8_t byte)
{
	if (d->count == BLOCK_SYMBOLS)
		put_block(d, false);
	d->symbols[d->count++] = (struct symbol){.value = byte};
	d->literal_counts[byte]++;
}

static inline void add_match(struct deflater *d, size_t length, size_t distance)
{
	unsigned int bits;

	if (d->count == BLOCK_SYMBOLS)
		put_block(d, false);
	d->symbols[d->count++] = (struct symbol){(uint16_t)length, (uint16_t)distance};
	d->literal_counts[FIRST_LENGTH + d->code_of_length[length]]++;
	d->distance_counts[distance_code((unsigned int)distance, &bits)]++;
}

/* The next LENGTH_MIN bytes, which are the same where this number is. */
static inline uint64_t next_bytes(const uint8_t *p)
{
	uint64_t bytes;

	memcpy(&bytes, p, sizeof(bytes));
	return le64toh(bytes) << 8 * (sizeof(bytes) - LENGTH_MIN);
}

/* How many of the first `most` bytes are the same; of the first LENGTH_MIN it is known. */
static inline size_t same_bytes(const uint8_t *a, const uint8_t *b, size_t most)
{
	size_t n = LENGTH_MIN;
	uint64_t x, y;

	while (n + sizeof(x) <= most) {
		memcpy(&x, a + n, sizeof(x));
		memcpy(&y, b + n, sizeof(y));
		if (x != y)
			return n + (size_t)__builtin_ctzll(le64toh(x ^ y)) / 8;
		n += sizeof(x);
	}
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

/* Where such bytes were before; now they are at `at`. */
static inline size_t swap_last(struct deflater *d, uint64_t bytes, size_t at)
{
	uint32_t *last = &d->last[bytes * HASH_FACTOR >> (64 - TABLE_BITS)], before = *last;

	*last = (uint32_t)at;
	return before;
}

/* Adds the symbols of all but the last few bytes; returns how many they stand for. */
static size_t add_symbols(struct deflater *d, const uint8_t *data, size_t size)
{
	size_t at = 0, end = size < sizeof(uint64_t) ? 0 : size - sizeof(uint64_t) + 1;

	while (at < end) {
		uint64_t bytes = next_bytes(data + at);
		size_t before = swap_last(d, bytes, at), rest = size - at, next;

		if (before >= at || at - before > DISTANCE_MAX ||
			next_bytes(data + before) != bytes) {
			add_byte(d, data[at++]);
			continue;
		}
		next = at +
		       same_bytes(data + before, data + at, rest < LENGTH_MAX ? rest : LENGTH_MAX);
		add_match(d, next - at, at - before);
		while (++at < next && at < end)
			(void)swap_last(d, next_bytes(data + at), at);
		at = next;
	}
	return at;
}

/* Deflate with a window of 32 KiB, and no dictionary. */
static uint8_t *put_head(uint8_t *out)
{
	*out++ = 0x78;
	*out++ = 0x01;
	return out;
}

static uint8_t *put_sum(uint8_t *out, const void *data, size_t size)
{
	uint32_t sum = htobe32((uint32_t)adler32_z(1, data, size));

	memcpy(out, &sum, sizeof(sum));
	return out + sizeof(sum);
}

size_t deflate_bytes(struct deflater *d, const void *data, size_t size, uint8_t *out)
{
	const uint8_t *bytes = data;

	d->writer = (struct writer){.out = put_head(out)};
	memset(d->last, 0xff, sizeof(d->last));
	for (size_t at = add_symbols(d, bytes, size); at < size; at++)
		add_byte(d, bytes[at]);
	put_block(d, true);
	if (d->writer.bit_count) {
		d->writer.bit_count = 8;
		put_bytes(&d->writer);
	}
	return (size_t)(put_sum(d->writer.out, data, size) - out);
}
