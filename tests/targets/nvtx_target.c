// SPDX-License-Identifier: MIT
/*
 * A program that names what it does with NVTX:
 *
 *	step            |=================| |=================| |=================|
 *	  load            |=====|             |=====|             |=====|
 *	  compute                 |=====|             |=====|             |=====|	a kernel in each
 *	request         |=========================================================|	begun and ended by two threads
 *	loader: batch     |=====|             |=====|             |=====|	a domain of its own, a registered string
 *	done                                                                      |	a moment
 *
 * Without NVIDIA's headers NVTX is what stands here: the little of it that they would put into the
 * program. With them (-DREAL_NVTX) it is theirs.
 */
#include "driver.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#else
#include <dlfcn.h>

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved;
	uint64_t payload;
	int32_t messageType;
	union {
		const char *ascii;
		const void *registered;
	} message;
} nvtxEventAttributes_t;

#define NVTX_VERSION		      3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE (sizeof(nvtxEventAttributes_t))
#define NVTX_MESSAGE_TYPE_REGISTERED  3

typedef void *nvtxDomainHandle_t;
typedef void (*pointer)(void);

static void (*mark_a)(const char *);
static uint64_t (*start_a)(const char *);
static void (*range_end)(uint64_t);
static int (*push_a)(const char *);
static int (*pop)(void);
static int (*domain_push)(void *, const nvtxEventAttributes_t *);
static int (*domain_pop)(void *);
static void *(*domain_string)(void *, const char *);
static void *(*domain_create)(const char *);

static pointer unused[16];
static pointer *core[] = {&unused[0], &unused[1], (pointer *)&mark_a, &unused[3], &unused[4],
	(pointer *)&start_a, &unused[6], (pointer *)&range_end, &unused[8], (pointer *)&push_a,
	&unused[10], (pointer *)&pop};
static pointer *core2[] = {&unused[0], &unused[1], &unused[2], &unused[3], (pointer *)&domain_push,
	(pointer *)&domain_pop, &unused[6], &unused[7], &unused[8], &unused[9],
	(pointer *)&domain_string, &unused[11], (pointer *)&domain_create, &unused[13],
	&unused[14]};

static int get_table(int module, pointer ***ret, unsigned int *ret_size)
{
	*ret = module == 1 ? core : core2;
	*ret_size = module == 1 ? sizeof(core) / sizeof(*core) : sizeof(core2) / sizeof(*core2);
	return module == 1 || module == 5;
}

static const void *get_export_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*get)(int, pointer ***, unsigned int *);
	} callbacks = {sizeof(callbacks), get_table};

	return id == 1 ? &callbacks : NULL;
}

__attribute__((constructor)) static void load_tool(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *tool = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(const void *(*)(uint32_t)) = NULL;

	if (tool)
		*(void **)&initialize = dlsym(tool, "InitializeInjectionNvtx2");
	if (initialize)
		initialize(get_export_table);
}

#define CALL(function, ...) ((function) ? (function)(__VA_ARGS__) : 0)
#define nvtxMarkA(text)                                                                            \
	do {                                                                                       \
		if (mark_a)                                                                        \
			mark_a(text);                                                              \
	} while (0)
#define nvtxRangeStartA(text)			CALL(start_a, text)
#define nvtxRangePushA(text)			(void)CALL(push_a, text)
#define nvtxRangePop()				(void)CALL(pop)
#define nvtxDomainRangePushEx(domain, a)	(void)CALL(domain_push, domain, a)
#define nvtxDomainRangePop(domain)		(void)CALL(domain_pop, domain)
#define nvtxDomainRegisterStringA(domain, text) CALL(domain_string, domain, text)
#define nvtxDomainCreateA(name)			CALL(domain_create, name)
#define nvtxRangeEnd(id)                                                                           \
	do {                                                                                       \
		if (range_end)                                                                     \
			range_end(id);                                                             \
	} while (0)
#endif

enum { STEPS = 3, LOAD_US = 20000, COMPUTE_US = 30000, KERNELS = 5 };

#define PTX                                                                                        \
	".version 6.0\n.target sm_52\n.address_size 64\n.visible .entry "                          \
	"named_work()\n{\n\tret;\n}\n"

static struct driver driver;

#define CHECK(call) driver_check(&driver, driver.call, #call, __FILE__, __LINE__)

static void *end_request(void *id)
{
	nvtxRangeEnd(*(uint64_t *)id);
	return NULL;
}

static void load(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *batch)
{
	nvtxRangePushA("load");
	nvtxDomainRangePushEx(domain, batch);
	usleep(LOAD_US);
	nvtxDomainRangePop(domain);
	nvtxRangePop();
}

static void compute(CUfunction kernel)
{
	nvtxRangePushA("compute");
	for (int i = 0; i < KERNELS; i++)
		CHECK(cuLaunchKernel(kernel, 64, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuCtxSynchronize());
	usleep(COMPUTE_US);
	nvtxRangePop();
}

static CUfunction get_ready(void)
{
	CUfunction kernel;
	CUmodule module;
	CUcontext context;
	CUdevice device;

	if (!driver_open(&driver, "nvtx_target"))
		exit(1);
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, PTX));
	CHECK(cuModuleGetFunction(&kernel, module, "named_work"));
	return kernel;
}

int main(void)
{
	CUfunction kernel = get_ready();
	nvtxDomainHandle_t domain = nvtxDomainCreateA("loader");
	nvtxEventAttributes_t batch = {.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_REGISTERED};
	uint64_t request = nvtxRangeStartA("request");
	pthread_t other;

	batch.message.registered = nvtxDomainRegisterStringA(domain, "batch");
	for (int i = 0; i < STEPS; i++) {
		nvtxRangePushA("step");
		load(domain, &batch);
		compute(kernel);
		nvtxRangePop();
	}
	pthread_create(&other, NULL, end_request, &request);
	pthread_join(other, NULL);
	nvtxMarkA("done");
	nvtxRangePushA("never ends");
	return 0;
}
