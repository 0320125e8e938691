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

/* What programs map that use Level Zero on a GPU; Intel's OpenCL driver maps it, too. */
static const char *const drivers[] = {"libze_intel_gpu.so", NULL};

/* Of drivers that are patched for iaprof: graphics-stack/compute-runtime-usdt-*.diff there. The
 * first argument of the former is where the heap of code begins. */
static const struct vendor_probe probes[] = {
	{"level_zero:launch_kernel", VENDOR_PROBE_KERNEL, .address = 1, .size = 2, .text = 3},
	{"level_zero:compile_kernel", VENDOR_PROBE_IMAGE, .text = 0},
	{0},
};

static const struct vendor_feature features[] = {
	{"calls and work", VENDOR_RUN},
	{"programs that run already", VENDOR_RUN},
	{"code", VENDOR_RUN},
	{"instructions", VENDOR_REPLAYED},
	{"probes of the driver", VENDOR_REPLAYED},
	{0},
};

const struct vendor vendor_intel = {
	.name = "Intel",
	.apis = apis,
	.launching_calls = launching_calls,
	.libraries = libraries,
	.other_drivers = drivers,
	.joined_by = LEVELZERO_LOADER_SONAME,
	.mapped_by = "OpenCL",
	.driver_probes = probes,
	.code_format = "zebin",
	.stalls = &intel_stalls,
	.unseen =
		"it is linked to a driver or has the loader linked in, or its loader has no "
		"tracing layer, or nothing was preloaded, as in a program with other rights than "
		"its user's (setuid) or a cleared environment ('xpuprof record -p' records these, "
		"with a loader from 1.20 on), or it ran already, with a loader before 1.20 or "
		"with CUDA beside it",
	.api = LEVELZERO_API,
	.features = features,
};
