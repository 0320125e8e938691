// SPDX-License-Identifier: MIT
/*
 * Two tables of ranges, one to read and one to fill; `turn` tells which, and counts. A reader that was
 * preempted for two whole turns in the middle of a search notices by `turn` and says "no code", which at
 * worst costs a probe. Answers are remembered by address, because return addresses repeat:
 *
 *	  63        48 47                                1   0
 *	 +------------+-----------------------------------+------+
 *	 |    turn    |         address >> 0 (47 bits)    | code |
 *	 +------------+-----------------------------------+------+
 */
#include "inject/code_map.h"

#include <errno.h>
#include <sys/mman.h>

#include "inject/library.h"

#define MAX_RANGES  16384
#define CACHE_SLOTS 2048
#define USER_END    ((uintptr_t)1 << 47)

struct range {
	uintptr_t start, end;
};

struct table {
	uint32_t count;
	struct range ranges[MAX_RANGES];
};

struct code_map {
	uint64_t cache[CACHE_SLOTS];
	uint32_t turn;       /* tables[turn & 1] is to be read; 0: nothing was ever read */
	uint32_t generation; /* of the recorder, that the readable table answers */
	uint32_t filling;    /* the generation asked for when filling began */
	bool overflow;       /* the table being filled is incomplete */
	uint32_t overflowed; /* the generation that had more code than fits; 0: none had */
	struct table tables[2];
};

static struct code_map *map;

int code_map_init(void)
{
	void *memory = mmap(NULL, sizeof(struct code_map), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	madvise(memory, sizeof(struct code_map), MADV_DONTFORK);
	map = memory;
	return 0;
}

static uint32_t wanted_generation(void)
{
	return __atomic_load_n(&library.ring.control->code_generation, __ATOMIC_ACQUIRE);
}

bool code_map_is_current(uint32_t *ret_generation)
{
	*ret_generation = __atomic_load_n(&map->generation, __ATOMIC_ACQUIRE);
	return __atomic_load_n(&map->turn, __ATOMIC_ACQUIRE) && *ret_generation == wanted_generation();
}

bool code_map_is_wanted(void)
{
	uint32_t generation = wanted_generation();

	return !map->turn || (generation != map->generation && generation != map->overflowed);
}

/* The ranges are sorted and apart. */
static bool search(const struct table *t, uintptr_t address)
{
	uint32_t low = 0, high = t->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (t->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < t->count && t->ranges[low].start <= address;
}

bool code_map_has(uintptr_t address)
{
	uint32_t turn = __atomic_load_n(&map->turn, __ATOMIC_ACQUIRE);
	uint64_t tag = (uint64_t)(uint16_t)turn << 48 | (uint64_t)address << 1, cached;
	uint64_t *slot = &map->cache[(address * 0x9e3779b97f4a7c15ull >> 32) % CACHE_SLOTS];
	bool is_code;

	if (address >= USER_END)
		return false;
	cached = __atomic_load_n(slot, __ATOMIC_RELAXED);
	if ((cached & ~1ull) == tag)
		return cached & 1;
	is_code = search(&map->tables[turn & 1], address);
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the search comes before the second look */
	if (__atomic_load_n(&map->turn, __ATOMIC_ACQUIRE) != turn)
		return false;
	__atomic_store_n(slot, tag | is_code, __ATOMIC_RELAXED);
	return is_code;
}

void code_map_begin(void)
{
	map->filling = wanted_generation();
	map->overflow = false;
	map->tables[(map->turn + 1) & 1].count = 0;
}

void code_map_add(uintptr_t start, uintptr_t end)
{
	struct table *t = &map->tables[(map->turn + 1) & 1];

	if (t->count && t->ranges[t->count - 1].end == start)
		t->ranges[t->count - 1].end = end;
	else if (t->count < MAX_RANGES)
		t->ranges[t->count++] = (struct range){start, end};
	else
		map->overflow = true;
}

/* An incomplete table is worse than none: the old one stays, and is not current. */
void code_map_end(void)
{
	if (map->overflow) {
		map->overflowed = map->filling;
		return;
	}
	__atomic_store_n(&map->turn, map->turn + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&map->generation, map->filling, __ATOMIC_RELEASE);
}
