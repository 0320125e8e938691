// SPDX-License-Identifier: MIT
#include "vendor/intel/intel.h"

#include "vendor/intel/calls.h"

static const struct vendor_api apis[] = {
	{"ze", "Level Zero", "Level_Zero"},
	{0},
};

static const char *const launching_calls[] = {
	"zeCommandListAppendLaunchKernel", "zeCommandListAppendLaunchCooperativeKernel", NULL};

static const char *const libraries[] = {
	"libze_loader", "libze_tracing_layer", "libze_validation_layer", "libze_intel_gpu", NULL};

/* What programs map that use Level Zero on a GPU; OpenCL has its own driver. */
static const char *const drivers[] = {"libze_intel_gpu.so", NULL};

const struct vendor vendor_intel = {
	.name = "Intel",
	.apis = apis,
	.launching_calls = launching_calls,
	.libraries = libraries,
	.other_drivers = drivers,
	.stalls = &intel_stalls,
	.unseen = "it found zeInit by dlsym or is linked to a driver, or its loader has no tracing "
		  "layer, or it ran already",
	.api = LEVELZERO_API,
};
