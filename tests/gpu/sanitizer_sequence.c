// SPDX-License-Identifier: MIT
/*
 * What NVIDIA's Sanitizer API does with patches that are made while the program runs, each question
 * in a process of its own with a bounded time. Nothing of CUDA is needed to compile it.
 *
 *	gcc -O1 -D_GNU_SOURCE tests/gpu/sanitizer_sequence.c -ldl -o /tmp/sanitizer_sequence &&
 *		timeout 580 /tmp/sanitizer_sequence 2>&1 | tee sanitizer-results.txt
 *
 * `sanitizer_sequence NAME ...` asks these questions only, `-l` lists them. XPUPROF_SANITIZER is
 * the library's path and XPUPROF_PTXAS an assembler, where neither is found by itself.
 *
 * The kernel adds two vectors of 1,000 elements in 8 blocks of 128 threads, so that 24 threads end
 * early: 1,024 threads, 32 warps, 3,000 accesses, of which 2,000 load.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ELEMENTS = 1000, BLOCKS = 8, THREADS = 128, WORDS = 16, PATIENCE_S = 60, LAUNCHES = 200 };

/* What is used of cuda.h, sanitizer.h and cupti.h. */
typedef int (*any_function)(void);
enum { PTX = 1, MAX_REGISTERS = 0, ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };
enum { MAJOR = 75, MINOR = 76, CAPTURE_RELAXED = 2 };
enum { BLOCK_ENTER = 1, BLOCK_EXIT = 2, GLOBAL_ACCESS = 3 };
enum { DOMAIN_RESOURCE = 3, DOMAIN_LAUNCH = 5, MODULE_LOADED = 9, LAUNCH_BEGIN = 1 };

struct module_loaded {
	void *context, *module;
	size_t size;
	const char *cubin;
	void *library;
};

#define DRIVER(D)                                                                                  \
	D(cuInit, (unsigned int flags))                                                            \
	D(cuDriverGetVersion, (int *version))                                                      \
	D(cuDeviceGet, (int *device, int ordinal))                                                 \
	D(cuDeviceGetAttribute, (int *value, int attribute, int device))                           \
	D(cuDevicePrimaryCtxRetain, (void **context, int device))                                  \
	D(cuCtxSetCurrent, (void *context))                                                        \
	D(cuCtxSynchronize, (void))                                                                \
	D(cuMemAlloc_v2, (uint64_t * at, size_t bytes))                                            \
	D(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes))                          \
	D(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes))                                \
	D(cuMemsetD8_v2, (uint64_t at, unsigned char value, size_t bytes))                         \
	D(cuLinkCreate_v2, (unsigned int count, int *options, void **values, void **state))        \
	D(cuLinkAddData_v2,                                                                        \
		(void *state, int type, const void *data, size_t size, const char *name,           \
			unsigned int count, int *options, void **values))                          \
	D(cuLinkComplete, (void *state, void **cubin, size_t *size))                               \
	D(cuModuleLoadData, (void **module, const void *image))                                    \
	D(cuModuleGetFunction, (void **function, void *module, const char *name))                  \
	D(cuLibraryLoadData, (void **library, const void *code, int *options, void **values,       \
				     unsigned int count, int *library_options,                     \
				     void **library_values, unsigned int library_count))           \
	D(cuLibraryGetModule, (void **module, void *library))                                      \
	D(cuLibraryGetKernel, (void **kernel, void *library, const char *name))                    \
	D(cuKernelGetFunction, (void **function, void *kernel))                                    \
	D(cuLaunchKernel, (void *function, unsigned int gx, unsigned int gy, unsigned int gz,      \
				  unsigned int bx, unsigned int by, unsigned int bz,               \
				  unsigned int shared, void *stream, void **params, void **extra)) \
	D(cuStreamCreate, (void **stream, unsigned int flags))                                     \
	D(cuStreamSynchronize, (void *stream))                                                     \
	D(cuStreamBeginCapture_v2, (void *stream, int mode))                                       \
	D(cuStreamEndCapture, (void *stream, void **graph))                                        \
	D(cuGraphInstantiateWithFlags, (void **exec, void *graph, uint64_t flags))                 \
	D(cuGraphLaunch, (void *exec, void *stream))                                               \
	D(cuModuleGetFunctionCount, (unsigned int *count, void *module))                           \
	D(cuModuleEnumerateFunctions, (void **functions, unsigned int count, void *module))        \
	D(cuFuncGetName, (const char **name, void *function))                                      \
	D(cuGetErrorName, (int error, const char **name))

#define SANITIZER(S)                                                                               \
	S(Subscribe, (void **subscriber, void *callback, void *userdata))                          \
	S(Unsubscribe, (void *subscriber))                                                         \
	S(EnableDomain, (uint32_t enable, void *subscriber, int domain))                           \
	S(AddPatches, (const void *image, void *context))                                          \
	S(PatchInstructions, (int instruction, void *module, const char *name))                    \
	S(PatchModule, (void *module))                                                             \
	S(UnpatchModule, (void *module))                                                           \
	S(SetCallbackData, (void *function, const void *userdata))                                 \
	S(GetCallbackPcAndSize, (void *context, const char *name, uint64_t *pc, uint64_t *size))   \
	S(GetFunctionPcAndSize, (void *module, const char *name, uint64_t *pc, uint64_t *size))    \
	S(GetResultString, (int result, const char **text))

static struct {
#define MEMBER(name, arguments) int(*name) arguments;
	DRIVER(MEMBER)
	SANITIZER(MEMBER)
#undef MEMBER
	int device, sm;
	void *context, *subscriber, *module, *function, *stream;
	uint64_t vectors, counters;
	const void *patch_image; /* what callbacks add and use; NULL: they do nothing */
	unsigned int callbacks, modules, launches;
} it;

static const char kernel_text[] =
	".visible .entry add(.param .u64 a, .param .u32 n)\n{\n"
	".reg .b64 %a, %o;\n.reg .b32 %i, %n, %b, %w, %x, %y;\n.reg .pred %p;\n"
	"ld.param.u64 %a, [a];\nld.param.u32 %n, [n];\ncvta.to.global.u64 %a, %a;\n"
	"mov.u32 %i, %ctaid.x;\nmov.u32 %w, %ntid.x;\nmov.u32 %b, %tid.x;\n"
	"mad.lo.u32 %i, %i, %w, %b;\nsetp.ge.u32 %p, %i, %n;\n@%p ret;\n"
	"mul.wide.u32 %o, %i, 4;\nadd.u64 %a, %a, %o;\nmul.wide.u32 %o, %n, 4;\n"
	"ld.global.u32 %x, [%a];\nadd.u64 %a, %a, %o;\nld.global.u32 %y, [%a];\n"
	"add.u32 %x, %x, %y;\nadd.u64 %a, %a, %o;\nst.global.u32 [%a], %x;\nret;\n}\n";

/* Counters: threads at the entry, warps there, threads at the exit, accesses, loads, stores, bytes,
 * lines of 128 bytes by warp, the last pc, the grid's number, a sum that needs memory of its
  * own. */
#define HEAD                                                                                       \
	"\n{\n.reg .b64 %u, %v, %z;\n.reg .b32 %a, %b, %c, %d;\n.reg .pred %p, %q;\n"              \
	"ld.param.b64 %u, [u];\nsetp.eq.u64 %p, %u, 0;\n@%p bra END;\nactivemask.b32 %a;\n"        \
	"mov.u32 %b, %lanemask_lt;\nand.b32 %b, %b, %a;\nsetp.ne.u32 %q, %b, 0;\n"
#define TAIL   "END:\nst.param.b32 [r], 0;\nret;\n}\n"
#define PARAMS ".param .b64 u, .param .b64 pc"

static const char patch_text[] =
	".visible .func (.param .b32 r) xpu_enter(" PARAMS ")" HEAD
	"red.global.add.u64 [%u], 1;\n@%q bra END;\nred.global.add.u64 [%u+8], 1;\n"
	"ld.param.b64 %v, [pc];\nst.global.u64 [%u+64], %v;\n"
	"mov.u64 %v, %gridid;\nst.global.u64 [%u+72], %v;\n" TAIL
	".visible .func (.param .b32 r) xpu_exit(" PARAMS ")" HEAD
	"red.global.add.u64 [%u+16], 1;\n" TAIL ".visible .func (.param .b32 r) xpu_access(" PARAMS
	", .param .b64 at, "
	".param .b32 size, .param .b32 flags, .param .b64 data)" HEAD
	"red.global.add.u64 [%u+24], 1;\n"
	"ld.param.b32 %c, [flags];\nand.b32 %d, %c, 1;\ncvt.u64.u32 %v, %d;\n"
	"red.global.add.u64 [%u+32], %v;\n"
	"shr.u32 %d, %c, 1;\nand.b32 %d, %d, 1;\ncvt.u64.u32 %v, %d;\n"
	"red.global.add.u64 [%u+40], %v;\n"
	"ld.param.b32 %c, [size];\ncvt.u64.u32 %v, %c;\nred.global.add.u64 [%u+48], %v;\n"
	"ld.param.b64 %v, [at];\nshr.u64 %v, %v, 7;\nmatch.any.sync.b64 %c, %v, %a;\n"
	"mov.u32 %b, %lanemask_lt;\nand.b32 %c, %c, %b;\nsetp.ne.u32 %q, %c, 0;\n@%q bra END;\n"
	"red.global.add.u64 [%u+56], 1;\n" TAIL
	/* The same with memory of the thread's own, as a program's stack has. */
	".visible .func (.param .b32 r) xpu_stack(" PARAMS ")" HEAD
	".local .align 8 .b8 own[128];\n.reg .b64 %s, %t;\nmov.u64 %s, own;\n"
	"mov.u32 %c, %tid.x;\nand.b32 %d, %c, 15;\nmul.wide.u32 %t, %d, 8;\n"
	"add.u64 %t, %s, %t;\ncvt.u64.u32 %v, %c;\nst.local.u64 [%t], %v;\n"
	"mov.u32 %d, %laneid;\nand.b32 %d, %d, 15;\nmul.wide.u32 %t, %d, 8;\nadd.u64 %t, %s, %t;\n"
	"ld.local.u64 %v, [%t];\nred.global.add.u64 [%u+80], %v;\n" TAIL;

/* Keeps the functions where a linker drops what no kernel calls. */
static const char keeper_text[] =
	".visible .entry xpu_keeper(.param .u64 a)\n{\n.reg .b64 %a, %f;\n"
	"ld.param.u64 %a, [a];\nmov.u64 %f, xpu_enter;\nst.global.u64 [%a], %f;\n"
	"mov.u64 %f, xpu_exit;\nst.global.u64 [%a+8], %f;\nmov.u64 %f, xpu_access;\n"
	"st.global.u64 [%a+16], %f;\nmov.u64 %f, xpu_stack;\nst.global.u64 [%a+24], %f;\nret;\n}\n";

static bool driver_said(int result, const char *what)
{
	const char *name = "?";

	if (!result)
		return true;
	it.cuGetErrorName(result, &name);
	printf("    %s: %d %s\n", what, result, name);
	return false;
}

static bool said(int result, const char *what)
{
	const char *text = NULL;

	if (it.GetResultString)
		it.GetResultString(result, &text);
	printf("    %s: %d %s\n", what, result, text ? text : "");
	return !result;
}

static bool open_driver(void)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!cuda) {
		printf("    no driver: %s\n", dlerror());
		return false;
	}
#define FIND(name, arguments)                                                                      \
	*(void **)&it.name = dlsym(cuda, #name);                                                   \
	if (!it.name) {                                                                            \
		printf("    the driver has no " #name "\n");                                       \
		return false;                                                                      \
	}
	DRIVER(FIND)
#undef FIND
	return true;
}

static void *open_file(const char *folder, const char *rest)
{
	char path[4096];

	if (!folder || snprintf(path, sizeof(path), "%s%s", folder, rest) >= (int)sizeof(path) ||
		access(path, R_OK))
		return NULL;
	printf("    found %s\n", path);
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

static bool open_sanitizer(void)
{
	static const char file[] = "/compute-sanitizer/libsanitizer-public.so";
	static const char extras[] = "/extras/Sanitizer/libsanitizer-public.so";
	void *library = open_file(getenv("XPUPROF_SANITIZER"), "");

	if (!library)
		library = open_file(getenv("CUDA_HOME"), file);
	if (!library)
		library = open_file("/usr/local/cuda", file);
	if (!library)
		library = open_file("/usr/local/cuda", extras);
	if (!library)
		library = dlopen("libsanitizer-public.so", RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		printf("    no Sanitizer library: %s\n", dlerror());
		return false;
	}
#define FIND(name, arguments)                                                                      \
	*(void **)&it.name = dlsym(library, "sanitizer" #name);                                    \
	if (!it.name)                                                                              \
		printf("    it has no sanitizer" #name "\n");
	SANITIZER(FIND)
#undef FIND
	return it.Subscribe && it.AddPatches && it.PatchInstructions && it.PatchModule &&
	       it.SetCallbackData;
}

static bool patch(void *context, void *module)
{
	return said(it.AddPatches(it.patch_image, context), "AddPatches") &&
	       said(it.PatchInstructions(BLOCK_ENTER, module, "xpu_enter"), "patch enter") &&
	       said(it.PatchInstructions(BLOCK_EXIT, module, "xpu_exit"), "patch exit") &&
	       said(it.PatchInstructions(GLOBAL_ACCESS, module, "xpu_access"), "patch access") &&
	       said(it.PatchModule(module), "PatchModule");
}

static void callback(void *unused, int domain, uint32_t id, const void *data)
{
	const struct module_loaded *m = data;

	it.callbacks++;
	it.launches += domain == DOMAIN_LAUNCH && id == LAUNCH_BEGIN;
	if (domain != DOMAIN_RESOURCE || id != MODULE_LOADED)
		return;
	it.modules++;
	printf("    callback: module %p, cubin %p of %zu bytes, library %p\n", m->module, m->cubin,
		m->size, m->library);
	if (it.patch_image)
		patch(m->context, m->module);
}

static bool subscribe(void)
{
	return said(it.Subscribe(&it.subscriber, callback, NULL), "Subscribe") &&
	       said(it.EnableDomain(1, it.subscriber, DOMAIN_RESOURCE), "domain resource") &&
	       said(it.EnableDomain(1, it.subscriber, DOMAIN_LAUNCH), "domain launch");
}

static bool init(void)
{
	int major = 0, minor = 0;

	if (!driver_said(it.cuInit(0), "cuInit") ||
		!driver_said(it.cuDeviceGet(&it.device, 0), "cuDeviceGet"))
		return false;
	it.cuDeviceGetAttribute(&major, MAJOR, it.device);
	it.cuDeviceGetAttribute(&minor, MINOR, it.device);
	it.sm = major * 10 + minor;
	return true;
}

static bool make_context(void)
{
	int32_t vectors[3 * ELEMENTS] = {0};

	for (int i = 0; i < 2 * ELEMENTS; i++)
		vectors[i] = i * 3;
	return driver_said(it.cuDevicePrimaryCtxRetain(&it.context, it.device), "retain") &&
	       driver_said(it.cuCtxSetCurrent(it.context), "set current") &&
	       driver_said(it.cuStreamCreate(&it.stream, 1), "stream") &&
	       driver_said(it.cuMemAlloc_v2(&it.vectors, sizeof(vectors)), "memory") &&
	       driver_said(it.cuMemAlloc_v2(&it.counters, WORDS * 8), "memory") &&
	       driver_said(it.cuMemsetD8_v2(it.counters, 0, WORDS * 8), "set") &&
	       driver_said(it.cuMemcpyHtoD_v2(it.vectors, vectors, sizeof(vectors)), "copy");
}

static char *module_text(const char *first, const char *second)
{
	char *text = NULL;

	if (asprintf(&text, ".version 7.8\n.target sm_%d\n.address_size 64\n%s%s",
		    it.sm < 90 ? it.sm : 90, first, second) < 0)
		exit(2);
	return text;
}

/* As the driver's linker makes it. */
static const void *linked(const char *text, uintptr_t registers, size_t *ret_size)
{
	static char log[8192];
	int options[] = {ERROR_LOG, ERROR_LOG_SIZE, MAX_REGISTERS};
	void *values[] = {log, (void *)sizeof(log), (void *)registers};
	void *state, *cubin = NULL;

	if (!driver_said(it.cuLinkCreate_v2(registers ? 3 : 2, options, values, &state), "link") ||
		!driver_said(
			it.cuLinkAddData_v2(state, PTX, text, strlen(text) + 1, "x", 0, NULL, NULL),
			"link: add") ||
		!driver_said(it.cuLinkComplete(state, &cubin, ret_size), "link: complete")) {
		printf("    log: %s\n", log);
		return NULL;
	}
	printf("    linked: %zu bytes\n", *ret_size);
	return cubin;
}

static const void *assembled(const char *text)
{
	const char *ptxas = getenv("XPUPROF_PTXAS");
	char name[] = "/tmp/sanitizer_sequenceXXXXXX", command[4096];
	static char image[1 << 20];
	int fd = mkstemp(name);
	size_t size = 0;
	FILE *f;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return NULL;
	close(fd);
	snprintf(command, sizeof(command),
		"%s -arch=sm_%d --compile-as-tools-patch -v %s -o %s.cubin",
		ptxas ? ptxas : "PATH=$PATH:/usr/local/cuda/bin ptxas", it.sm, name, name);
	printf("    %s\n", command);
	if (!system(command)) {
		snprintf(command, sizeof(command), "%s.cubin", name);
		f = fopen(command, "r");
		size = f ? fread(image, 1, sizeof(image), f) : 0;
		if (f)
			fclose(f);
		unlink(command);
	}
	unlink(name);
	return size ? image : NULL;
}

/* What the library takes: functions that an entry names, with as few registers as there can be. */
static const void *default_image(void)
{
	size_t size;

	return linked(module_text(patch_text, keeper_text), 24, &size);
}

static bool load_kernel(void)
{
	size_t size;
	const void *cubin = linked(module_text(kernel_text, ""), 0, &size);

	return cubin && driver_said(it.cuModuleLoadData(&it.module, cubin), "load") &&
	       driver_said(it.cuModuleGetFunction(&it.function, it.module, "add"), "function");
}

static bool launch(void *stream)
{
	uint32_t n = ELEMENTS;
	void *params[] = {&it.vectors, &n};

	return driver_said(it.cuLaunchKernel(it.function, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream,
				   params, NULL),
		"launch");
}

/* Prints what is counted since the last time. */
static void print_counters(const char *when)
{
	static const char *const names[] = {"threads in", "warps in", "threads out", "accesses",
		"loads", "stores", "bytes", "lines", "pc", "grid", "stack sum"};
	uint64_t counters[WORDS] = {0};
	int32_t sums[ELEMENTS];
	int wrong = 0;

	if (!driver_said(it.cuCtxSynchronize(), "synchronize"))
		return;
	it.cuMemcpyDtoH_v2(counters, it.counters, sizeof(counters));
	it.cuMemcpyDtoH_v2(sums, it.vectors + 2 * ELEMENTS * 4, sizeof(sums));
	for (int i = 0; i < ELEMENTS; i++)
		wrong += sums[i] != i * 3 + (i + ELEMENTS) * 3;
	printf("  = %s:", when);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf(" %s %llu,", names[i], (unsigned long long)counters[i]);
	printf(" wrong sums %d\n", wrong);
	it.cuMemsetD8_v2(it.counters, 0, WORDS * 8);
	it.cuMemsetD8_v2(it.vectors + 2 * ELEMENTS * 4, 0, ELEMENTS * 4);
	it.cuCtxSynchronize();
}

static double time_launches(void)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 0; i < LAUNCHES; i++)
		if (!launch(it.stream))
			return -1;
	it.cuStreamSynchronize(it.stream);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return ((double)(to.tv_sec - from.tv_sec) * 1e6 +
		       (double)(to.tv_nsec - from.tv_nsec) / 1e3) /
	       LAUNCHES;
}

static void run_patched(void)
{
	uint64_t pc = 0, size = 0;

	if (it.GetCallbackPcAndSize &&
		said(it.GetCallbackPcAndSize(it.context, "xpu_access", &pc, &size), "callback pc"))
		printf("    xpu_access at %#llx, %llu bytes\n", (unsigned long long)pc,
			(unsigned long long)size);
	launch(it.stream);
	print_counters("launched without data");
	said(it.SetCallbackData(it.function, (void *)(uintptr_t)it.counters), "SetCallbackData");
	launch(it.stream);
	print_counters("launched with data");
	printf("    %.2f us a launch\n", time_launches());
	print_counters("many launches");
}

static bool start(void)
{
	return open_driver() && open_sanitizer() && subscribe() && init() && make_context();
}

static void plain(void)
{
	if (!open_driver() || !init() || !make_context() || !load_kernel())
		return;
	launch(it.stream);
	print_counters("plain");
	time_launches();
	printf("    %.2f us a launch\n", time_launches());
}

static void subscribed_only(void)
{
	if (!start() || !load_kernel())
		return;
	launch(it.stream);
	print_counters("subscribed");
	time_launches();
	printf("    %.2f us a launch; %u callbacks, %u modules, %u launches\n", time_launches(),
		it.callbacks, it.modules, it.launches);
}

static void patch_with(const void *image)
{
	it.patch_image = image;
	if (image && patch(it.context, it.module))
		run_patched();
	it.patch_image = NULL;
}

static void patch_text_itself(void)
{
	if (start() && load_kernel())
		patch_with(module_text(patch_text, ""));
}

static void patch_text_keeper(void)
{
	if (start() && load_kernel())
		patch_with(module_text(patch_text, keeper_text));
}

static void patch_linked(void)
{
	size_t size;

	if (start() && load_kernel())
		patch_with(linked(module_text(patch_text, ""), 0, &size));
}

static void patch_linked_keeper(void)
{
	size_t size;

	if (start() && load_kernel())
		patch_with(linked(module_text(patch_text, keeper_text), 0, &size));
}

static void patch_linked_keeper_registers(void)
{
	size_t size;

	if (start() && load_kernel())
		patch_with(linked(module_text(patch_text, keeper_text), 24, &size));
}

static void patch_assembled(void)
{
	if (start() && load_kernel())
		patch_with(assembled(module_text(patch_text, "")));
}

static void patch_in_callback(void)
{
	if (!start())
		return;
	it.patch_image = default_image();
	if (load_kernel())
		run_patched();
}

static void patch_in_callback_assembled(void)
{
	if (!start())
		return;
	it.patch_image = assembled(module_text(patch_text, ""));
	if (load_kernel())
		run_patched();
}

static void subscribe_after_init(void)
{
	if (open_driver() && init() && open_sanitizer() && subscribe() && make_context() &&
		load_kernel())
		patch_with(default_image());
}

static void subscribe_after_context(void)
{
	if (open_driver() && init() && make_context() && open_sanitizer() && subscribe() &&
		load_kernel())
		patch_with(default_image());
}

static void subscribe_after_load(void)
{
	if (open_driver() && init() && make_context() && load_kernel() && open_sanitizer() &&
		subscribe())
		patch_with(default_image());
}

static void without_subscriber(void)
{
	if (open_driver() && open_sanitizer() && init() && make_context() && load_kernel())
		patch_with(default_image());
}

static void stack_in_patch(void)
{
	if (!start() || !load_kernel())
		return;
	it.patch_image = default_image();
	if (said(it.AddPatches(it.patch_image, it.context), "AddPatches") &&
		said(it.PatchInstructions(BLOCK_ENTER, it.module, "xpu_stack"), "patch enter") &&
		said(it.PatchModule(it.module), "PatchModule"))
		run_patched();
	it.patch_image = NULL;
}

/* The module that is patched is loaded, but no function of it has been asked for. */
static void enumerated(void)
{
	size_t size;
	const void *cubin;
	unsigned int count = 0;
	const char *name = NULL;
	uint64_t pc = 0, bytes = 0;

	if (!start() || !(cubin = linked(module_text(kernel_text, ""), 0, &size)) ||
		!driver_said(it.cuModuleLoadData(&it.module, cubin), "load") ||
		!driver_said(it.cuModuleGetFunctionCount(&count, it.module), "count") ||
		!driver_said(it.cuModuleEnumerateFunctions(&it.function, 1, it.module), "list") ||
		!driver_said(it.cuFuncGetName(&name, it.function), "name"))
		return;
	it.patch_image = default_image();
	if (!it.patch_image || !patch(it.context, it.module))
		return;
	it.patch_image = NULL;
	said(it.GetFunctionPcAndSize(it.module, name, &pc, &bytes), "GetFunctionPcAndSize");
	printf("    %u functions, '%s' at %#llx, %llu bytes\n", count, name, (unsigned long long)pc,
		(unsigned long long)bytes);
	said(it.SetCallbackData(it.function, (void *)(uintptr_t)it.counters), "SetCallbackData");
	launch(it.stream);
	print_counters("launched with data");
}

/* Two modules in one context, whose patches are added once. */
static void two_modules(void)
{
	if (!start() || !load_kernel())
		return;
	patch_with(default_image());
	if (!load_kernel())
		return;
	said(it.PatchInstructions(GLOBAL_ACCESS, it.module, "xpu_access"), "patch access");
	said(it.PatchModule(it.module), "PatchModule");
	said(it.SetCallbackData(it.function, (void *)(uintptr_t)it.counters), "SetCallbackData");
	launch(it.stream);
	print_counters("the second module");
}

static void of_library(void)
{
	size_t size;
	void *library, *kernel;
	const void *cubin;

	if (!start() || !(cubin = linked(module_text(kernel_text, ""), 0, &size)))
		return;
	if (!driver_said(it.cuLibraryLoadData(&library, cubin, NULL, NULL, 0, NULL, NULL, 0),
		    "library") ||
		!driver_said(it.cuLibraryGetKernel(&kernel, library, "add"), "kernel") ||
		!driver_said(it.cuLibraryGetModule(&it.module, library), "its module") ||
		!driver_said(it.cuKernelGetFunction(&it.function, kernel), "its function"))
		return;
	patch_with(default_image());
}

/* Patches while the module has run already, data that changes, and no patches again. */
static void of_graph(void)
{
	void *graph = NULL, *exec = NULL;

	if (!start() || !load_kernel())
		return;
	launch(it.stream);
	print_counters("before the patches");
	it.patch_image = default_image();
	if (!patch(it.context, it.module))
		return;
	it.patch_image = NULL;
	if (!driver_said(it.cuStreamBeginCapture_v2(it.stream, CAPTURE_RELAXED), "capture") ||
		!launch(it.stream) ||
		!driver_said(it.cuStreamEndCapture(it.stream, &graph), "end of capture") ||
		!driver_said(it.cuGraphInstantiateWithFlags(&exec, graph, 0), "instantiate"))
		return;
	it.cuGraphLaunch(exec, it.stream);
	print_counters("graph, before its data was set");
	said(it.SetCallbackData(it.function, (void *)(uintptr_t)it.counters), "SetCallbackData");
	it.cuGraphLaunch(exec, it.stream);
	it.cuGraphLaunch(exec, it.stream);
	print_counters("graph, twice");
	said(it.SetCallbackData(it.function, NULL), "SetCallbackData 0");
	it.cuGraphLaunch(exec, it.stream);
	print_counters("graph, data taken away");
	launch(it.stream);
	print_counters("launch, data taken away");
	if (it.UnpatchModule)
		said(it.UnpatchModule(it.module), "UnpatchModule");
	launch(it.stream);
	print_counters("unpatched");
	it.cuGraphLaunch(exec, it.stream);
	print_counters("graph, unpatched");
}

static bool subscribe_cupti(void)
{
	void *cupti = open_file("/usr/local/cuda", "/extras/CUPTI/lib64/libcupti.so");
	int (*subscribe_to)(void **, void *, void *);
	void *subscriber;

	if (!cupti)
		cupti = dlopen("libcupti.so", RTLD_NOW);
	*(void **)&subscribe_to = cupti ? dlsym(cupti, "cuptiSubscribe") : NULL;
	if (!subscribe_to) {
		printf("    no CUPTI\n");
		return false;
	}
	printf("    cuptiSubscribe: %d\n", subscribe_to(&subscriber, callback, NULL));
	return true;
}

static void cupti_first(void)
{
	if (open_driver() && subscribe_cupti() && open_sanitizer() && subscribe() && init() &&
		make_context() && load_kernel())
		patch_with(default_image());
}

static void cupti_second(void)
{
	if (start() && subscribe_cupti() && load_kernel())
		patch_with(default_image());
}

static const struct question {
	const char *name;
	void (*ask)(void);
} questions[] = {
	{"plain", plain},
	{"subscribed-only", subscribed_only},
	{"patch-text", patch_text_itself},
	{"patch-text-keeper", patch_text_keeper},
	{"patch-linked", patch_linked},
	{"patch-linked-keeper", patch_linked_keeper},
	{"patch-linked-keeper-registers", patch_linked_keeper_registers},
	{"patch-assembled", patch_assembled},
	{"patch-in-callback", patch_in_callback},
	{"patch-in-callback-assembled", patch_in_callback_assembled},
	{"subscribe-after-init", subscribe_after_init},
	{"subscribe-after-context", subscribe_after_context},
	{"subscribe-after-load", subscribe_after_load},
	{"without-subscriber", without_subscriber},
	{"stack-in-patch", stack_in_patch},
	{"enumerated", enumerated},
	{"two-modules", two_modules},
	{"library", of_library},
	{"graph", of_graph},
	{"cupti-first", cupti_first},
	{"cupti-second", cupti_second},
};

/* In a process of its own, which is ended when its time is over. */
static void ask(const struct question *q)
{
	int status = 0;
	pid_t child;

	printf("- %s\n", q->name);
	fflush(stdout);
	child = fork();
	if (!child) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		q->ask();
		fflush(stdout);
		_exit(0);
	}
	for (int i = 0; child > 0 && waitpid(child, &status, WNOHANG) == 0; i++) {
		if (i == PATIENCE_S * 10) {
			printf("  = HANGS: no end in %d s\n", PATIENCE_S);
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
			break;
		}
		usleep(100000);
	}
	if (child < 0)
		printf("  = no process: %s\n", strerror(errno));
	else if (WIFSIGNALED(status))
		printf("  = ended by signal %d\n", WTERMSIG(status));
	else
		printf("    ended with %d\n", WEXITSTATUS(status));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(questions) / sizeof(*questions); i++) {
		bool chosen = argc < 2;

		for (int n = 1; n < argc; n++)
			chosen |= !strcmp(argv[n], questions[i].name);
		if (argc == 2 && !strcmp(argv[1], "-l"))
			puts(questions[i].name);
		else if (chosen)
			ask(&questions[i]);
	}
	return 0;
}
