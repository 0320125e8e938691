// SPDX-License-Identifier: MIT
/* Programs whose kernels compute, on the simulated driver (XPUPROF_SIM_COMPUTE). */
#include <stdio.h>

#include "sim_harness.h"

enum { COUNT = 5000 };

static char *file_of(const char *name)
{
	static char bytes[1 << 17];
	char path[200];
	FILE *file;

	snprintf(path, sizeof(path), "tests/data/ptx/%s", name);
	file = fopen(path, "re");
	CHECK(file && fread(bytes, 1, sizeof(bytes) - 1, file) > 0);
	if (file)
		fclose(file);
	return bytes;
}

#define FIND(name) (__typeof__(name) *)dlsym(RTLD_DEFAULT, #name)

static CUdeviceptr device(size_t bytes, const void *from)
{
	CUdeviceptr at = 0;

	OK(d.cuMemAlloc_v2(&at, bytes));
	if (from)
		OK(d.cuMemcpyHtoD_v2(at, from, bytes));
	else
		OK(d.cuMemsetD8_v2(at, 0, bytes));
	return at;
}

static float in[2][COUNT], out[COUNT];

static int wrong_sums(CUdeviceptr sum)
{
	int wrong = 0;

	OK(d.cuMemcpyDtoH_v2(out, sum, sizeof(out)));
	for (int i = 0; i < COUNT; i++)
		wrong += out[i] != in[0][i] + in[1][i];
	return wrong;
}

static CUfunction vector_add(void)
{
	start();
	for (int i = 0; i < COUNT; i++) {
		in[0][i] = (float)i;
		in[1][i] = (float)i / 8;
	}
	OK(d.cuModuleLoadData(&module, file_of("shapes-sm75.ptx")));
	return function("vector_add");
}

SIM_TEST(a_kernel_computes_what_its_ptx_says, "", "1")
{
	CUfunction f = vector_add();
	CUdeviceptr a = device(sizeof(in[0]), in[0]), b = device(sizeof(in[1]), in[1]);
	CUdeviceptr sum = device(sizeof(out), NULL);
	int n = COUNT;
	void *params[] = {&a, &b, &sum, &n};

	CHECK(wrong_sums(sum) == COUNT - 1);
	OK(d.cuLaunchKernel(f, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	OK(d.cuCtxSynchronize());
	CHECK(wrong_sums(sum) == 0);
}

SIM_TEST(parameters_may_come_as_one_block, "", "1")
{
	CUfunction f = vector_add();
	struct {
		CUdeviceptr a, b, c;
		int n;
	} block = {device(sizeof(in[0]), in[0]), device(sizeof(in[1]), in[1]),
		device(sizeof(out), NULL), COUNT};
	size_t bytes = sizeof(block);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE,
		&bytes, CU_LAUNCH_PARAM_END};

	OK(d.cuLaunchKernel(f, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
	CHECK(wrong_sums(block.c) == 0);
	bytes = 24;
	CHECK(d.cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra) ==
		CUDA_ERROR_INVALID_VALUE);
	CHECK(d.cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL) ==
		CUDA_ERROR_INVALID_VALUE);
}

static const char counting[] =
	".version 8.0\n.target sm_75\n.address_size 64\n.global .align 8 .u64 total = 40;\n"
	".visible .entry count(.param .u32 by, .param .u64 ids)\n{\n"
	"	.reg .b32 %r<3>; .reg .b64 %rd<6>; .reg .pred %p;\n"
	"	ld.param.u32 %r1, [by]; cvt.u64.u32 %rd1, %r1; red.global.add.u64 [total], %rd1;\n"
	"	ld.param.u64 %rd2, [ids]; setp.eq.u64 %p, %rd2, 0; @%p ret;\n"
	"	mov.u64 %rd3, %gridid; st.global.u64 [%rd2], %rd3;\n	ret;\n}\n";

static uint64_t total_of(CUdeviceptr total)
{
	uint64_t value = 0;

	OK(d.cuMemcpyDtoH_v2(&value, total, 8));
	return value;
}

static CUdeviceptr start_counting(CUfunction *ret)
{
	__typeof__(cuModuleGetGlobal_v2) *get = FIND(cuModuleGetGlobal_v2);
	CUdeviceptr total = 0;
	size_t bytes = 0;

	start();
	OK(d.cuModuleLoadData(&module, counting));
	*ret = function("count");
	OK(get(&total, &bytes, module, "total"));
	CHECK(bytes == 8 && total_of(total) == 40);
	CHECK(get(&total, &bytes, module, "missing") == CUDA_ERROR_NOT_FOUND);
	return total;
}

SIM_TEST(variables_of_a_module_are_read_and_set, "", "1")
{
	CUfunction f;
	CUdeviceptr total = start_counting(&f), ids = 0;
	uint64_t value = 1000;
	int by = 3;
	void *params[] = {&by, &ids};

	OK(d.cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	CHECK(total_of(total) == 40 + 2 * 64 * 3);
	OK(d.cuMemcpyHtoD_v2(total, &value, 8));
	OK(d.cuLaunchKernel(f, 1, 1, 1, 5, 1, 1, 0, NULL, params, NULL));
	CHECK(total_of(total) == 1015);
}

SIM_TEST(a_graph_computes_each_time_with_what_was_captured, "", "1")
{
	CUfunction f;
	CUdeviceptr total = start_counting(&f), ids = 0;
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;
	CUstream s;
	int by = 7;
	void *params[] = {&by, &ids};

	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(d.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
	OK(d.cuStreamEndCapture(s, &graph));
	by = 100000;
	CHECK(total_of(total) == 40);
	OK(d.cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(d.cuGraphLaunch(exec, s));
	OK(d.cuGraphLaunch(exec, s));
	OK(d.cuStreamSynchronize(s));
	CHECK(total_of(total) == 40 + 2 * 32 * 7);
}

SIM_TEST(a_kernel_knows_the_id_that_its_record_has, "", "1")
{
	CUfunction f;
	CUdeviceptr ids;
	uint64_t id[3] = {0};
	int kernels = 0;

	collect();
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	(void)start_counting(&f);
	ids = device(sizeof(id), NULL);
	OK(d.cuCtxSynchronize());
	flush();
	record_count = 0;
	for (int i = 0; i < 3; i++) {
		CUdeviceptr at = ids + 8 * (CUdeviceptr)i;
		int by = 1;
		void *params[] = {&by, &at};

		OK(d.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	}
	OK(d.cuCtxSynchronize());
	flush();
	OK(d.cuMemcpyDtoH_v2(id, ids, sizeof(id)));
	for (int i = 0; i < record_count; i++)
		if (records[i].any.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			CHECK(kernels < 3 && id[kernels] &&
				(uint64_t)records[i].kernel.gridId == id[kernels]);
			kernels++;
		}
	CHECK(kernels == 3);
}

SIM_TEST(the_ptx_of_fatbins_is_taken, "", "1")
{
	static const char *const names[] = {
		"tiny-none.fatbin", "tiny-speed.fatbin", "tiny-size.fatbin", "tiny-lines.fatbin"};
	__typeof__(cuLibraryLoadData) *load = FIND(cuLibraryLoadData);
	__typeof__(cuLibraryGetKernel) *get = FIND(cuLibraryGetKernel);
	CUdeviceptr numbers;
	int got[32], wrong = 0;
	void *params[] = {&numbers};

	start();
	numbers = device(sizeof(got), NULL);
	for (size_t i = 0; i < 4; i++) {
		struct {
			uint32_t magic, version;
			void *fatbin;
		} wrapper = {0x466243b1, 1, file_of(names[i])};
		CUlibrary library;
		CUkernel kernel;

		OK(load(&library, i % 2 ? (void *)&wrapper : wrapper.fatbin, NULL, NULL, 0, NULL,
			NULL, 0));
		OK(get(&kernel, library, "tiny"));
		OK(d.cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	}
	OK(d.cuMemcpyDtoH_v2(got, numbers, sizeof(got)));
	for (int i = 0; i < 32; i++)
		wrong += got[i] != 4 * 3;
	CHECK(wrong == 0);
}

SIM_TEST(an_instruction_that_is_not_interpreted_is_named, "", "1")
{
	static const char text[] = ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry "
				   "k()\n{\n	wgmma.fence.sync.aligned;\n}\n";
	__typeof__(cuModuleLoadDataEx) *load = FIND(cuModuleLoadDataEx);
	char log[200] = "";
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER};
	void *values[] = {(void *)sizeof(log), log};

	start();
	CHECK(load(&module, text, 2, options, values) == CUDA_ERROR_INVALID_PTX);
	CHECK_TEXT(log,
		"PTX line 6: an instruction that is not interpreted: 'wgmma.fence.sync.aligned'");
	values[0] = (void *)(uintptr_t)11;
	CHECK(load(&module, text, 2, options, values) == CUDA_ERROR_INVALID_PTX);
	CHECK_TEXT(log, "PTX line 6");
}

SIM_TEST(a_wrong_access_is_the_result_of_the_launch, "", "1")
{
	CUfunction f = vector_add();
	CUdeviceptr a = device(sizeof(in[0]), in[0]), b = device(sizeof(in[1]), in[1]);
	CUdeviceptr sum = device(sizeof(out), NULL);
	int n = COUNT + 20;
	void *params[] = {&a, &b, &sum, &n};

	CHECK(d.cuLaunchKernel(f, (COUNT + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL) ==
		CUDA_ERROR_ILLEGAL_ADDRESS);
	n = 1;
	sum += 2;
	CHECK(d.cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL) ==
		CUDA_ERROR_MISALIGNED_ADDRESS);
}

static void nothing_body(void)
{
	CUfunction f;
	CUdeviceptr sum;
	void *params[4] = {0};

	start();
	OK(d.cuModuleLoadData(&module, file_of("shapes-sm75.ptx")));
	f = function("vector_add");
	sum = device(sizeof(out), NULL);
	OK(d.cuLaunchKernel(f, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	OK(d.cuMemcpyDtoH_v2(out, sum, sizeof(out)));
	CHECK(out[1] == 0);
}

static void nothing_is_computed_unless_it_is_asked_for(void)
{
	unsetenv("XPUPROF_SIM_COMPUTE");
	in_child("", "1", nothing_body);
	setenv("XPUPROF_SIM_COMPUTE", "1", 1);
}

int main(void)
{
	setenv("XPUPROF_SIM_COMPUTE", "1", 1);
	RUN(a_kernel_computes_what_its_ptx_says);
	RUN(parameters_may_come_as_one_block);
	RUN(variables_of_a_module_are_read_and_set);
	RUN(a_graph_computes_each_time_with_what_was_captured);
	RUN(a_kernel_knows_the_id_that_its_record_has);
	RUN(the_ptx_of_fatbins_is_taken);
	RUN(an_instruction_that_is_not_interpreted_is_named);
	RUN(a_wrong_access_is_the_result_of_the_launch);
	RUN(nothing_is_computed_unless_it_is_asked_for);
	return tap_end();
}
