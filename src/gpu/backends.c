// SPDX-License-Identifier: MIT
#include "gpu/amd/amd.h"
#include "gpu/backend.h"
#include "gpu/injected/backend.h"
#include "gpu/intel/intel.h"
#include "gpu/levelzero/levelzero.h"
#include "gpu/nvidia/nvidia.h"
#include "gpu/opencl/opencl.h"

const struct gpu_backend_ops *const gpu_backends[] = {
	&injected_backend,
	&nvidia_backend,
	&opencl_backend,
	&levelzero_backend,
	&amd_backend,
	/* behind what reports where code is */
	&intel_backend,
	NULL,
};
