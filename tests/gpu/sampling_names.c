// SPDX-License-Identifier: MIT
/*
 * When CUPTI knows the names of kernels whose modules were loaded, and launched, before
 * instructions are sampled: each argument is an order of steps, done in a process of its own.
 *
 *	s u	a subscriber comes, goes
 *	d r e	callbacks of the driver's calls, the runtime's, of resources (capital: off again)
 *	w	callbacks of all the driver's calls but those that launch graphs; W: of these alone
 *	k m	records of kernels, of copies and sets (capital: off again)
 *	y z	sampling of instructions is enabled and set up; it is started; p: both
 *	f	what was sampled is printed: by name, and without
 *	. x	the same when it is stopped; disabled
 *	a b	200 launches of a kernel, and the wait for them; l: of a library's kernel
 *	g	200 replays of a graph of one kernel; h: of a graph of kernel a; G: by the runtime
 *	c	a copy and a set
 *	n	a module is loaded, and its kernel launched
 *	B	all of it is made, and launched once: where that is a step, it is not done before the first
 *	q	the context is destroyed, and all of it made once more
 *	i o	from now on sampling is enabled where a context is made; so too, and disabled at once
 *	T	from now on another thread launches a and replays both graphs all the time
 *	( H )	calls of the driver are held where they call back; that one is; they go on
 *	_	a pause
 *
 * Before the first step all of it but n was launched once. Each kernel takes as long. What the
 * library does in a program that is armed (inject/cupti/armed.h), the second recording, where
 * sampling is disabled at once, and an armed context that ends while nobody subscribes; in the
 * latter two nothing has a name:
 *
 *	siBu_T_sd(Hxkp)_f	siBu_T_sd(Hxkp)_f(H.xK)Du_sd(Hkp)_f
 *	soBu_T_sd(Hkp)_f	siBu_q_skpghabf
 *
 * Built by hand, as it needs CUPTI's own headers; in CUDA's folder:
 *
 *	cc -D_GNU_SOURCE -I include -I extras/CUPTI/include tests/gpu/sampling_names.c \
 *		-lcuda -lcudart -lcupti
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <cupti_pcsampling.h>

enum {
	PCS = 4096,
	LAUNCHES = 200,
	FUNCTIONS = 16,
	HANGS_S = 20,
	BUFFER = 1 << 20,
	LATE_US = 200000
};

#define KERNEL(name)                                                                               \
	".visible .entry " name "(.param .u32 times) {\n"                                          \
	" .reg .pred %p; .reg .u32 %n, %i; .reg .f32 %f;\n"                                        \
	" ld.param.u32 %n, [times]; mov.u32 %i, 0; mov.f32 %f, 0f3f800000;\n"                      \
	"again: mul.f32 %f, %f, %f; add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra again;\n"   \
	" setp.eq.f32 %p, %f, 0f00000000; @%p trap; ret; }\n"
#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static const char module_text[] = HEAD KERNEL("a") KERNEL("b") KERNEL("g");
static const char library_text[] = HEAD KERNEL("l");
static const char late_text[] = HEAD KERNEL("n");

static CUcontext context;
static CUfunction a, b, g, l;
static CUgraphExec graph_g, graph_a;
static CUstream stream;
static CUdeviceptr memory;
static CUpti_SubscriberHandle subscriber;
static pthread_t main_thread;
static bool hold, is_held;
static bool enables, disables;		   /* where a context is made */
static CUpti_PCSamplingData fetched, rest; /* CUPTI keeps the address of `rest` */

static void check(int result, const char *call)
{
	if (!result)
		return;
	printf(" (%s: %d)", call, result);
	fflush(stdout);
}

#define OK(call) check((int)(call), #call)

static void launch_once(CUfunction f)
{
	unsigned int n = 2000;
	void *params[] = {&n};

	OK(cuLaunchKernel(f, 132, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

static void launch(CUfunction f)
{
	for (int i = 0; i < LAUNCHES; i++)
		launch_once(f);
	OK(cuStreamSynchronize(stream));
}

static void replay(CUgraphExec exec)
{
	for (int i = 0; i < LAUNCHES; i++)
		OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
}

static void replay_by_runtime(CUgraphExec exec)
{
	for (int i = 0; i < LAUNCHES; i++)
		OK(cudaGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
}

static void copy(void)
{
	static char host[4096];

	OK(cuMemcpyHtoDAsync(memory, host, sizeof(host), stream));
	OK(cuMemsetD8Async(memory, 1, sizeof(host), stream));
	OK(cuStreamSynchronize(stream));
}

static void load_and_launch(void)
{
	CUmodule module;
	CUfunction n = NULL;

	OK(cuModuleLoadData(&module, late_text));
	OK(cuModuleGetFunction(&n, module, "n"));
	launch(n);
}

static CUgraphExec graph_of(CUfunction f)
{
	CUgraphExec exec = NULL;
	CUgraph graph;

	OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	launch_once(f);
	OK(cuStreamEndCapture(stream, &graph));
	OK(cuGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void begin(void)
{
	CUmodule module;
	CUlibrary library;
	CUkernel kernel;
	CUdevice device;

	OK(cuDeviceGet(&device, 0));
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc(&memory, 4096));
	OK(cuModuleLoadData(&module, module_text));
	OK(cuModuleGetFunction(&a, module, "a"));
	OK(cuModuleGetFunction(&b, module, "b"));
	OK(cuModuleGetFunction(&g, module, "g"));
	OK(cuLibraryLoadData(&library, library_text, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, "l"));
	OK(cuKernelGetFunction(&l, kernel));
	graph_g = graph_of(g);
	graph_a = graph_of(a);
	launch(a);
	launch(b);
	launch(l);
	replay(graph_g);
	replay(graph_a);
	copy();
}

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void set(bool *flag, bool to)
{
	__atomic_store_n(flag, to, __ATOMIC_SEQ_CST);
}

static void enable(void);
static void disable(void);

static void on_context(const CUpti_ResourceData *made)
{
	context = made->context;
	if (enables)
		enable();
	if (disables)
		disable();
}

static void CUPTIAPI on_callback(
	void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;

	if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED)
		on_context(data);
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_ENTER ||
		pthread_equal(pthread_self(), main_thread))
		return;
	while (is_set(&hold)) {
		set(&is_held, true);
		usleep(20);
	}
	set(&is_held, false);
}

static void *launch_for_ever(void *unused)
{
	OK(cuCtxSetCurrent(context));
	for (;;) {
		for (int i = 0; i < 10; i++) {
			launch_once(a);
			OK(cuGraphLaunch(graph_a, stream));
			OK(cuGraphLaunch(graph_g, stream));
		}
		OK(cuStreamSynchronize(stream));
	}
}

static void begin_thread(void)
{
	pthread_t thread;

	OK(pthread_create(&thread, NULL, launch_for_ever, NULL));
}

static void await_hold(void)
{
	while (!is_set(&is_held))
		usleep(20);
	usleep(1000);
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

static void subscribe(void)
{
	OK(cuptiSubscribe(&subscriber, on_callback, NULL));
	OK(cuptiActivityRegisterCallbacks(on_request, on_complete));
}

static CUpti_PCSamplingData make_buffer(size_t reasons)
{
	CUpti_PCSamplingData made = {.size = sizeof(made), .collectNumPcs = PCS};

	made.pPcData = calloc(PCS, sizeof(*made.pPcData));
	for (int i = 0; i < PCS; i++) {
		made.pPcData[i].size = sizeof(*made.pPcData);
		made.pPcData[i].stallReason = calloc(reasons, sizeof(*made.pPcData[i].stallReason));
	}
	return made;
}

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
		rest = make_buffer(reasons);
		fetched = make_buffer(reasons);
	}
	wishes[0].attributeData.enableStartStopControlData.enableStartStopControl = 1;
	wishes[1].attributeData.samplingPeriodData.samplingPeriod = 14;
	wishes[2].attributeData.samplingDataBufferData.samplingDataBuffer = &rest;
	OK(cuptiPCSamplingSetConfigurationAttribute(&set));
}

static void start(void)
{
	CUpti_PCSamplingStartParams start = {CUpti_PCSamplingStartParamsSize, NULL, context};

	OK(cuptiPCSamplingStart(&start));
}

static void print_samples(void)
{
	struct {
		char name[32];
		unsigned long long samples;
	} found[FUNCTIONS] = {0};
	int functions = 0;

	for (size_t i = 0; i < fetched.totalNumPcs && i < PCS; i++) {
		const CUpti_PCSamplingPCData *pc = &fetched.pPcData[i];
		const char *name = pc->functionName ? pc->functionName : "NULL";
		int at = 0;

		while (at < functions && strncmp(found[at].name, name, 31))
			at++;
		if (at == FUNCTIONS)
			continue;
		if (at == functions)
			strncpy(found[functions++].name, name, 31);
		for (size_t r = 0; r < pc->stallReasonCount; r++)
			found[at].samples += pc->stallReason[r].samples;
	}
	printf(" {");
	for (int i = 0; i < functions; i++)
		printf("%s %llu, ", found[i].name, found[i].samples);
	printf("nameless %llu of %llu}", (unsigned long long)fetched.nonUsrKernelsTotalSamples,
		(unsigned long long)fetched.totalSamples);
}

static void fetch(void)
{
	CUpti_PCSamplingGetDataParams get = {
		CUpti_PCSamplingGetDataParamsSize, NULL, context, &fetched};

	OK(cuptiPCSamplingGetData(&get));
	print_samples();
}

static void stop(void)
{
	CUpti_PCSamplingStopParams end = {CUpti_PCSamplingStopParamsSize, NULL, context};

	OK(cuptiPCSamplingStop(&end));
	fetch();
}

static void disable(void)
{
	CUpti_PCSamplingDisableParams params = {CUpti_PCSamplingDisableParamsSize, NULL, context};

	OK(cuptiPCSamplingDisable(&params));
}

static void records(CUptiResult (*set)(CUpti_ActivityKind), bool of_kernels)
{
	if (of_kernels) {
		OK(set(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
		return;
	}
	OK(set(CUPTI_ACTIVITY_KIND_MEMCPY));
	OK(set(CUPTI_ACTIVITY_KIND_MEMSET));
}

static void callbacks(bool on, CUpti_CallbackDomain domain)
{
	OK(cuptiEnableDomain(on, subscriber, domain));
}

static void graph_callbacks(bool on)
{
	OK(cuptiEnableCallback(
		on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch));
	OK(cuptiEnableCallback(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
		CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz));
}

static void enable_early(bool at_once)
{
	enables = true;
	disables = at_once;
	OK(cuptiEnableCallback(
		1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
}

static void begin_again(void)
{
	CUdevice device;

	OK(cuCtxGetDevice(&device));
	OK(cuDevicePrimaryCtxReset(device));
	begin();
}

static bool do_setting(char step)
{
	switch (step) {
	case 'w':
		callbacks(true, CUPTI_CB_DOMAIN_DRIVER_API);
		graph_callbacks(false);
		return true;
	case 'W':
		graph_callbacks(true);
		return true;
	case 's':
		subscribe();
		return true;
	case 'u':
		OK(cuptiUnsubscribe(subscriber));
		return true;
	case 'd':
	case 'D':
		callbacks(step == 'd', CUPTI_CB_DOMAIN_DRIVER_API);
		return true;
	case 'r':
	case 'R':
		callbacks(step == 'r', CUPTI_CB_DOMAIN_RUNTIME_API);
		return true;
	case 'e':
	case 'E':
		callbacks(step == 'e', CUPTI_CB_DOMAIN_RESOURCE);
		return true;
	case 'k':
		records(cuptiActivityEnable, true);
		return true;
	case 'K':
		records(cuptiActivityDisable, true);
		return true;
	case 'm':
		records(cuptiActivityEnable, false);
		return true;
	case 'M':
		records(cuptiActivityDisable, false);
		return true;
	case 'p':
		enable();
		start();
		return true;
	case 'y':
		enable();
		return true;
	case 'z':
		start();
		return true;
	case '.':
		stop();
		return true;
	case 'x':
		disable();
		return true;
	case 'i':
	case 'o':
		enable_early(step == 'o');
		return true;
	case 'B':
		begin();
		return true;
	case 'q':
		begin_again();
		return true;
	case 'T':
		begin_thread();
		return true;
	case '(':
		set(&hold, true);
		return true;
	case ')':
		set(&hold, false);
		return true;
	case 'H':
		await_hold();
		return true;
	case '_':
		usleep(LATE_US);
		return true;
	case 'f':
		usleep(LATE_US);
		fetch();
		return true;
	default:
		return false;
	}
}

static void do_work(char step)
{
	switch (step) {
	case 'a':
		launch(a);
		break;
	case 'b':
		launch(b);
		break;
	case 'l':
		launch(l);
		break;
	case 'g':
		replay(graph_g);
		break;
	case 'h':
		replay(graph_a);
		break;
	case 'G':
		replay_by_runtime(graph_g);
		break;
	case 'c':
		copy();
		break;
	case 'n':
		load_and_launch();
		break;
	default:
		printf(" (no step '%c')", step);
	}
}

static void run(const char *steps)
{
	alarm(HANGS_S);
	main_thread = pthread_self();
	OK(cuInit(0));
	if (!strchr(steps, 'B'))
		begin();
	printf("%-24s", steps);
	for (const char *step = steps; *step; step++)
		if (!do_setting(*step))
			do_work(*step);
	printf("\n");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int status = 0;
		pid_t child = fork();

		if (!child)
			run(argv[i]);
		waitpid(child, &status, 0);
		if (status)
			printf("%-24s ended with %#x\n", argv[i], status);
		fflush(stdout);
	}
	return 0;
}
