// SPDX-License-Identifier: MIT
/* AMD's GPUs are recorded where their driver may be used, and rocprofiler-sdk is installed. Most
 * machines have none, and lack nothing. */
#include "cmd/doctor/amd/checks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vendor/amd/amd.h"

static bool has_driver(const struct doctor *d)
{
	return doctor_exists(d, AMD_DRIVER_NODE);
}

static bool has_gpu(const struct doctor *d)
{
	static const char vendor[] = "0x1002";

	return has_driver(d) || doctor_has_render_node(d, vendor) ||
	       doctor_has_device(d, vendor, "0x03") || doctor_has_device(d, vendor, "0x12");
}

static bool may_use_driver(const struct doctor *d)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" AMD_DRIVER_NODE, d->root);
	return !access(path, R_OK | W_OK);
}

static void check_driver(struct doctor *d, struct finding *f)
{
	if (!doctor_has_gpu(d, &amd_table)) {
		finding_is(f, FINDING_OK, "no GPU of AMD's here (" AMD_DRIVER_NODE ")");
	} else if (!has_driver(d)) {
		finding_is(f, FINDING_MISSING, "no " AMD_DRIVER_NODE ": programs cannot use HIP");
		finding_step(f, "sudo modprobe amdgpu, or hand the nodes to this container "
				"(docker: --device " AMD_DRIVER_NODE " --device /dev/dri)");
	} else if (may_use_driver(d)) {
		finding_is(f, FINDING_OK, "programs of yours may use " AMD_DRIVER_NODE);
	} else {
		finding_is(f, FINDING_MISSING, "programs of yours may not use " AMD_DRIVER_NODE);
		finding_step_group(f, d, AMD_DRIVER_NODE);
	}
}

/* Where the loader finds it, and where AMD installs it. */
static bool find_tracer(struct library_probe *ret)
{
	char path[PATH_MAX];

	library_probe(AMD_TRACER_SONAME, NULL, ret);
	for (const char *const *folder = amd_folders; *folder && !ret->loaded; folder++) {
		snprintf(path, sizeof(path), "%s/" AMD_TRACER_SONAME, *folder);
		if (!access(path, R_OK))
			library_probe(path, NULL, ret);
	}
	return ret->loaded;
}

static void check_tracer(struct doctor *d, struct finding *f)
{
	struct library_probe tracer;

	if (find_tracer(&tracer)) {
		finding_is(f, FINDING_OK, "'%s': programs that use HIP are recorded", tracer.path);
	} else if (!doctor_has_gpu(d, &amd_table)) {
		finding_is(f, FINDING_OK, "no rocprofiler-sdk here, and nothing to use it for");
	} else {
		finding_is(f, FINDING_MISSING,
			"rocprofiler-sdk 1.x is not here (" AMD_TRACER_SONAME
			"): AMD's GPUs are not recorded");
		finding_step(f, "sudo apt install rocprofiler-sdk, from AMD's packages of ROCm 7.0 "
				"or later (amdrocm-profiler-base in the latest)");
	}
}

static void check_tools(struct doctor *d, struct finding *f)
{
	const char *set = getenv(AMD_TOOLS_VARIABLE);

	if (set && *set)
		finding_is(f, FINDING_OK,
			"$" AMD_TOOLS_VARIABLE " names '%s', which stays beside ours", set);
	else
		finding_is(f, FINDING_OK, "$" AMD_TOOLS_VARIABLE " is free");
}

static const struct doctor_check checks[] = {
	{"amd_driver", "AMD GPUs", SIDE_GPU, check_driver},
	{"amd_tracer", "AMD tracer", SIDE_GPU, check_tracer},
	{"amd_tools", "AMD tools", 0, check_tools},
	{NULL},
};

static const char *const opencl_drivers[] = {"amdocl", "RusticlOpenCL", "MesaOpenCL", NULL};

const struct doctor_table amd_table = {
	.checks = checks,
	.vendor = "AMD",
	.has_gpu = has_gpu,
	.opencl_drivers = opencl_drivers,
	.opencl_step = "sudo apt install rocm-opencl, from AMD's packages of ROCm",
};
