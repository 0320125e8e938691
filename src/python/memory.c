// SPDX-License-Identifier: MIT
#include "python/memory.h"

#include <sys/uio.h>

static bool read_process(const struct python_memory *m, uint64_t address, void *ret, size_t size)
{
	struct iovec here = {ret, size};
	struct iovec there = {(void *)(uintptr_t)address, size};

	return process_vm_readv((pid_t)m->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

struct python_memory python_memory_of(uint32_t pid)
{
	return (struct python_memory){.read = read_process, .pid = pid};
}
