// SPDX-License-Identifier: MIT
/*
 * Which correlation ids the calls of a thread have that was in a call while CUPTI's subscriber
 * came or went: each argument is an order of steps, done in a process of its own.
 *
 *	s u	a subscriber comes, goes
 *	d r	callbacks of the driver's calls, the runtime's, as a whole (capital: off again)
 *	c	callbacks of those calls alone that the thread makes
 *	k	records of kernels, copies and sets (capital: off again)
 *	w v	a thread waits for the GPU in a call of the driver's, of the runtime's, for a while
 *	e	until it has ended
 *	a	the thread makes calls of both: their ids are printed, +: that of the call before
 *	_	a pause
 *	i j	the thread makes its context by a call of the driver's, of the runtime's, and the
 *		subscriber goes, by another thread: 1 meanwhile, 2 when that call has ended; capital:
 *		callbacks of calls go off first
 *
 * "late" is printed where a callback comes for a subscriber that has gone: then a library must not
 * be unmapped. The ids after each other have to differ. If a thread's do not, records of its work
 * cannot be told apart for ever.
 *
 * Built by hand, as it needs CUPTI's own headers; in CUDA's folder:
 *
 *	cc -D_GNU_SOURCE -I include -I extras/CUPTI/include tests/gpu/correlation_ids.c \
 *		-lcuda -lcudart -lcupti
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

enum { HANGS_S = 20, BUFFER = 1 << 20, CALL_US = 400000, PAUSE_US = 50000 };

static CUpti_SubscriberHandle subscriber;
static CUcontext context;
static CUstream stream;
static CUdeviceptr memory;
static pthread_t worker;
static char order; /* for the worker; 0: none */
static bool prints, has_context, goes_off, goes_now, is_gone;

static void check(int result, const char *call)
{
	if (!result)
		return;
	printf(" (%s: %d)", call, result);
	fflush(stdout);
}

#define OK(call) check((int)(call), #call)

static void callbacks(bool on, CUpti_CallbackDomain domain)
{
	OK(cuptiEnableDomain(on, subscriber, domain));
}

static void callback(CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	OK(cuptiEnableCallback(1, subscriber, domain, id));
}

static void own_callbacks(void)
{
	callback(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
	callback(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
	callback(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemsetD8Async);
	callback(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
}

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *count)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = BUFFER;
	*count = 0;
}

static void CUPTIAPI on_complete(
	CUcontext c, uint32_t id, uint8_t *buffer, size_t size, size_t used)
{
	free(buffer);
}

static void records(CUptiResult (*set)(CUpti_ActivityKind))
{
	OK(set(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	OK(set(CUPTI_ACTIVITY_KIND_MEMCPY));
	OK(set(CUPTI_ACTIVITY_KIND_MEMSET));
}

/* As long as nobody subscribes where the context is made. */
static void *leave(void *unused)
{
	if (goes_off) {
		callbacks(false, CUPTI_CB_DOMAIN_DRIVER_API);
		callbacks(false, CUPTI_CB_DOMAIN_RUNTIME_API);
	}
	OK(cuptiUnsubscribe(subscriber));
	is_gone = true;
	return NULL;
}

static void CUPTIAPI on_callback(
	void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;
	static uint32_t last;
	pthread_t leaver;

	if (is_gone)
		printf(" late");
	if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
		if (goes_now && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
			OK(pthread_create(&leaver, NULL, leave, NULL));
			OK(pthread_detach(leaver));
			usleep(PAUSE_US);
		}
		return;
	}
	if (!prints || !pthread_equal(pthread_self(), worker) ||
		call->callbackSite != CUPTI_API_ENTER)
		return;
	printf(" %s%s%u", call->correlationId == last ? "+" : "",
		domain == CUPTI_CB_DOMAIN_DRIVER_API ? "d" : "r", call->correlationId);
	last = call->correlationId;
}

static void wait_long(void *unused)
{
	usleep(CALL_US);
}

static void make_context(bool by_runtime)
{
	CUdevice device;

	if (by_runtime) {
		OK(cudaFree(NULL));
		OK(cuCtxGetCurrent(&context));
	} else {
		OK(cuDeviceGet(&device, 0));
		OK(cuDevicePrimaryCtxRetain(&context, device));
		OK(cuCtxSetCurrent(context));
	}
	has_context = true;
}

static void make_calls(void)
{
	prints = true;
	for (int n = 0; n < 3; n++) {
		OK(cuMemsetD8Async(memory, 1, 64, stream));
		OK(cudaMemsetAsync((void *)memory, 1, 64, stream));
	}
	prints = false;
}

static void begin(void)
{
	if (!has_context)
		make_context(false);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&memory, 4096));
	OK(cudaMemsetAsync((void *)memory, 1, 64, stream));
	OK(cuStreamSynchronize(stream));
}

static void do_order(char step)
{
	if (step == 'i' || step == 'j') {
		make_context(step == 'j');
		return;
	}
	if (!stream)
		begin();
	if (step == 'a') {
		make_calls();
		return;
	}
	OK(cuLaunchHostFunc(stream, wait_long, NULL));
	if (step == 'w')
		OK(cuStreamSynchronize(stream));
	else
		OK(cudaStreamSynchronize(stream));
}

static void *work(void *unused)
{
	while (true) {
		char step = __atomic_load_n(&order, __ATOMIC_SEQ_CST);

		if (step) {
			do_order(step);
			__atomic_store_n(&order, 0, __ATOMIC_SEQ_CST);
		}
		usleep(100);
	}
	return NULL;
}

static void await_worker(void)
{
	while (__atomic_load_n(&order, __ATOMIC_SEQ_CST))
		usleep(100);
}

static void give(char step)
{
	await_worker();
	__atomic_store_n(&order, step, __ATOMIC_SEQ_CST);
	if (step == 'a')
		await_worker();
	else
		usleep(PAUSE_US);
}

/* Its first context, with somebody who subscribes meanwhile. */
static void give_first(char step, bool now)
{
	goes_now = now;
	OK(cuptiEnableCallback(
		1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
	give(step);
	await_worker();
	if (!now)
		leave(NULL);
}

static void do_step(const char *step)
{
	switch (*step) {
	case 's':
		is_gone = false;
		OK(cuptiSubscribe(&subscriber, on_callback, NULL));
		break;
	case 'u':
		OK(cuptiUnsubscribe(subscriber));
		is_gone = true;
		break;
	case 'd':
	case 'D':
		callbacks(*step == 'd', CUPTI_CB_DOMAIN_DRIVER_API);
		break;
	case 'r':
	case 'R':
		callbacks(*step == 'r', CUPTI_CB_DOMAIN_RUNTIME_API);
		break;
	case 'c':
		own_callbacks();
		break;
	case 'k':
		OK(cuptiActivityRegisterCallbacks(on_request, on_complete));
		records(cuptiActivityEnable);
		break;
	case 'K':
		records(cuptiActivityDisable);
		break;
	case 'I':
	case 'J':
		goes_off = true;
		give_first(*step == 'I' ? 'i' : 'j', step[1] == '1');
		break;
	case 'i':
	case 'j':
		give_first(*step, step[1] == '1');
		break;
	case 'w':
	case 'v':
	case 'a':
		give(*step);
		break;
	case 'e':
		await_worker();
		break;
	case '_':
		usleep(PAUSE_US);
		break;
	default:
		break;
	}
}

static void do_steps(const char *steps)
{
	printf("%-24s", steps);
	fflush(stdout);
	alarm(HANGS_S);
	OK(cuInit(0));
	OK(pthread_create(&worker, NULL, work, NULL));
	for (; *steps; steps++)
		do_step(steps);
	printf("\n");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	for (int n = 1; n < argc; n++) {
		pid_t child = fork();
		int status;

		if (!child)
			do_steps(argv[n]);
		waitpid(child, &status, 0);
		if (status)
			printf(" ended with status %#x\n", status);
		fflush(stdout);
	}
	return 0;
}
