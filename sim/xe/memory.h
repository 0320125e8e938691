/* SPDX-License-Identifier: MIT */
/*
 * Memory of a simulated node: buffers are parts of the file that stands for the node, so a program
 * maps them as it does those of a real one; address spaces say which are where for the GPU.
 */
#pragma once

#include <stddef.h>

#include "uapi.h"

struct memory;

/* fd is the node's file and stays the caller's. NULL: none to be had. */
struct memory *memory_new(int fd, unsigned int va_bits);
void memory_free(struct memory *m);

/* These return 0 or a negative error. */
int memory_make(struct memory *m, uint64_t size, uint32_t *ret_handle);
int memory_close(struct memory *m, uint32_t handle);
int memory_offset(struct memory *m, uint32_t handle, uint64_t *ret_offset);
int memory_bind(struct memory *m, uint32_t vm, const struct xe_bind_op *op);

/*
 * Where the GPU's address is in this process; NULL: not all of it is bound together. It stays valid
 * as long as the program keeps it bound, as it does while the GPU works with it.
 */
void *memory_at(struct memory *m, uint32_t vm, uint64_t address, size_t size);
