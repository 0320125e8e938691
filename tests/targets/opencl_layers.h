/* SPDX-License-Identifier: MIT */
/*
 * For programs with an OpenCL driver of their own: what the loader does with $OPENCL_LAYERS, and
 * what drivers do to answer a question. `layers` is what such a program calls.
 */
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "inject/opencl/abi.h"

static void *layers[OPENCL_ENTRIES];

static inline int32_t answer(
	const void *from, size_t have, size_t size, void *value, size_t *ret_size)
{
	if (value && size < have)
		return OPENCL_INVALID_VALUE;
	if (value)
		memcpy(value, from, have);
	if (ret_size)
		*ret_size = have;
	return 0;
}

/* Each layer gets a table that stays, as it may call it at any time. */
static inline void load_layer(const char *path)
{
	void *library = dlopen(path, RTLD_NOW), **below = malloc(sizeof(layers));
	int32_t (*init)(uint32_t, void *const *, uint32_t *, void *const **);
	void *const *given;
	uint32_t count;

	*(void **)&init = library ? dlsym(library, "clInitLayer") : NULL;
	if (!init || !below)
		return;
	memcpy(below, layers, sizeof(layers));
	if (init(OPENCL_ENTRIES, below, &count, &given) || count > OPENCL_ENTRIES)
		exit(1);
	memcpy(layers, given, count * sizeof(layers[0]));
}

/* The first is nearest to the driver. */
static inline void load_layers(void *const driver[OPENCL_ENTRIES])
{
	const char *list = getenv("OPENCL_LAYERS");
	char *copy = list ? strdup(list) : NULL, *rest = NULL;

	memcpy(layers, driver, sizeof(layers));
	for (char *path = copy ? strtok_r(copy, ":", &rest) : NULL; path;
		path = strtok_r(NULL, ":", &rest))
		load_layer(path);
	free(copy);
}
