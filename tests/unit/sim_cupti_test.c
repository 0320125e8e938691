// SPDX-License-Identifier: MIT
#include "sim_harness.h"

enum { MAX_CALLS = 4096 };

struct call {
	CUpti_CallbackDomain domain;
	CUpti_CallbackId id;
	CUpti_ApiCallbackSite site;
	uint32_t correlation;
	char symbol[64];
	int result;
	uint64_t node, original;
};

static struct call calls[MAX_CALLS];
static int call_count;
static CUpti_SubscriberHandle subscriber;

static void note_api(struct call *call, const CUpti_CallbackData *data)
{
	call->site = data->callbackSite;
	call->correlation = data->correlationId;
	if (data->symbolName)
		snprintf(call->symbol, sizeof(call->symbol), "%s", data->symbolName);
	if (data->callbackSite == CUPTI_API_EXIT)
		call->result = *(int *)data->functionReturnValue;
}

static void note_graph(struct call *call, const CUpti_ResourceData *data)
{
	const CUpti_GraphData *g = data->resourceDescriptor;

	if (call->id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED ||
		call->id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
		c.GetGraphNodeId(g->node, &call->node);
	if (call->id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
		c.GetGraphNodeId(g->originalNode, &call->original);
}

static void note(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	struct call *call = &calls[call_count];

	if (call_count == MAX_CALLS)
		return;
	call_count++;
	call->domain = domain;
	call->id = id;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE)
		note_graph(call, data);
	else if (domain != CUPTI_CB_DOMAIN_SYNCHRONIZE)
		note_api(call, data);
}

static void subscribe(void)
{
	OK(c.Subscribe(&subscriber, note, NULL));
}

SIM_TEST(there_is_one_subscriber_at_a_time, "", "1")
{
	CUpti_SubscriberHandle other;

	subscribe();
	CHECK(c.Subscribe(&other, note, NULL) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	OK(c.Unsubscribe(subscriber));
	OK(c.Subscribe(&other, note, NULL));
}

SIM_TEST(a_launch_is_told_when_it_begins_and_when_it_returns, "", "1")
{
	subscribe();
	OK(c.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 307));
	collect();
	start();
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(call_count == 2);
	CHECK(calls[0].site == CUPTI_API_ENTER && calls[1].site == CUPTI_API_EXIT);
	CHECK_TEXT(calls[0].symbol, "quick_ns500");
	CHECK(calls[0].correlation && calls[0].correlation == calls[1].correlation);
	CHECK(record_count == 1);
	CHECK(records[0].kernel.correlationId == calls[0].correlation);
	CHECK(records[0].kernel.gridX == 4 && records[0].kernel.blockX == 32);
	CHECK_TEXT(records[0].kernel.name, "quick_ns500");
}

SIM_TEST(the_result_of_a_failed_launch_is_told, "", "1")
{
	subscribe();
	OK(c.EnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	start();
	call_count = 0;
	d.cuLaunchKernel(function("plain"), 1, 1, 1, 4096, 1, 1, 0, NULL, NULL, NULL);
	CHECK(call_count == 4);
	CHECK(calls[3].id == 307 && calls[3].result == CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(without_api_callbacks_there_are_no_correlation_ids, "", "1")
{
	collect();
	start();
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 1 && records[0].kernel.correlationId == 0);
}

SIM_TEST(api_activity_gives_correlation_ids_too, "", "1")
{
	int apis = 0;

	collect();
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	start();
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	flush();
	for (int i = 0; i < record_count; i++) {
		if (records[i].any.kind == CUPTI_ACTIVITY_KIND_DRIVER && records[i].api.cbid == 307)
			apis++;
		if (records[i].any.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			CHECK(records[i].kernel.correlationId != 0);
	}
	CHECK(apis == 1);
}

SIM_TEST(a_record_comes_only_after_its_work_has_ended, "", "1")
{
	collect();
	start();
	OK(launch(function("endless_us60000000"), NULL));
	flush();
	CHECK(record_count == 0);
	OK(c.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	CHECK(record_count == 1);
	CHECK(records[0].kernel.start == 0 && records[0].kernel.end == 0);
}

SIM_TEST(full_buffers_are_handed_over_without_a_flush, "", "1")
{
	buffer_bytes = 2 * sizeof(CUpti_ActivityKernel10) + 8;
	collect();
	start();
	for (int i = 0; i < 9; i++)
		OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	for (int i = 0; i < 5000 && buffers_completed < 4; i++)
		usleep(1000);
	CHECK(buffers_completed == 4);
	flush();
	CHECK(record_count == 9);
}

SIM_TEST(graph_work_names_the_node_that_was_cloned_from_the_captured_one, "", "1")
{
	uint64_t created = 0, cloned = 0;
	CUgraphExec exec;
	uint32_t exec_id;
	CUgraph graph;
	CUstream s;

	subscribe();
	OK(c.EnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
	OK(c.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 514));
	collect();
	start();
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(launch(function("quick_ns500"), s));
	OK(d.cuStreamEndCapture(s, &graph));
	OK(d.cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(d.cuGraphDestroy(graph));
	OK(d.cuGraphLaunch(exec, s));
	OK(d.cuStreamSynchronize(s));
	flush();
	for (int i = 0; i < call_count; i++) {
		if (calls[i].domain != CUPTI_CB_DOMAIN_RESOURCE)
			continue;
		if (calls[i].id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED && !created)
			created = calls[i].node;
		if (calls[i].id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED &&
			calls[i].original == created)
			cloned = calls[i].node;
	}
	CHECK(created && cloned && created != cloned);
	CHECK(record_count == 1);
	CHECK(records[0].kernel.graphNodeId == cloned);
	OK(c.GetGraphExecId(exec, &exec_id));
	CHECK(records[0].kernel.graphId == exec_id);
	CHECK(records[0].kernel.correlationId == calls[call_count - 1].correlation);
}

SIM_TEST(the_number_of_a_stream_is_told_for_its_own_context_only, "", "1")
{
	uint32_t number = 0, same = 0;
	CUcontext second;
	CUstream s;

	start();
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(d.cuCtxCreate_v2(&second, 0, 0));
	OK(c.GetStreamIdEx(context, s, 0, &number));
	OK(c.GetStreamIdEx(NULL, s, 0, &same));
	CHECK(number && same == number);
	CHECK(c.GetStreamIdEx(second, s, 0, &number) == CUPTI_ERROR_INVALID_STREAM);
}

SIM_TEST(latency_times_are_in_order_and_only_when_asked_for, "", "1")
{
	collect();
	start();
	OK(launch(function("quick_ns500"), NULL));
	OK(c.ActivityEnableLatencyTimestamps(1));
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(record_count == 2);
	CHECK(records[0].kernel.queued == 0 && records[0].kernel.submitted == 0);
	CHECK(records[1].kernel.queued && records[1].kernel.queued <= records[1].kernel.submitted);
	CHECK(records[1].kernel.submitted <= records[1].kernel.start);
}

SIM_TEST(times_are_in_the_realtime_clock_unless_another_is_registered, "", "1")
{
	struct timespec t;
	uint64_t now;

	OK(c.ActivityRegisterCallbacks(buffer_request, buffer_complete));
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	start();
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	flush();
	clock_gettime(CLOCK_REALTIME, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	CHECK(record_count == 1);
	CHECK(records[0].kernel.end <= now && records[0].kernel.start > now - 60000000000);
}

SIM_TEST(finalize_ends_callbacks_and_records, "", "1")
{
	subscribe();
	OK(c.EnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 307));
	collect();
	start();
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	OK(c.Finalize());
	CHECK(call_count == 2 && record_count == 1);
	OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	OK(c.ActivityFlushAll(0));
	CHECK(call_count == 2 && record_count == 1);
}

/* Ten kernels, all records delivered. */
static void ten_kernels(void)
{
	collect();
	start();
	for (int i = 0; i < 10; i++)
		OK(launch(function("quick_ns500"), NULL));
	OK(d.cuCtxSynchronize());
	OK(c.ActivityFlushAll(0));
}

SIM_TEST(dropped_records_are_missing_and_counted, "drop=5", "1")
{
	size_t dropped = 0;

	ten_kernels();
	CHECK(record_count == 8);
	OK(c.ActivityGetNumDroppedRecords(NULL, 0, &dropped));
	CHECK(dropped == 2);
	OK(c.ActivityGetNumDroppedRecords(NULL, 0, &dropped));
	CHECK(dropped == 0);
}

SIM_TEST(times_can_be_made_invalid, "zero-time=10,reversed-time=4,far-time=7", "1")
{
	int zero = 0, reversed = 0, far = 0;

	ten_kernels();
	for (int i = 0; i < record_count; i++) {
		const CUpti_ActivityKernel10 *k = &records[i].kernel;

		zero += !k->start && !k->end;
		reversed += k->start > k->end;
		far += k->start > monotonic() + 86400000000000;
	}
	CHECK(record_count == 10 && zero == 1 && reversed == 2 && far == 1);
}

SIM_TEST(records_can_be_longer_than_known, "record-extra=24,cupti-version=130200", "1")
{
	uint32_t version = 0;
	CUpti_Activity *r = NULL;

	ten_kernels();
	CHECK(record_count == 10);
	for (int i = 0; i < record_count; i++)
		CHECK_TEXT(records[i].kernel.name, "quick_ns500");
	r = &records[0].any;
	OK(c.ActivityGetNextRecord((uint8_t *)&records[0], 4096, &r));
	CHECK((char *)r - (char *)&records[0] == sizeof(CUpti_ActivityKernel10) + 24);
	CHECK((unsigned char)records[0].bytes[sizeof(CUpti_ActivityKernel10)] == 0xa5);
	OK(c.GetVersion(&version));
	CHECK(version == 130200);
}

SIM_TEST(records_of_a_stream_can_come_out_of_order, "reorder=3", "1")
{
	int backwards = 0;

	ten_kernels();
	CHECK(record_count == 10);
	for (int i = 1; i < record_count; i++)
		backwards += records[i].kernel.start < records[i - 1].kernel.start;
	CHECK(backwards > 0);
}

SIM_TEST(records_can_come_late, "delay-ms=60000", "1")
{
	ten_kernels();
	CHECK(record_count == 0);
}

SIM_TEST(launches_can_fail, "fail-launch=3", "1")
{
	int failed = 0;

	collect();
	start();
	for (int i = 0; i < 9; i++)
		failed +=
			launch(function("quick_ns500"), NULL) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	OK(d.cuCtxSynchronize());
	flush();
	CHECK(failed == 3 && record_count == 6);
}

SIM_TEST(another_tool_can_hold_cupti, "subscriber-before", "1")
{
	CHECK(c.Subscribe(&subscriber, note, NULL) ==
		CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
}

SIM_TEST(cupti_can_refuse_to_work, "no-cupti", "1")
{
	CHECK(c.Subscribe(&subscriber, note, NULL) == CUPTI_ERROR_NOT_INITIALIZED);
	CHECK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ==
		CUPTI_ERROR_NOT_INITIALIZED);
}

SIM_TEST(callbacks_have_the_names_that_cupti_gives_them, "", "1")
{
	const char *name;

	OK(c.GetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, 442, &name));
	CHECK_TEXT(name, "cuLaunchKernel_ptsz");
	OK(c.GetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 211, &name));
	CHECK_TEXT(name, "cudaLaunchKernel_v7000");
	OK(c.GetResultString(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, &name));
	CHECK_TEXT(name, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED");
}

SIM_TEST(in_a_forked_child_cupti_is_gone_and_a_flush_never_returns, "", "1")
{
	int status = 0;
	pid_t pid;

	collect();
	start();
	OK(launch(function("quick_ns500"), NULL));
	pid = fork();
	if (!pid) {
		if (c.ActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) != CUPTI_ERROR_NOT_INITIALIZED)
			_exit(1);
		alarm(1);
		c.ActivityFlushAll(0);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

int main(void)
{
	RUN(there_is_one_subscriber_at_a_time);
	RUN(a_launch_is_told_when_it_begins_and_when_it_returns);
	RUN(the_result_of_a_failed_launch_is_told);
	RUN(without_api_callbacks_there_are_no_correlation_ids);
	RUN(api_activity_gives_correlation_ids_too);
	RUN(a_record_comes_only_after_its_work_has_ended);
	RUN(full_buffers_are_handed_over_without_a_flush);
	RUN(graph_work_names_the_node_that_was_cloned_from_the_captured_one);
	RUN(the_number_of_a_stream_is_told_for_its_own_context_only);
	RUN(latency_times_are_in_order_and_only_when_asked_for);
	RUN(times_are_in_the_realtime_clock_unless_another_is_registered);
	RUN(finalize_ends_callbacks_and_records);
	RUN(dropped_records_are_missing_and_counted);
	RUN(times_can_be_made_invalid);
	RUN(records_can_be_longer_than_known);
	RUN(records_of_a_stream_can_come_out_of_order);
	RUN(records_can_come_late);
	RUN(launches_can_fail);
	RUN(another_tool_can_hold_cupti);
	RUN(cupti_can_refuse_to_work);
	RUN(callbacks_have_the_names_that_cupti_gives_them);
	RUN(in_a_forked_child_cupti_is_gone_and_a_flush_never_returns);
	return tap_end();
}
