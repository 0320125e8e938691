// SPDX-License-Identifier: MIT
/* What names mean to GPU vendors. */
#include <string.h>

#include "tap.h"
#include "vendor/vendor.h"

static const char *category_of(const char *name)
{
	const struct vendor_api *api = vendor_api_of(name, strlen(name));

	return api ? api->category : "";
}

static void a_call_is_of_the_api_that_its_name_begins_with(void)
{
	CHECK_TEXT(category_of("cudaLaunchKernel"), "CUDA_Runtime");
	CHECK_TEXT(category_of("cuLaunchKernelEx_ptsz"), "CUDA_Driver");
	CHECK(vendor_api_of("cuMemcpyAsync(args)", 13) &&
		!vendor_api_of("cuMemcpyAsync(args)", 19));
}

static void functions_that_begin_otherwise_are_of_no_api(void)
{
	static const char *const names[] = {"", "cu", "cuda", "cudamain", "curl_easy_init", "cut",
		"cudaé", "my::cudaMalloc", "cuda_helper", "_cuInit"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_TEXT(category_of(names[i]), "");
}

static void calls_that_launch_are_distinguished_from_others(void)
{
	CHECK(vendor_is_launching_call("cudaLaunchKernel") &&
		vendor_is_launching_call("cuGraphLaunch_ptsz"));
	CHECK(!vendor_is_launching_call("cudaMemcpy") && !vendor_is_launching_call("launch") &&
		!vendor_is_launching_call(""));
}

static void what_a_compiler_puts_before_a_launch_is_identified_by_its_name(void)
{
	CHECK(vendor_is_launch_stub("__device_stub__Z4gemmPf"));
	CHECK(vendor_is_launch_stub("_ZL23__device_stub__Z4gemmPfPf"));
	CHECK(vendor_is_launch_stub(
		"_ZL25__cudaLaunchKernel_helperP9CUkern_st4dim3S1_PPvmP11CUstream_st"));
	CHECK(vendor_is_launch_stub("_ZN2atL27__wrapper__device_stub_gemmIfEEvRPf"));
	CHECK(vendor_is_launch_stub(
		"_Z16cudaLaunchKernelIcE9cudaErrorPT_4dim3S2_PPvmP11CUstream_st"));
	CHECK(vendor_is_launch_stub("_ZL18cudaLaunchKernelExIJPfEJS0_EE9cudaErrorPK"));
	CHECK(vendor_is_launch_stub(
		"_ZZL18cudaLaunchKernelExIJPfEJS0_EE9cudaErrorENKUlS0_E_clES0_"));
}

static void functions_of_the_program_are_no_stubs(void)
{
	static const char *const names[] = {"", "main", "cudaLaunchKernel", "_Z4gemmPf",
		"_Z16cudaLaunchKernelv", "_Z4copyIcEvPT_", "_ZN2my16cudaLaunchKernelIcEEvv",
		"my__device_stub__Z4gemmPf", "_Z", "_Z99cudaLaunchKernelIcE",
		"_Z99999999999999999999999cudaLaunchKernelIcE", "_Z0IcE"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (vendor_is_launch_stub(names[i]))
			CHECK_TEXT(names[i], "no stub");
}

static void libraries_between_a_program_and_its_gpu_are_identified_by_their_files(void)
{
	CHECK(vendor_is_gpu_library("/usr/lib/libcuda.so.1") &&
		vendor_is_gpu_library("libcupti.so.13"));
	CHECK(vendor_is_gpu_library("/site-packages/torch/lib/libcudart-d0da41ae.so.11.0"));
	CHECK(vendor_is_gpu_library("/usr/lib/xpuprof/libxpuprof-inject.so"));
	CHECK(!vendor_is_gpu_library("/usr/lib/libcublas.so.12") &&
		!vendor_is_gpu_library("/opt/libcuda.so/a.so"));
}

static void the_drivers_library_is_one_of_them(void)
{
	CHECK(vendor_is_driver_library("/usr/lib/libcuda.so.580.95.05"));
	CHECK(!vendor_is_driver_library("/usr/lib/libcudart.so.13") &&
		!vendor_is_driver_library("/bin/true"));
	CHECK(vendor_is_tracer("/usr/lib/libcupti.so.13") &&
		!vendor_is_tracer("/usr/lib/libcuda.so.1"));
	vendors_foreach(v)
		CHECK(!(*v)->driver_library || vendor_is_gpu_library((*v)->driver_library));
}

static void a_driver_that_another_apis_maps_is_no_use_of_its_own(void)
{
	uint32_t level_zero = vendor_apis_of_driver("/usr/lib/libze_intel_gpu.so.1"),
		 opencl = vendor_apis_of_driver("/usr/lib/intel-opencl/libigdrcl.so");

	CHECK(level_zero && opencl && level_zero != opencl);
	CHECK(vendor_apis_used(level_zero) == level_zero && vendor_apis_used(opencl) == opencl);
	CHECK(vendor_apis_used(level_zero | opencl) == opencl);
	CHECK(!vendor_apis_used(0));
}

int main(void)
{
	RUN(a_call_is_of_the_api_that_its_name_begins_with);
	RUN(functions_that_begin_otherwise_are_of_no_api);
	RUN(calls_that_launch_are_distinguished_from_others);
	RUN(what_a_compiler_puts_before_a_launch_is_identified_by_its_name);
	RUN(functions_of_the_program_are_no_stubs);
	RUN(libraries_between_a_program_and_its_gpu_are_identified_by_their_files);
	RUN(the_drivers_library_is_one_of_them);
	RUN(a_driver_that_another_apis_maps_is_no_use_of_its_own);
	return tap_end();
}
