/* SPDX-License-Identifier: MIT */
/*
 * Where libcupti is searched for, by three programs of ours: the library in the profiled program
 * (src/inject/cupti/find_cupti.c), the process that samples hardware counters
 * (src/gpu/nvidia/pm_library.c), and `xpuprof doctor`, which reports what these will find. Each
 * begins with what only it can see (what its process has mapped, what lies beside libcuda, what the
 * loader finds), and goes on with the paths here, in their order.
 *
 * Only tables: the library in the program is a link unit of its own and includes them, too.
 */
#pragma once

#include <stddef.h>

/* The versions that are understood; the newest is tried first where the driver does not report its
 * own. */
#define CUPTI_OLDEST 12
#define CUPTI_NEWEST 13

struct cupti_path {
	const char *what;
	const char *env;  /* a folder from the environment that the path begins in; NULL: / */
	const char *path; /* of Python's packages a pattern of glob() */
	const char *const *folders; /* below it, up to a NULL */
};

static const char *const cupti_itself[] = {"", NULL};

/* Below what holds Python's packages. */
static const char *const cupti_package_folders[] = {
	"/nvidia/cu13/lib", "/nvidia/cuda_cupti/lib", "/nvidia/cu12/lib", NULL};

static const char *const cupti_toolkit_folders[] = {"/extras/CUPTI/lib64", "/lib64", "/lib",
	"/targets/x86_64-linux/lib", "/targets/sbsa-linux/lib", "/targets/aarch64-linux/lib", NULL};

/* Beside the folder of a libcudart: there, in its toolkit, or in pip's package beside its own. */
static const char *const cupti_runtime_folders[] = {"", "/../extras/CUPTI/lib64",
	"/../../../extras/CUPTI/lib64", "/../../cuda_cupti/lib", NULL};

static const struct cupti_path cupti_package_paths[] = {
	{"Python package", "VIRTUAL_ENV", "/lib/python3*/site-packages", cupti_package_folders},
	{"Conda package", "CONDA_PREFIX", "/lib/python3*/site-packages", cupti_package_folders},
	{"Conda package", "CONDA_PREFIX", "/lib", cupti_itself},
	{"Python package", "HOME", "/.local/lib/python3*/site-packages", cupti_package_folders},
	{"Python package", NULL, "/usr/local/lib/python3*/*-packages", cupti_package_folders},
	{"Python package", NULL, "/usr/lib/python3*/*-packages", cupti_package_folders},
	{NULL},
};

static const struct cupti_path cupti_toolkit_paths[] = {
	{"toolkit", "CUDA_HOME", "", cupti_toolkit_folders},
	{"toolkit", "CUDA_PATH", "", cupti_toolkit_folders},
	{"toolkit", NULL, "/usr/local/cuda", cupti_toolkit_folders},
	{"toolkit", NULL, "/usr/local/cuda-13", cupti_toolkit_folders},
	{"toolkit", NULL, "/usr/local/cuda-12", cupti_toolkit_folders},
	{NULL},
};
