// SPDX-License-Identifier: MIT
/*
 * What CUPTI does where instructions are to be sampled in a program that already runs: modules are
 * loaded, threads launch, copy and allocate, and sampling is switched on and off again and again
 * by another thread.
 *
 *	sampling_late [ROUNDS]          while no thread is in a call of the driver
 *	sampling_late [ROUNDS] beside   while threads are: CUPTI 13.0 hangs, and an alarm ends it
 *
 * Printed are the milliseconds of each step, the samples and how many of them had no code. Built by
 * hand, as it needs CUPTI's own headers; in CUDA's folder:
 *
 *	cc -D_GNU_SOURCE -I include -I extras/CUPTI/include tests/gpu/sampling_late.c -lcuda -lcupti
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>

enum { PCS = 4096, COPIED = 8 << 20, HANGS_S = 60 };

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .entry spin(.param .u32 n) {\n"
	" .reg .pred p; .reg .u32 a, i; .reg .f32 f;\n"
	" ld.param.u32 a, [n]; mov.u32 i, 0; mov.f32 f, 0f3f800000;\n"
	"again: mul.f32 f, f, f; add.u32 i, i, 1; setp.lt.u32 p, i, a; @p bra again;\n"
	" setp.eq.f32 p, f, 0f00000000; @p trap; ret; }\n";

static CUcontext context;
static CUfunction spin;
static pthread_rwlock_t in_driver = PTHREAD_RWLOCK_INITIALIZER;
static bool over, beside;
static int wanted;

static void check(int result, const char *call)
{
	if (!result)
		return;
	fprintf(stderr, "sampling_late: %s: %d\n", call, result);
	exit(1);
}

#define OK(call) check((int)(call), #call)

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool is_over(void)
{
	return __atomic_load_n(&over, __ATOMIC_RELAXED);
}

static void begin_call(void)
{
	while (!beside && __atomic_load_n(&wanted, __ATOMIC_RELAXED))
		usleep(50);
	if (!beside)
		pthread_rwlock_rdlock(&in_driver);
}

static void end_call(void)
{
	if (!beside)
		pthread_rwlock_unlock(&in_driver);
}

#define CALL(call)                                                                                 \
	do {                                                                                       \
		begin_call();                                                                      \
		OK(call);                                                                          \
		end_call();                                                                        \
	} while (0)

static void *launch(void *unused)
{
	unsigned int n = 2000;
	void *params[] = {&n};

	OK(cuCtxSetCurrent(context));
	while (!is_over()) {
		for (int i = 0; i < 500; i++)
			CALL(cuLaunchKernel(spin, 528, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
		CALL(cuCtxSynchronize());
	}
	return NULL;
}

static void *copy(void *unused)
{
	void *host = calloc(1, COPIED);
	CUdeviceptr device;

	OK(cuCtxSetCurrent(context));
	CALL(cuMemAlloc(&device, COPIED));
	while (!is_over()) {
		CALL(cuMemcpyHtoD(device, host, COPIED));
		CALL(cuMemcpyDtoH(host, device, COPIED));
	}
	return NULL;
}

static void *load(void *unused)
{
	CUmodule module;
	CUdeviceptr device;

	OK(cuCtxSetCurrent(context));
	while (!is_over()) {
		CALL(cuMemAlloc(&device, 1 << 20));
		CALL(cuMemFree(device));
		CALL(cuModuleLoadData(&module, text));
		CALL(cuModuleUnload(module));
	}
	return NULL;
}

static CUpti_PCSamplingData buffer(size_t reasons)
{
	CUpti_PCSamplingData b = {.size = sizeof(b), .collectNumPcs = PCS};

	b.pPcData = calloc(PCS, sizeof(*b.pPcData));
	for (int i = 0; i < PCS; i++) {
		b.pPcData[i].size = sizeof(*b.pPcData);
		b.pPcData[i].stallReason = calloc(reasons, sizeof(*b.pPcData[i].stallReason));
	}
	return b;
}

static CUpti_PCSamplingData fetched, rest; /* CUPTI keeps the address of `rest` */

#define ATTRIBUTE(name) CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_##name

static void enable(void)
{
	size_t reasons = 0;
	CUpti_PCSamplingEnableParams on = {CUpti_PCSamplingEnableParamsSize, NULL, context};
	CUpti_PCSamplingGetNumStallReasonsParams count = {
		CUpti_PCSamplingGetNumStallReasonsParamsSize, NULL, context, &reasons};
	CUpti_PCSamplingConfigurationInfo wishes[3] = {
		{.attributeType = ATTRIBUTE(ENABLE_START_STOP_CONTROL)},
		{.attributeType = ATTRIBUTE(SAMPLING_PERIOD)},
		{.attributeType = ATTRIBUTE(SAMPLING_DATA_BUFFER)},
	};
	CUpti_PCSamplingConfigurationInfoParams set = {
		CUpti_PCSamplingConfigurationInfoParamsSize, NULL, context, 3, wishes};

	OK(cuptiPCSamplingEnable(&on));
	OK(cuptiPCSamplingGetNumStallReasons(&count));
	if (!rest.pPcData) {
		rest = buffer(reasons);
		fetched = buffer(reasons);
	}
	wishes[0].attributeData.enableStartStopControlData.enableStartStopControl = 1;
	wishes[1].attributeData.samplingPeriodData.samplingPeriod = 17;
	wishes[2].attributeData.samplingDataBufferData.samplingDataBuffer = &rest;
	OK(cuptiPCSamplingSetConfigurationAttribute(&set));
}

static void start(void)
{
	CUpti_PCSamplingStartParams params = {CUpti_PCSamplingStartParamsSize, NULL, context};

	OK(cuptiPCSamplingStart(&params));
}

static void stop(void)
{
	CUpti_PCSamplingStopParams params = {CUpti_PCSamplingStopParamsSize, NULL, context};
	CUpti_PCSamplingGetDataParams get = {
		CUpti_PCSamplingGetDataParamsSize, NULL, context, &fetched};

	OK(cuptiPCSamplingStop(&params));
	OK(cuptiPCSamplingGetData(&get));
}

static void disable(void)
{
	CUpti_PCSamplingDisableParams params = {CUpti_PCSamplingDisableParamsSize, NULL, context};

	OK(cuptiPCSamplingDisable(&params));
}

/* While no thread is in a call of the driver, unless they are to be. */
static void two_steps(
	const char *first_name, void (*first)(void), const char *second_name, void (*second)(void))
{
	double asked = now_ms(), begun, between;

	if (!beside) {
		__atomic_store_n(&wanted, 1, __ATOMIC_RELAXED);
		pthread_rwlock_wrlock(&in_driver);
	}
	begun = now_ms();
	first();
	between = now_ms();
	second();
	printf("  waited %.1f, %s %.1f, %s %.1f\n", begun - asked, first_name, between - begun,
		second_name, now_ms() - between);
	if (!beside) {
		pthread_rwlock_unlock(&in_driver);
		__atomic_store_n(&wanted, 0, __ATOMIC_RELAXED);
	}
}

int main(int argc, char **argv)
{
	void *(*const run[])(void *) = {launch, launch, copy, copy, load};
	int rounds = argc > 1 ? atoi(argv[1]) : 20;
	pthread_t threads[5];
	CUmodule module;
	CUdevice device;

	setvbuf(stdout, NULL, _IOLBF, 0);
	beside = argc > 2 && !strcmp(argv[2], "beside");
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, text));
	OK(cuModuleGetFunction(&spin, module, "spin"));
	for (int i = 0; i < 5; i++)
		pthread_create(&threads[i], NULL, run[i], NULL);
	for (int r = 0; r < rounds; r++) {
		alarm(HANGS_S);
		printf("round %d\n", r + 1);
		two_steps("enable", enable, "start", start);
		usleep(200000);
		two_steps("stop", stop, "disable", disable);
		printf("  %llu samples, %llu of them without code\n",
			(unsigned long long)fetched.totalSamples,
			(unsigned long long)fetched.nonUsrKernelsTotalSamples);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 5; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
