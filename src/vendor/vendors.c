// SPDX-License-Identifier: MIT
/* One row a vendor. Nothing else is in this file, so that tests can have a table of their own. */
#include "vendor/amd/amd.h"
#include "vendor/intel/intel.h"
#include "vendor/nvidia/nvidia.h"
#include "vendor/opencl/opencl.h"
#include "vendor/vendor.h"

const struct vendor *const vendors[] = {
	&vendor_nvidia,
	&vendor_opencl,
	&vendor_intel,
	&vendor_amd,
	NULL,
};
