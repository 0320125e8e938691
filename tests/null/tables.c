// SPDX-License-Identifier: MIT
/* The tables of vendors, with one row more each. */
#include "tables.h"

#include "gpu/injected/backend.h"
#include "gpu/nvidia/nvidia.h"
#include "gpucode/nvidia/format.h"
#include "vendor/nvidia/nvidia.h"

const struct gpu_backend_ops *const gpu_backends[] = {
	&injected_backend,
	&nvidia_backend,
	&null_backend,
	NULL,
};

const struct vendor *const vendors[] = {
	&vendor_nvidia,
	&vendor_null,
	NULL,
};

const struct gpucode_format *const gpucode_formats[] = {
	&cubin_format,
	&null_format,
	NULL,
};
