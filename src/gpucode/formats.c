// SPDX-License-Identifier: MIT
/* One row a format. Nothing else is in this file, so that tests can have a table of their own. */
#include "gpucode/amd/format.h"
#include "gpucode/format.h"
#include "gpucode/intel/format.h"
#include "gpucode/nvidia/format.h"

const struct gpucode_format *const gpucode_formats[] = {
	&cubin_format,
	&zebin_format,
	&amd_object_format,
	NULL,
};
