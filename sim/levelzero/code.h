/* SPDX-License-Identifier: MIT */
/*
 * Code of the simulated device: modules are zebins, whose kernels get places in its memory. A
 * kernel that runs leaves stall records (sim/xe/stalls.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sim_module;

/* Where a kernel is; nothing: it is in no module. */
struct sim_code {
	uint64_t address;
	const uint8_t *bytes;
	size_t size;
	uint32_t driver;
};

int32_t sim_module_make(const uint8_t *image, size_t size, uint32_t driver, void **ret);
int32_t sim_module_free(void *module);
int32_t sim_module_image(const struct sim_module *m, size_t *size, uint8_t *ret);
void sim_code_find(const struct sim_module *m, const char *name, struct sim_code *ret);
void sim_code_run(const struct sim_code *code, uint32_t tile);
