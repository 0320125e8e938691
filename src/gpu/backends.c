// SPDX-License-Identifier: MIT
#include "gpu/backend.h"
#include "gpu/nvidia/nvidia.h"

const struct gpu_backend_ops *const gpu_backends[] = {
	&nvidia_backend,
	NULL,
};
