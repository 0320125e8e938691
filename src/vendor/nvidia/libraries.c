// SPDX-License-Identifier: MIT
#include "vendor/nvidia/libraries.h"

#include <stddef.h>

#include "vendor/nvidia/nvidia.h"

const char *const nvidia_libraries[] = {
	NVIDIA_DRIVER_LIBRARY, NVIDIA_RUNTIME_LIBRARY, NVIDIA_TRACER_LIBRARY, NULL};
