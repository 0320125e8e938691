/* SPDX-License-Identifier: MIT */
/*
 * The memory of the process whose Python is examined. It is read through a function pointer, so
 * that tests can supply damaged memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_memory {
	/* Copies all of it; false: it cannot be read. */
	bool (*read)(const struct python_memory *m, uint64_t address, void *ret, size_t size);
	void *context;
	uint32_t pid;
};

/* The memory of a running process, as far as we may read it. */
struct python_memory python_memory_of(uint32_t pid);

static inline bool python_read(
	const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	return m->read(m, address, ret, size);
}

static inline bool python_read_word(const struct python_memory *m, uint64_t address, uint64_t *ret)
{
	return m->read(m, address, ret, sizeof(*ret));
}
