/* SPDX-License-Identifier: MIT */
/*
 * Memory for the PTX interpreter in tests: allocations that it knows, and launches of kernels; or
 * for a GPU (device_gpu.h).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "device_gpu.h"
#include "sim/ptx/ptx.h"

static struct {
	uint64_t base, bytes;
} device_allocations[64];
static size_t device_count;

static inline bool device_find(void *context, uint64_t at, uint64_t *ret_base, uint64_t *ret_bytes)
{
	for (size_t i = 0; i < device_count; i++)
		if (at - device_allocations[i].base < device_allocations[i].bytes) {
			*ret_base = device_allocations[i].base;
			*ret_bytes = device_allocations[i].bytes;
			return true;
		}
	return false;
}

/* Zeros, with nothing of ours behind them. */
static inline void *device_memory(size_t bytes)
{
	void *at =
		gpu_is_used() ? gpu_memory(bytes) : aligned_alloc(256, (bytes + 255) / 256 * 256);

	memset(at, 0, bytes);
	device_allocations[device_count].base = (uint64_t)(uintptr_t)at;
	device_allocations[device_count++].bytes = bytes;
	return at;
}

static inline void device_release(void)
{
	while (device_count) {
		void *at = (void *)(uintptr_t)device_allocations[--device_count].base;

		if (gpu_is_used())
			gpu_free(at);
		else
			free(at);
	}
}

/* A whole file, with a NUL. */
static inline char *device_text(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;

	if (!file || getdelim(&text, &room, 0, file) < 0)
		text = strdup("");
	if (file)
		fclose(file);
	return text;
}

static inline struct sim_ptx_launch device_launch(
	uint32_t blocks, uint32_t threads, const void *params)
{
	return (struct sim_ptx_launch){.grid = {blocks, 1, 1},
		.block = {threads, 1, 1},
		.params = params,
		.find = device_find,
		.fuel = 100000000};
}

/* Runs kernel "k" of a text. 0 or -errno with error_text. */
static inline int device_run(struct buf *text, const struct sim_ptx_launch *l)
{
	struct sim_ptx *module;
	int error;

	if (gpu_is_used()) {
		buf_putc(text, 0);
		gpu_run(text->failed ? "" : text->data, l->grid[0], l->block[0], l->params);
		return 0;
	}
	error = sim_ptx_load(text->data, text->size, &module);
	if (error)
		return error;
	error = sim_ptx_run(sim_ptx_kernel(module, "k"), l);
	sim_ptx_free(module);
	return error;
}
