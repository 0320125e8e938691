/* SPDX-License-Identifier: MIT */
/* What modules and libraries have in common. */
#pragma once

#include <stdbool.h>

#include "preload/nvidia/abi.h"

/* How images are loaded and unloaded: modules or libraries. */
struct loader {
	bool is_library;
	cu_result (*load)(void *context, const void *image, void **ret);
	void (*unload)(void *context, void *handle);
	void *context;
};
