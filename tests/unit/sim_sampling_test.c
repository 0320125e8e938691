// SPDX-License-Identifier: MIT
/* The simulated PC sampling API: what it promises, and what NVIDIA's does too. */
#include "sim_harness.h"

#include <cupti_pcsampling.h>
#include <pthread.h>
#include <unistd.h>

/* clang-format off */
#define SAMPLING_FUNCTIONS(X) \
	X(PCSamplingEnable) X(PCSamplingDisable) X(PCSamplingStart) X(PCSamplingStop) \
	X(PCSamplingSetConfigurationAttribute) \
	X(PCSamplingGetConfigurationAttribute) X(PCSamplingGetNumStallReasons) \
	X(PCSamplingGetStallReasons) X(PCSamplingGetData) X(GetCubinCrc)
/* clang-format on */

enum { PCS = 64, REASONS = 40, PERIOD = 12 };

static struct {
#define FIELD(name) __typeof__(cupti##name) *name;
	SAMPLING_FUNCTIONS(FIELD)
#undef FIELD
} s;

struct buffer {
	CUpti_PCSamplingData data;
	CUpti_PCSamplingPCData pcs[PCS];
	CUpti_PCSamplingStallReason reasons[PCS][REASONS];
};

static struct buffer fetched, rest;

static void prepare(struct buffer *b, size_t room)
{
	memset(b, 0, sizeof(*b));
	b->data.size = sizeof(b->data);
	b->data.collectNumPcs = room;
	b->data.pPcData = b->pcs;
	for (int i = 0; i < PCS; i++) {
		b->pcs[i].size = sizeof(b->pcs[i]);
		b->pcs[i].stallReason = b->reasons[i];
	}
}

static void load_sampling(void)
{
	const char *build = getenv("XPUPROF_BUILD");
	char path[4096];
	void *cupti;

	snprintf(path, sizeof(path), "%s/sim/libcupti.so.13", build ? build : "build");
	cupti = dlopen(path, RTLD_NOW);
#define LOAD(name) *(void **)&s.name = cupti ? dlsym(cupti, "cupti" #name) : NULL;
	SAMPLING_FUNCTIONS(LOAD)
#undef LOAD
}

static void ignore_callback(
	void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
}

/* Where nobody has subscribed it aborts. */
static CUptiResult enable(CUcontext ctx)
{
	CUpti_PCSamplingEnableParams p = {CUpti_PCSamplingEnableParamsSize, NULL, ctx};
	CUpti_SubscriberHandle subscriber;

	c.Subscribe(&subscriber, ignore_callback, NULL);
	return s.PCSamplingEnable(&p);
}

static CUptiResult disable(CUcontext ctx)
{
	CUpti_PCSamplingDisableParams p = {CUpti_PCSamplingDisableParamsSize, NULL, ctx};

	return s.PCSamplingDisable(&p);
}

static CUptiResult configure(unsigned int period, CUpti_PCSamplingCollectionMode mode)
{
	CUpti_PCSamplingConfigurationInfo infos[3] = {
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD,
			.attributeData.samplingPeriodData.samplingPeriod = period},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE,
			.attributeData.collectionModeData.collectionMode = mode},
		{.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER,
			.attributeData.samplingDataBufferData.samplingDataBuffer = &rest.data},
	};
	CUpti_PCSamplingConfigurationInfoParams p = {
		CUpti_PCSamplingConfigurationInfoParamsSize, NULL, context, 3, infos};

	return s.PCSamplingSetConfigurationAttribute(&p);
}

static CUptiResult control(void)
{
	CUpti_PCSamplingConfigurationInfo info = {
		.attributeType =
			CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL,
		.attributeData.enableStartStopControlData.enableStartStopControl = 1};
	CUpti_PCSamplingConfigurationInfoParams p = {
		CUpti_PCSamplingConfigurationInfoParamsSize, NULL, context, 1, &info};

	return s.PCSamplingSetConfigurationAttribute(&p);
}

static CUptiResult switch_on(void)
{
	CUpti_PCSamplingStartParams p = {CUpti_PCSamplingStartParamsSize, NULL, context};

	return s.PCSamplingStart(&p);
}

static CUptiResult switch_off(void)
{
	CUpti_PCSamplingStopParams p = {CUpti_PCSamplingStopParamsSize, NULL, context};

	return s.PCSamplingStop(&p);
}

static CUptiResult get_data(CUcontext ctx, size_t room)
{
	CUpti_PCSamplingGetDataParams p = {
		CUpti_PCSamplingGetDataParamsSize, NULL, ctx, &fetched.data};

	prepare(&fetched, room);
	return s.PCSamplingGetData(&p);
}

/* The driver up, a context that is sampled, the kernels of the harness. */
static void start_sampled(void)
{
	load_sampling();
	prepare(&rest, PCS);
	OK(d.cuInit(0));
	OK(d.cuDevicePrimaryCtxRetain(&context, 0));
	OK(d.cuCtxSetCurrent(context));
	OK(enable(context));
	OK(configure(PERIOD, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS));
	OK(d.cuModuleLoadData(&module, ptx));
}

/* Those of latency are part of the others. */
static uint64_t sum_of(const struct buffer *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->data.totalNumPcs; i++)
		for (size_t n = 0; n < b->pcs[i].stallReasonCount; n++)
			if (b->reasons[i][n].pcSamplingStallReasonIndex % 2 == 0)
				sum += b->reasons[i][n].samples;
	return sum;
}

static void run_slow(void)
{
	OK(launch(function("slow_us20000"), NULL));
	OK(d.cuCtxSynchronize());
}

SIM_TEST(a_kernel_gets_a_sample_each_period_of_each_multiprocessor_it_runs_on, "", "1")
{
	start_sampled();
	run_slow();
	OK(get_data(context, PCS));
	/* 20 ms at 1.5 GHz on 4 of the multiprocessors, every 4096 cycles */
	CHECK(fetched.data.totalSamples == 20000ull * 1500 * 4 >> PERIOD);
	CHECK(sum_of(&fetched) == fetched.data.totalSamples && fetched.data.totalNumPcs > 1);
	CHECK_TEXT(fetched.pcs[0].functionName, "slow_us20000");
	CHECK(fetched.pcs[0].correlationId == 0);
	OK(get_data(context, PCS));
	CHECK(fetched.data.totalSamples == 0 && fetched.data.totalNumPcs == 0);
}

SIM_TEST(what_does_not_fit_comes_with_the_next_call, "", "1")
{
	uint64_t total, sum;

	start_sampled();
	run_slow();
	OK(get_data(context, 5));
	CHECK(fetched.data.totalNumPcs == 5 && fetched.data.remainingNumPcs == 7);
	total = fetched.data.totalSamples;
	sum = sum_of(&fetched);
	OK(get_data(context, PCS));
	CHECK(fetched.data.totalNumPcs == 7 && fetched.data.remainingNumPcs == 0);
	CHECK(fetched.data.totalSamples == 0 && sum + sum_of(&fetched) == total);
}

SIM_TEST(what_was_not_fetched_is_in_the_configured_buffer_once_it_is_off, "", "1")
{
	start_sampled();
	run_slow();
	OK(disable(context));
	CHECK(rest.data.totalSamples == 29296 && sum_of(&rest) == 29296);
	CHECK(get_data(context, PCS) == CUPTI_ERROR_INVALID_OPERATION);
	CHECK(disable(context) == CUPTI_ERROR_INVALID_OPERATION);
}

SIM_TEST(a_context_is_sampled_once_and_not_after_its_end, "", "1")
{
	CUcontext other;

	start_sampled();
	CHECK(enable(context) == CUPTI_ERROR_INVALID_OPERATION);
	OK(d.cuCtxCreate_v2(&other, 0, 0));
	OK(enable(other));
	OK(d.cuCtxDestroy_v2(other));
	CHECK(get_data(context, PCS) == 0);
}

SIM_TEST(of_modules_from_before_it_was_on_no_instructions_are_told, "", "1")
{
	load_sampling();
	start();
	prepare(&rest, PCS);
	OK(enable(context));
	OK(configure(PERIOD, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS));
	run_slow();
	OK(get_data(context, PCS));
	CHECK(fetched.data.totalSamples == 29296 && fetched.data.totalNumPcs == 0);
	CHECK(fetched.data.nonUsrKernelsTotalSamples == 29296);
}

SIM_TEST(with_control_they_are_and_only_what_runs_between_start_and_stop, "", "1")
{
	load_sampling();
	start();
	prepare(&rest, PCS);
	OK(enable(context));
	CHECK(switch_on() == CUPTI_ERROR_INVALID_OPERATION);
	OK(control());
	OK(configure(PERIOD, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS));
	run_slow();
	OK(switch_on());
	run_slow();
	OK(switch_off());
	run_slow();
	CHECK(switch_off() == CUPTI_ERROR_INVALID_OPERATION);
	OK(get_data(context, PCS));
	CHECK(fetched.data.totalSamples == 29296 && sum_of(&fetched) == 29296);
	CHECK_TEXT(fetched.pcs[0].functionName, "slow_us20000");
	OK(disable(context));
	CHECK(rest.data.totalSamples == 0);
}

static _Atomic int step_of_thread;

static void *switch_in_thread(void *unused)
{
	step_of_thread = 1;
	switch_on();
	step_of_thread = 2;
	return NULL;
}

SIM_TEST(beside_a_call_of_another_thread_it_hangs_for_good, "", "1")
{
	pthread_t thread;

	load_sampling();
	start();
	prepare(&rest, PCS);
	OK(enable(context));
	OK(control());
	for (int n = 0; n < 10; n++)
		OK(launch(function("slow_us20000"), NULL));
	pthread_create(&thread, NULL, switch_in_thread, NULL);
	OK(d.cuCtxSynchronize());
	usleep(100000);
	CHECK(step_of_thread == 1);
}

SIM_TEST(serialized_samples_name_their_launch, "", "1")
{
	uint32_t ids[PCS];
	size_t count = 0;

	load_sampling();
	OK(c.ActivityRegisterCallbacks(buffer_request, buffer_complete));
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
	OK(c.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)); /* not after sampling */
	start_sampled();
	OK(configure(PERIOD, CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED));
	run_slow();
	run_slow();
	OK(get_data(context, PCS));
	for (size_t i = 0; i < fetched.data.totalNumPcs; i++) {
		size_t n = 0;

		while (n < count && ids[n] != fetched.pcs[i].correlationId)
			n++;
		if (n == count)
			ids[count++] = fetched.pcs[i].correlationId;
	}
	CHECK(count == 2 && ids[0] && ids[1]);
}

SIM_TEST(periods_out_of_range_are_refused, "", "1")
{
	start_sampled();
	CHECK(configure(4, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS) ==
		CUPTI_ERROR_INVALID_OPERATION);
	CHECK(configure(32, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS) ==
		CUPTI_ERROR_INVALID_OPERATION);
	OK(configure(5, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS));
}

SIM_TEST(without_rights_it_cannot_be_switched_on, "stalls-refused", "1")
{
	load_sampling();
	start();
	CHECK(enable(context) == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	CHECK(get_data(context, PCS) == CUPTI_ERROR_INVALID_OPERATION);
}

SIM_TEST(a_full_buffer_gives_nothing_and_says_so, "stalls-full=1", "1")
{
	start_sampled();
	run_slow();
	CHECK(get_data(context, PCS) == CUPTI_ERROR_OUT_OF_MEMORY);
	CHECK(fetched.data.hardwareBufferFull && !fetched.data.totalNumPcs);
}

SIM_TEST(reasons_are_those_of_an_h200, "", "1")
{
	static char texts[REASONS][CUPTI_STALL_REASON_STRING_SIZE];
	char *names[REASONS];
	uint32_t indexes[REASONS];
	size_t count = 0;
	CUpti_PCSamplingGetNumStallReasonsParams counted = {
		CUpti_PCSamplingGetNumStallReasonsParamsSize, NULL, NULL, &count};
	CUpti_PCSamplingGetStallReasonsParams named = {
		CUpti_PCSamplingGetStallReasonsParamsSize, NULL, NULL, REASONS, indexes, names};

	start_sampled();
	for (int i = 0; i < REASONS; i++)
		names[i] = texts[i];
	counted.ctx = named.ctx = context;
	OK(s.PCSamplingGetNumStallReasons(&counted));
	OK(s.PCSamplingGetStallReasons(&named));
	CHECK(count == REASONS);
	CHECK_TEXT(texts[0], "smsp__pcsamp_sample_count");
	CHECK_TEXT(texts[2], "smsp__pcsamp_warps_issue_stalled_barrier");
	CHECK_TEXT(texts[15], "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued");
	CHECK_TEXT(texts[36], "smsp__pcsamp_warps_issue_stalled_wait");
	CHECK_TEXT(texts[39], "smsp__pcsamp_warps_issue_stalled_warpgroup_arrive_not_issued");
}

int main(void)
{
	RUN(a_kernel_gets_a_sample_each_period_of_each_multiprocessor_it_runs_on);
	RUN(what_does_not_fit_comes_with_the_next_call);
	RUN(what_was_not_fetched_is_in_the_configured_buffer_once_it_is_off);
	RUN(a_context_is_sampled_once_and_not_after_its_end);
	RUN(of_modules_from_before_it_was_on_no_instructions_are_told);
	RUN(with_control_they_are_and_only_what_runs_between_start_and_stop);
	RUN(beside_a_call_of_another_thread_it_hangs_for_good);
	RUN(serialized_samples_name_their_launch);
	RUN(periods_out_of_range_are_refused);
	RUN(without_rights_it_cannot_be_switched_on);
	RUN(a_full_buffer_gives_nothing_and_says_so);
	RUN(reasons_are_those_of_an_h200);
	return tap_end();
}
