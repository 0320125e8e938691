// SPDX-License-Identifier: MIT
#include "preload/nvidia/sites.h"

#include <pthread.h>

#include "base/vec.h"

#define IMAGES_MAX 65536 /* images that are told from others */

/* Images whose accesses have numbers, by what xpuprof is told of these. */
struct numbered {
	uint64_t hash, first;
	size_t count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct vec(struct numbered) all;
static uint64_t next;

/* The kernel, the number in it and the bytes of each. */
static uint64_t hash_of(const struct ptx_spliced *s)
{
	uint64_t hash = 0;

	vec_foreach (l, &s->lines) {
		const uint64_t words[] = {
			hash, s->kernels.items[l->kernel].hash, l->insn, l->bytes};

		hash = ptx_hash((const char *)words, sizeof(words));
	}
	return hash;
}

static uint64_t add(uint64_t hash, size_t count)
{
	struct numbered new = {hash, next, count};

	if (all.count < IMAGES_MAX)
		(void)vec_push(&all, new);
	next += count;
	return new.first;
}

static uint64_t find(uint64_t hash, size_t count)
{
	vec_foreach (n, &all)
		if (n->hash == hash && n->count == count)
			return n->first;
	return add(hash, count);
}

uint64_t sites_number(const struct ptx_spliced *s)
{
	uint64_t hash = hash_of(s), first;

	pthread_mutex_lock(&lock);
	first = find(hash, s->lines.count);
	pthread_mutex_unlock(&lock);
	return first;
}
