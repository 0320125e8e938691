// SPDX-License-Identifier: MIT
#include "sim_harness.h"

SIM_TEST(devices_are_simulated_and_as_many_as_asked_for, "", "3")
{
	char name[64];
	CUdevice dev;
	int count = 0;

	OK(d.cuInit(0));
	OK(d.cuDeviceGetCount(&count));
	CHECK(count == 3);
	OK(d.cuDeviceGet(&dev, 2));
	OK(d.cuDeviceGetName(name, sizeof(name), dev));
	CHECK_TEXT(name, "Simulated GPU 2");
	CHECK(d.cuDeviceGet(&dev, 3) == CUDA_ERROR_INVALID_DEVICE);
}

SIM_TEST(nothing_works_before_the_driver_is_started, "", "1")
{
	int count;

	CHECK(d.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
	CHECK(d.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED);
}

SIM_TEST(a_machine_without_devices_says_so, "", "0")
{
	CHECK(d.cuInit(0) == CUDA_ERROR_NO_DEVICE);
}

SIM_TEST(only_kernels_that_the_ptx_text_has_are_found, "", "1")
{
	CUfunction f;
	CUmodule other;

	start();
	OK(d.cuModuleGetFunction(&f, module, "plain"));
	OK(d.cuModuleGetFunction(&f, module, "endless_us60000000"));
	CHECK(d.cuModuleGetFunction(&f, module, "plai") == CUDA_ERROR_NOT_FOUND);
	CHECK(d.cuModuleLoadData(&other, ".version 7.0\n") == CUDA_ERROR_INVALID_PTX);
}

SIM_TEST(work_of_one_stream_runs_in_order, "", "1")
{
	CUstream s;

	collect();
	start();
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 5; i++)
		OK(launch(function("quick_ns500"), s));
	OK(d.cuStreamSynchronize(s));
	flush();
	CHECK(record_count == 5);
	for (int i = 1; i < record_count; i++)
		CHECK(records[i].kernel.start >= records[i - 1].kernel.end);
	for (int i = 0; i < record_count; i++)
		CHECK(records[i].kernel.end - records[i].kernel.start == 500);
}

SIM_TEST(synchronizing_waits_for_the_simulated_end, "", "1")
{
	uint64_t after;

	collect();
	start();
	OK(launch(function("slow_us20000"), NULL));
	OK(d.cuCtxSynchronize());
	after = monotonic();
	flush();
	CHECK(record_count == 1);
	CHECK(records[0].kernel.end <= after);
}

SIM_TEST(streams_run_beside_each_other, "", "1")
{
	CUfunction slow;
	CUstream one, other;

	collect();
	start();
	slow = function("slow_us20000");
	OK(d.cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 8; i++) {
		OK(launch(slow, one));
		OK(launch(slow, other));
	}
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 16);
	/* Sixteen of 20 ms would take 320 ms behind each other. */
	CHECK(records[15].kernel.end - records[0].kernel.start < 300000000);
}

SIM_TEST(the_default_stream_waits_for_blocking_streams_and_they_for_it, "", "1")
{
	CUstream blocking, free_running;

	collect();
	start();
	OK(d.cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(d.cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
	OK(launch(function("slow_us20000"), blocking));
	OK(launch(function("slow_us20000"), NULL));
	OK(launch(function("slow_us20000"), blocking));
	OK(launch(function("quick_ns500"), free_running));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 4);
	CHECK_TEXT(records[1].kernel.name, "quick_ns500");
	CHECK(records[2].kernel.start >= records[0].kernel.end);
	CHECK(records[3].kernel.start >= records[2].kernel.end);
	CHECK(records[2].kernel.streamId != records[0].kernel.streamId);
	CHECK(records[3].kernel.streamId == records[0].kernel.streamId);
}

SIM_TEST(a_stream_waits_for_an_event_of_another, "", "1")
{
	CUstream one, other;
	CUevent event;

	collect();
	start();
	OK(d.cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(d.cuEventCreate(&event, 0));
	OK(launch(function("slow_us20000"), one));
	OK(d.cuEventRecord(event, one));
	OK(d.cuStreamWaitEvent(other, event, 0));
	OK(launch(function("quick_ns500"), other));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 2);
	CHECK_TEXT(records[1].kernel.name, "quick_ns500");
	CHECK(records[1].kernel.start >= records[0].kernel.end);
}

static void *per_thread_launch(void *unused)
{
	d.cuCtxSetCurrent(context);
	d.cuLaunchKernel_ptsz(function("quick_ns500"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	return NULL;
}

SIM_TEST(each_thread_has_a_default_stream_of_its_own, "", "1")
{
	pthread_t thread;

	collect();
	start();
	per_thread_launch(NULL);
	pthread_create(&thread, NULL, per_thread_launch, NULL);
	pthread_join(thread, NULL);
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 3);
	CHECK(records[0].kernel.streamId != records[1].kernel.streamId);
	CHECK(records[1].kernel.streamId != records[2].kernel.streamId);
	CHECK(records[0].kernel.streamId != records[2].kernel.streamId);
}

SIM_TEST(the_handle_of_a_stream_that_is_gone_is_the_next_one_given_out, "", "1")
{
	CUstream one, other, next;
	CUcontext second;

	start();
	OK(d.cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CHECK(one != other);
	OK(d.cuStreamDestroy_v2(one));
	CHECK(d.cuStreamSynchronize(one) == CUDA_ERROR_INVALID_HANDLE);
	OK(d.cuCtxCreate_v2(&second, 0, 0));
	OK(d.cuStreamCreate(&next, CU_STREAM_NON_BLOCKING));
	CHECK(next == one);
	/* A context takes its streams along. */
	OK(d.cuCtxDestroy_v2(second));
	CHECK(d.cuStreamSynchronize(next) == CUDA_ERROR_INVALID_HANDLE);
	OK(d.cuStreamSynchronize(other));
	OK(d.cuCtxSetCurrent(context));
	OK(d.cuStreamCreate(&next, CU_STREAM_NON_BLOCKING));
	CHECK(next == one);
	OK(launch(function("quick_ns500"), next));
	OK(d.cuStreamSynchronize(next));
}

SIM_TEST(copies_and_sets_move_their_bytes, "", "1")
{
	char out[64] = "what is copied", in[64] = {0};
	CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = out,
		.srcPitch = 16,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstPitch = 32,
		.WidthInBytes = 8,
		.Height = 2};
	CUdeviceptr one, other;

	start();
	memcpy(out + 16, "second row", 10);
	OK(d.cuMemAlloc_v2(&one, 64));
	OK(d.cuMemAlloc_v2(&other, 64));
	OK(d.cuMemcpyHtoD_v2(one, out, 64));
	OK(d.cuMemcpyDtoD_v2(other, one, 64));
	OK(d.cuMemcpyDtoH_v2(in, other, 64));
	CHECK_TEXT(in, "what is copied");
	OK(d.cuMemsetD16_v2(other, 0x4142, 4));
	rows.dstDevice = one;
	OK(d.cuMemcpy2D_v2(&rows));
	OK(d.cuMemcpyDtoH_v2(in, other, 10));
	CHECK(!memcmp(in, "BABABABAop", 8));
	OK(d.cuMemcpyDtoH_v2(in, one + 32, 8));
	CHECK(!memcmp(in, "second r", 8));
}

SIM_TEST(a_copy_past_the_end_of_memory_is_refused, "", "1")
{
	char buffer[64] = {0};
	CUdeviceptr at;

	start();
	OK(d.cuMemAlloc_v2(&at, 32));
	CHECK(d.cuMemcpyHtoD_v2(at, buffer, 33) == CUDA_ERROR_INVALID_VALUE);
	CHECK(d.cuMemsetD8_v2(at + 16, 0, 17) == CUDA_ERROR_INVALID_VALUE);
	OK(d.cuMemFree_v2(at));
	CHECK(d.cuMemcpyHtoD_v2(at, buffer, 1) == CUDA_ERROR_INVALID_VALUE);
	CHECK(d.cuMemFree_v2(at) == CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(impossible_launches_are_refused_and_leave_no_work, "", "1")
{
	CUfunction f;

	collect();
	start();
	f = function("plain");
	CHECK(d.cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL) ==
		CUDA_ERROR_INVALID_VALUE);
	CHECK(d.cuLaunchKernel(f, 0, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) ==
		CUDA_ERROR_INVALID_VALUE);
	CHECK(d.cuLaunchCooperativeKernel(f, 1 << 20, 1, 1, 1024, 1, 1, 0, NULL, NULL) ==
		CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 0);
}

SIM_TEST(a_captured_stream_runs_nothing_until_its_graph_is_launched, "", "1")
{
	CUgraphExec exec;
	CUgraph graph;
	CUstream s;

	collect();
	start();
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(launch(function("quick_ns500"), s));
	OK(launch(function("plain"), s));
	OK(d.cuStreamEndCapture(s, &graph));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 0);
	OK(d.cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(d.cuGraphLaunch(exec, s));
	OK(d.cuGraphLaunch(exec, s));
	OK(d.cuStreamSynchronize(s));
	flush();
	CHECK(record_count == 4);
	for (int i = 1; i < record_count; i++)
		CHECK(records[i].kernel.start >= records[i - 1].kernel.end);
	CHECK_TEXT(records[0].kernel.name, "quick_ns500");
	CHECK_TEXT(records[3].kernel.name, "plain");
}

SIM_TEST(synchronizing_a_capturing_stream_spoils_the_capture, "", "1")
{
	CUgraph graph;
	CUstream s;

	start();
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK(d.cuStreamSynchronize(s) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(d.cuStreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	OK(d.cuStreamSynchronize(s));
}

SIM_TEST(a_branch_that_does_not_come_back_spoils_the_capture, "", "1")
{
	CUstream s, side;
	CUevent fork_event;
	CUgraph graph;

	start();
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	OK(d.cuEventCreate(&fork_event, 0));
	OK(d.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(d.cuEventRecord(fork_event, s));
	OK(d.cuStreamWaitEvent(side, fork_event, 0));
	OK(launch(function("plain"), side));
	CHECK(d.cuStreamEndCapture(s, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

SIM_TEST(branches_of_a_graph_run_beside_each_other_after_what_they_depend_on, "", "1")
{
	CUDA_KERNEL_NODE_PARAMS p = {.gridDimX = 1,
		.gridDimY = 1,
		.gridDimZ = 1,
		.blockDimX = 1,
		.blockDimY = 1,
		.blockDimZ = 1};
	CUgraphNode first, left, right, last, both[2];
	CUgraphExec exec;
	CUgraph graph;

	collect();
	start();
	OK(d.cuGraphCreate(&graph, 0));
	p.func = function("quick_ns500");
	OK(d.cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &p));
	p.func = function("slow_us20000");
	OK(d.cuGraphAddKernelNode_v2(&left, graph, &first, 1, &p));
	OK(d.cuGraphAddKernelNode_v2(&right, graph, &first, 1, &p));
	both[0] = left;
	both[1] = right;
	OK(d.cuGraphAddKernelNode_v2(&last, graph, both, 2, &p));
	OK(d.cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(d.cuGraphLaunch(exec, NULL));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 4);
	CHECK(records[1].kernel.start == records[0].kernel.end);
	CHECK(records[2].kernel.start == records[0].kernel.end);
	CHECK(records[3].kernel.start == records[1].kernel.end);
}

SIM_TEST(copies_between_devices_are_peer_copies, "", "2")
{
	CUcontext second;
	CUdeviceptr here, there;
	char text[16] = "across", back[16] = {0};

	collect();
	start();
	OK(d.cuMemAlloc_v2(&here, 16));
	OK(d.cuMemcpyHtoD_v2(here, text, 16));
	OK(d.cuDevicePrimaryCtxRetain(&second, 1));
	OK(d.cuCtxSetCurrent(second));
	OK(d.cuMemAlloc_v2(&there, 16));
	OK(d.cuMemcpyPeer(there, second, here, context, 16));
	OK(d.cuMemcpyDtoH_v2(back, there, 16));
	CHECK_TEXT(back, "across");
	flush();
	CHECK(record_count == 3);
	CHECK(records[1].any.kind == CUPTI_ACTIVITY_KIND_MEMCPY2);
	CHECK(records[1].peer.srcDeviceId == 0 && records[1].peer.dstDeviceId == 1);
	CHECK(records[1].peer.copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
	CHECK(records[1].peer.bytes == 16);
}

SIM_TEST(a_forked_child_has_no_driver, "", "1")
{
	int status = 0, count;
	CUcontext ctx;
	pid_t pid;

	start();
	OK(launch(function("quick_ns500"), NULL));
	pid = fork();
	if (!pid)
		_exit(d.cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED &&
					d.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
					d.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
					d.cuDevicePrimaryCtxRetain(&ctx, 0) ==
						CUDA_ERROR_NOT_INITIALIZED
				? 5
				: 6);
	waitpid(pid, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	OK(d.cuCtxSynchronize());
}

int main(void)
{
	RUN(devices_are_simulated_and_as_many_as_asked_for);
	RUN(nothing_works_before_the_driver_is_started);
	RUN(a_machine_without_devices_says_so);
	RUN(only_kernels_that_the_ptx_text_has_are_found);
	RUN(work_of_one_stream_runs_in_order);
	RUN(synchronizing_waits_for_the_simulated_end);
	RUN(streams_run_beside_each_other);
	RUN(the_default_stream_waits_for_blocking_streams_and_they_for_it);
	RUN(a_stream_waits_for_an_event_of_another);
	RUN(each_thread_has_a_default_stream_of_its_own);
	RUN(the_handle_of_a_stream_that_is_gone_is_the_next_one_given_out);
	RUN(copies_and_sets_move_their_bytes);
	RUN(a_copy_past_the_end_of_memory_is_refused);
	RUN(impossible_launches_are_refused_and_leave_no_work);
	RUN(a_captured_stream_runs_nothing_until_its_graph_is_launched);
	RUN(synchronizing_a_capturing_stream_spoils_the_capture);
	RUN(a_branch_that_does_not_come_back_spoils_the_capture);
	RUN(branches_of_a_graph_run_beside_each_other_after_what_they_depend_on);
	RUN(copies_between_devices_are_peer_copies);
	RUN(a_forked_child_has_no_driver);
	return tap_end();
}
