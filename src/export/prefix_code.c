// SPDX-License-Identifier: MIT
/*
 * Only how many codes there are of each size matters: the symbols that come most get the shortest.
 * Huffman's tree is built over the counts in rising order, where the trees that were joined rise as
 * well: so there are two rows, and the least is at the head of one. A tree that is too deep has its
 * deepest leaves moved up, and others down, until the codes fit again; that is hardly worse than
 * the best.
 */
#include "export/prefix_code.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64 /* counts grow as Fibonacci's numbers in the deepest tree */

struct leaf {
	uint32_t count;
	uint32_t symbol;
};

static int by_count(const void *a, const void *b)
{
	const struct leaf *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return x->symbol < y->symbol ? -1 : 1;
}

/* Those that come, at least two, in rising order. */
static size_t find_leaves(struct leaf *leaves, const uint32_t *counts, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (counts[i])
			leaves[count++] = (struct leaf){counts[i], (uint32_t)i};
	for (uint32_t i = 0; count < 2; i++)
		if (!counts[i])
			leaves[count++] = (struct leaf){1, i};
	qsort(leaves, count, sizeof(*leaves), by_count);
	return count;
}

/* How many leaves there are in each depth. Nodes: the leaves, then what joins two, in the order in
 * which they were joined; the last one is the root. */
static void count_depths(const struct leaf *leaves, size_t count, unsigned int *ret_at_depth)
{
	uint32_t sums[2 * PREFIX_CODES_MAX];
	uint16_t parents[2 * PREFIX_CODES_MAX];
	uint8_t depths[2 * PREFIX_CODES_MAX];
	size_t leaf = 0, joined = count, root = 2 * count - 2;

	for (size_t i = 0; i < count; i++)
		sums[i] = leaves[i].count;
	for (size_t node = count; node <= root; node++) {
		sums[node] = 0;
		for (int i = 0; i < 2; i++) {
			bool is_leaf =
				leaf < count && (joined == node || sums[leaf] <= sums[joined]);
			size_t least = is_leaf ? leaf++ : joined++;

			sums[node] += sums[least];
			parents[least] = (uint16_t)node;
		}
	}
	depths[root] = 0;
	for (size_t node = root; node--;) {
		depths[node] = (uint8_t)(depths[parents[node]] + 1);
		if (node < count)
			ret_at_depth[depths[node]]++;
	}
}

/* A code of n bits takes up 2^(longest - n) of the 2^longest that there are. */
static void limit_depths(unsigned int *at_depth, unsigned int longest)
{
	uint32_t taken = 0;

	for (unsigned int depth = longest + 1; depth < DEPTH_MAX; depth++)
		at_depth[longest] += at_depth[depth];
	for (unsigned int depth = 1; depth <= longest; depth++)
		taken += at_depth[depth] << (longest - depth);
	for (; taken > 1u << longest; taken--) {
		unsigned int depth = longest - 1;

		while (!at_depth[depth])
			depth--;
		/* One of the longest becomes the sister of a leaf that goes down. */
		at_depth[longest]--;
		at_depth[depth]--;
		at_depth[depth + 1] += 2;
	}
}

static uint16_t turned(unsigned int bits, unsigned int size)
{
	unsigned int out = 0;

	for (unsigned int i = 0; i < size; i++)
		out |= (bits >> i & 1) << (size - 1 - i);
	return (uint16_t)out;
}

/* Codes of a size follow each other in the order of their symbols, those of the next size behind
 * them. */
static void number_codes(
	struct prefix_code *codes, size_t n, const unsigned int *at_depth, unsigned int longest)
{
	unsigned int next = 0;

	for (unsigned int size = 1; size <= longest; size++) {
		next = (next + (size > 1 ? at_depth[size - 1] : 0)) << 1;
		for (size_t i = 0, code = next; i < n; i++)
			if (codes[i].size == size)
				codes[i].bits = turned((unsigned int)code++, size);
	}
}

void prefix_codes(struct prefix_code *codes, const uint32_t *counts, size_t n, unsigned int longest)
{
	struct leaf leaves[PREFIX_CODES_MAX];
	unsigned int at_depth[DEPTH_MAX] = {0};
	size_t count = find_leaves(leaves, counts, n), leaf = 0;

	count_depths(leaves, count, at_depth);
	limit_depths(at_depth, longest);
	memset(codes, 0, n * sizeof(*codes));
	for (unsigned int size = longest; size; size--)
		for (unsigned int i = 0; i < at_depth[size]; i++)
			codes[leaves[leaf++].symbol].size = (uint16_t)size;
	number_codes(codes, n, at_depth, longest);
}
