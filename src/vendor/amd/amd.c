// SPDX-License-Identifier: MIT
#include "vendor/amd/amd.h"

#include "vendor/amd/calls.h"
#include "vendor/amd/stalls.h"

static const struct vendor_api apis[] = {
	{"hip", "HIP", "HIP"},
	{0},
};

static const char *const launching_calls[] = {"hipLaunchKernel", "hipLaunchCooperativeKernel",
	"hipLaunchByPtr", "hipExtLaunch", "hipModuleLaunch", "hipExtModuleLaunch",
	"hipHccModuleLaunch", "hipDrvLaunch", "hipGraphLaunch", NULL};

static const char *const launch_stubs[] = {"__device_stub__", NULL};

static const char *const libraries[] = {"libamdhip64", "libhsa-runtime64", "libhsa-amd-aqlprofile",
	"librocprofiler-sdk", "librocprofiler-register", "librocprofiler64", "libroctracer64",
	"libhiprtc", NULL};

/* What programs map that use HIP. */
static const char *const drivers[] = {"libamdhip64.so", NULL};

const char *const amd_folders[] = {"/opt/rocm/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64",
	"/usr/lib", "/usr/local/lib", NULL};

static const struct vendor_feature features[] = {
	{"code", VENDOR_RUN},
	{"calls and work", VENDOR_REPLAYED},
	{"instructions", VENDOR_REPLAYED},
	{0},
};

const struct vendor vendor_amd = {
	.name = "AMD",
	.apis = apis,
	.launching_calls = launching_calls,
	.launch_stubs = launch_stubs,
	.libraries = libraries,
	.other_drivers = drivers,
	.injection_variable = AMD_TOOLS_VARIABLE,
	.stalls = &amd_stalls,
	.unseen = "there is no rocprofiler-sdk for it, or it ran already",
	.api = AMD_API,
	.features = features,
};
