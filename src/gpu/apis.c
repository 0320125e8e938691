// SPDX-License-Identifier: MIT
/* The APIs whose calls and work the library in programs reports, by their numbers on the wire. */
#include "gpu/amd/tracer.h"
#include "gpu/injected/injected.h"
#include "gpu/levelzero/tracer.h"
#include "gpu/nvidia/tracer.h"
#include "gpu/opencl/tracer.h"

const struct injected_api *const injected_apis[WIRE_APIS] = {
	&nvidia_api,
	[OPENCL_API] = &opencl_api,
	[LEVELZERO_API] = &levelzero_api,
	[AMD_API] = &amd_api,
};
