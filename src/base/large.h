/* SPDX-License-Identifier: MIT */
/*
 * Arrays of many megabytes: the kernel is asked to back them with large pages where it has some,
 * as a page fault for each 4 KiB takes longer than what is then done with the items. A hint only:
 * without large pages everything works as before.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/vec.h"

#define LARGE_BYTES ((size_t)4 << 20) /* from there on; a large page has 2 MiB mostly */
#define LARGE_ALIGN ((uintptr_t)4096)

/* Of memory from malloc or realloc. Covers the whole pages that it touches, so that an allocation
 * of its own stays one mapping, which realloc can move without a copy. */
static inline void large_advise(void *memory, size_t bytes)
{
	uintptr_t first = (uintptr_t)memory & ~(LARGE_ALIGN - 1);

	if (memory && bytes >= LARGE_BYTES)
		(void)madvise((void *)first, (uintptr_t)memory + bytes - first, MADV_HUGEPAGE);
}

/* As malloc, of `count` items; NULL also where their bytes overflow. For free(). */
static inline void *large_alloc(size_t count, size_t size)
{
	size_t bytes;
	void *memory;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	memory = malloc(bytes ? bytes : 1);
	large_advise(memory, bytes);
	return memory;
}

/* As calloc. */
static inline void *large_zeros(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	large_advise(memory, count * size);
	return memory;
}

/* As vec_push, for arrays that grow large. */
#define large_push(v, ...)                                                                         \
	({                                                                                         \
		size_t large_before_ = (v)->capacity;                                              \
		int large_error_ = vec_push((v), __VA_ARGS__);                                     \
		if ((v)->capacity != large_before_)                                                \
			large_advise((v)->items, (v)->capacity * sizeof(*(v)->items));             \
		large_error_;                                                                      \
	})
