// SPDX-License-Identifier: MIT
#include "vendor/opencl/opencl.h"

#include "vendor/opencl/calls.h"

static const struct vendor_api apis[] = {
	{"cl", "OpenCL", "OpenCL"},
	{0},
};

static const char *const launching_calls[] = {"clEnqueueNDRangeKernel", "clEnqueueTask",
	"clEnqueueNativeKernel", "clEnqueueCommandBuffer", NULL};

static const char *const libraries[] = {OPENCL_LOADER, "libpocl", "libRusticlOpenCL",
	"libMesaOpenCL", "libigdrcl", "libnvidia-opencl", "libamdocl", "libintelocl", NULL};

/* The loader maps one of them in the program's first call, and layers at the same time. Programs
 * that are linked to one directly have no layers. */
const char *const opencl_drivers[] = {"libpocl.so", "libRusticlOpenCL.so", "libMesaOpenCL.so",
	"libigdrcl.so", "libnvidia-opencl.so", "libamdocl64.so", "libintelocl.so", NULL};

static const struct vendor_feature features[] = {
	{"NVIDIA's driver", VENDOR_MEASURED},
	{"Intel's driver", VENDOR_RUN},
	{"PoCL and rusticl (CPUs)", VENDOR_RUN},
	{"other drivers", VENDOR_READ},
	{0},
};

const struct vendor vendor_opencl = {
	.name = "OpenCL",
	.apis = apis,
	.launching_calls = launching_calls,
	.libraries = libraries,
	.other_drivers = opencl_drivers,
	.unseen = "its drivers found no device, or its loader knows no layers, as that of the CUDA "
		  "toolkit, or had not their "
		  "variable (" OPENCL_LAYERS_VARIABLE "), as in a program with other rights than "
		  "its user's (setuid) or a cleared environment, or it is linked to a driver, or "
		  "it ran already",
	.api = OPENCL_API,
	.injection_variable = OPENCL_LAYERS_VARIABLE,
	.features = features,
};
