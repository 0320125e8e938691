// SPDX-License-Identifier: MIT
#include "vendor/nvidia/nvidia.h"

#include "vendor/nvidia/environment.h"
#include "vendor/nvidia/libraries.h"

static const struct vendor_feature features[] = {
	{"calls and work", VENDOR_MEASURED},
	{"instructions", VENDOR_MEASURED},
	{"counters", VENDOR_MEASURED},
	{"programs that run already", VENDOR_MEASURED},
	{"probes in kernels", VENDOR_MEASURED},
	{0},
};

const struct vendor vendor_nvidia = {
	.name = "NVIDIA",
	.apis = nvidia_apis,
	.launching_calls = nvidia_launching_calls,
	.launch_stubs = nvidia_launch_stubs,
	.libraries = nvidia_libraries,
	.driver_library = NVIDIA_DRIVER_LIBRARY,
	.joined_by = NVIDIA_DRIVER_LIBRARY,
	.driver_calls = nvidia_driver_calls,
	.tracer_library = NVIDIA_TRACER_LIBRARY ".so",
	.injection_variable = NVIDIA_INJECTION_VARIABLE,
	.stalls = &nvidia_stalls,
	.counters = nvidia_counters,
	.features = features,
};
