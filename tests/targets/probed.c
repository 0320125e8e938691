// SPDX-License-Identifier: MIT
/*
 * A program whose launches are known, for probes in its kernels: vector_add of a PTX file, in
 * BLOCKS blocks of THREADS threads. It checks each result bit by bit, and says on stdout how often
 * the kernel was launched.
 *
 *	probed PTX MODE [HOW [LAUNCHES]]
 *
 * In the mode "checked" it launches LAUNCHES times. PROBED_KERNEL is another name of the kernel.
 *
 * HOW it gets at the driver's functions: "dlsym" (default), "procaddress"; the program probed_linked
 * is linked with the driver.
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>

enum { BLOCKS = 40, THREADS = 128, COUNT = 5000, STREAMS = 8, REPLAYS = 5, ROUNDS = 20 };

/* clang-format off */
#define FUNCTIONS(X) \
	X(cuInit) X(cuDeviceGetCount) X(cuCtxCreate_v2) X(cuCtxDestroy_v2) X(cuCtxSetCurrent) \
	X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxReset_v2) X(cuModuleLoad) \
	X(cuModuleLoadData) X(cuModuleLoadDataEx) X(cuModuleLoadFatBinary) X(cuModuleUnload) \
	X(cuModuleGetFunction) X(cuLibraryLoadData) X(cuLibraryUnload) X(cuLibraryGetKernel) \
	X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuMemsetD8_v2) \
	X(cuLaunchKernel) X(cuStreamCreate) X(cuStreamSynchronize) X(cuStreamBeginCapture_v2) \
	X(cuStreamEndCapture) X(cuGraphInstantiateWithFlags) X(cuGraphLaunch) X(cuCtxSynchronize)
/* clang-format on */

static struct {
#define FIELD(name) __typeof__(name) *name;
	FUNCTIONS(FIELD)
#undef FIELD
} d;

static char *text;
static const char *path, *kernel = "vector_add";
static float a[COUNT], b[COUNT];
static int launches;

static void check(CUresult result, const char *call)
{
	if (!result)
		return;
	fprintf(stderr, "probed: %s: %d\n", call, (int)result);
	exit(1);
}

#define OK(call) check(call, #call)

#ifdef LINKED
static void find_functions(const char *how)
{
#define TAKE(name) d.name = name;
	FUNCTIONS(TAKE)
#undef TAKE
}
#else
static void *by_procaddress(void *library, const char *name)
{
	__typeof__(cuGetProcAddress_v2) *get = dlsym(library, "cuGetProcAddress_v2");
	CUdriverProcAddressQueryResult status;
	char base[64];
	void *f = NULL;

	/* As the runtime asks: by the name without its version. Newer ones of cuCtxCreate take
	 * more. */
	snprintf(base, sizeof(base), "%s", name);
	if (strlen(base) > 3 && !strcmp(base + strlen(base) - 3, "_v2"))
		base[strlen(base) - 3] = 0;
	check(get(base, &f, strcmp(base, "cuCtxCreate") != 0 ? 12080 : 3020, 0, &status), name);
	if (!f) {
		fprintf(stderr, "probed: the driver has no %s\n", name);
		exit(1);
	}
	return f;
}

static void find_functions(const char *how)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	bool asks = !strcmp(how, "procaddress");

	if (!library) {
		fprintf(stderr, "probed: %s\n", dlerror());
		exit(1);
	}
#define FIND(name)                                                                                 \
	*(void **)&d.name = asks ? by_procaddress(library, #name) : dlsym(library, #name);
	FUNCTIONS(FIND)
#undef FIND
}
#endif

static void read_text(void)
{
	FILE *file = fopen(path, "re");
	size_t size = 0;

	text = calloc(1, 1 << 20);
	if (file)
		size = fread(text, 1, (1 << 20) - 1, file);
	if (!size) {
		fprintf(stderr, "probed: cannot read '%s'\n", path);
		exit(1);
	}
	fclose(file);
	for (int i = 0; i < COUNT; i++) {
		a[i] = (float)i;
		b[i] = (float)i / 8;
	}
}

/* What the kernel works on. */
struct vectors {
	CUdeviceptr a, b, sum;
};

static struct vectors vectors_make(void)
{
	struct vectors v;

	OK(d.cuMemAlloc_v2(&v.a, sizeof(a)));
	OK(d.cuMemAlloc_v2(&v.b, sizeof(b)));
	OK(d.cuMemAlloc_v2(&v.sum, sizeof(a)));
	OK(d.cuMemcpyHtoD_v2(v.a, a, sizeof(a)));
	OK(d.cuMemcpyHtoD_v2(v.b, b, sizeof(b)));
	OK(d.cuMemsetD8_v2(v.sum, 0, sizeof(a)));
	OK(d.cuStreamSynchronize(NULL));
	return v;
}

static void launch(CUfunction f, const struct vectors *v, CUstream stream)
{
	int n = COUNT;
	struct vectors copy = *v;
	void *params[] = {&copy.a, &copy.b, &copy.sum, &n};

	OK(d.cuLaunchKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
	__atomic_fetch_add(&launches, 1, __ATOMIC_RELAXED);
}

static void expect(const struct vectors *v)
{
	static _Thread_local float got[COUNT];

	OK(d.cuMemcpyDtoH_v2(got, v->sum, sizeof(got)));
	for (int i = 0; i < COUNT; i++)
		if (got[i] != a[i] + b[i]) {
			fprintf(stderr, "probed: wrong at %d\n", i);
			exit(3);
		}
	OK(d.cuMemsetD8_v2(v->sum, 0, sizeof(got)));
	/* Streams that do not block do not wait for it. */
	OK(d.cuStreamSynchronize(NULL));
}

static CUcontext context_new(void)
{
	CUcontext c = NULL;

	OK(d.cuCtxCreate_v2(&c, 0, 0));
	return c;
}

static CUfunction load(CUmodule *ret)
{
	CUfunction f;

	OK(d.cuModuleLoadData(ret, text));
	OK(d.cuModuleGetFunction(&f, *ret, kernel));
	return f;
}

static void run(CUfunction f, int times)
{
	struct vectors v = vectors_make();

	for (int i = 0; i < times; i++) {
		launch(f, &v, NULL);
		OK(d.cuCtxSynchronize());
		expect(&v);
	}
	OK(d.cuMemFree_v2(v.a));
	OK(d.cuMemFree_v2(v.b));
	OK(d.cuMemFree_v2(v.sum));
}

static void launch_some(void)
{
	CUmodule m;

	run(load(&m), 3);
}

static void mode_launch(void)
{
	context_new();
	launch_some();
}

struct log {
	char text[8], behind[256];
};

/* Two loads: a driver may refuse one. Then its errors are not for the program, which had none. */
static void load_with_options(unsigned int count, const CUjit_option *options, struct log *log)
{
	CUfunction f;
	CUmodule m;

	context_new();
	for (int n = 0; n < 2; n++) {
		CUjit_option given[3];
		void *values[3];

		for (unsigned int i = 0; i < count; i++) {
			given[i] = options[i];
			values[i] = options[i] == CU_JIT_ERROR_LOG_BUFFER
					    ? log->text
					    : (void *)sizeof(log->text);
		}
		OK(d.cuModuleLoadDataEx(&m, text, count, given, values));
		if (*log->text || *log->behind)
			printf("log %s\n", log->text);
	}
	OK(d.cuModuleGetFunction(&f, m, kernel));
	run(f, 3);
}

static void mode_options(void)
{
	static const CUjit_option options[] = {
		CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	struct log log = {""};

	load_with_options(2, options, &log);
}

static void mode_options_twice(void)
{
	static const CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER,
		CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	struct log log = {""};

	load_with_options(3, options, &log);
}

static void mode_file(void)
{
	CUfunction f;
	CUmodule m;

	context_new();
	OK(d.cuModuleLoad(&m, path));
	OK(d.cuModuleGetFunction(&f, m, kernel));
	run(f, 3);
}

/* Before there is a context, as NVIDIA's runtime does. */
static void mode_library(void)
{
	CUlibrary l;
	CUkernel k;

	OK(d.cuLibraryLoadData(&l, text, NULL, NULL, 0, NULL, NULL, 0));
	context_new();
	OK(d.cuLibraryGetKernel(&k, l, kernel));
	run((CUfunction)k, 3);
	OK(d.cuLibraryUnload(l));
}

static void replay(CUgraphExec exec, const struct vectors *v, CUstream s)
{
	for (int i = 0; i < REPLAYS; i++, launches++) {
		OK(d.cuGraphLaunch(exec, s));
		OK(d.cuStreamSynchronize(s));
		expect(v);
	}
}

static void mode_graph(void)
{
	CUgraphExec exec;
	struct vectors v;
	CUgraph graph;
	CUfunction f;
	CUstream s;
	CUmodule m;

	context_new();
	v = vectors_make();
	f = load(&m);
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(d.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	/* A module that is loaded meanwhile does not end the capture. */
	f = load(&m);
	launch(f, &v, s);
	launches = 0;
	OK(d.cuStreamEndCapture(s, &graph));
	OK(d.cuGraphInstantiateWithFlags(&exec, graph, 0));
	replay(exec, &v, s);
}

static CUcontext shared_context;
static CUfunction shared_function;

static void *one_stream(void *unused)
{
	struct vectors v;
	CUstream s;

	OK(d.cuCtxSetCurrent(shared_context));
	v = vectors_make();
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < ROUNDS; i++) {
		launch(shared_function, &v, s);
		OK(d.cuStreamSynchronize(s));
		expect(&v);
	}
	return NULL;
}

static void mode_streams(void)
{
	pthread_t threads[STREAMS];
	CUmodule m;

	shared_context = context_new();
	shared_function = load(&m);
	for (int i = 0; i < STREAMS; i++)
		pthread_create(&threads[i], NULL, one_stream, NULL);
	for (int i = 0; i < STREAMS; i++)
		pthread_join(threads[i], NULL);
}

/* A context of its own, from its begin to its end. */
static void *one_context(void *unused)
{
	CUcontext c = context_new();

	for (int i = 0; i < 3; i++) {
		CUmodule m;

		run(load(&m), 2);
		OK(d.cuModuleUnload(m));
	}
	OK(d.cuCtxDestroy_v2(c));
	return NULL;
}

static void mode_threads(void)
{
	pthread_t threads[STREAMS];

	for (int i = 0; i < STREAMS; i++)
		pthread_create(&threads[i], NULL, one_context, NULL);
	for (int i = 0; i < STREAMS; i++)
		pthread_join(threads[i], NULL);
}

/* A graph of one launch; `ms`: the capture takes so long. */
static CUgraphExec capture(CUfunction f, const struct vectors *v, CUstream s, unsigned int ms)
{
	CUgraphExec exec;
	CUgraph graph;

	OK(d.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	usleep(ms * 1000);
	launch(f, v, s);
	launches--;
	usleep(ms * 1000);
	OK(d.cuStreamEndCapture(s, &graph));
	OK(d.cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

/* One graph is captured and replayed at once; then another, while two seconds pass; then both are
 * replayed. */
static void mode_captured(void)
{
	CUgraphExec first, second;
	struct vectors v;
	CUfunction f;
	CUstream s;
	CUmodule m;

	context_new();
	v = vectors_make();
	f = load(&m);
	OK(d.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	first = capture(f, &v, s, 0);
	replay(first, &v, s);
	second = capture(f, &v, s, 1000);
	replay(first, &v, s);
	replay(second, &v, s);
}

/* One is destroyed and one is left, on each device. */
static void mode_contexts(void)
{
	int count = 0;

	OK(d.cuDeviceGetCount(&count));
	for (int i = 0; i < count; i++) {
		CUcontext c;

		OK(d.cuCtxCreate_v2(&c, 0, i));
		launch_some();
		OK(d.cuCtxDestroy_v2(c));
		OK(d.cuCtxCreate_v2(&c, 0, i));
		launch_some();
	}
}

/* The primary context, which is reset at the end, as many programs do. */
static void mode_reset(void)
{
	CUcontext c;

	OK(d.cuDevicePrimaryCtxRetain(&c, 0));
	OK(d.cuCtxSetCurrent(c));
	launch_some();
	OK(d.cuDevicePrimaryCtxReset_v2(0));
}

static void mode_unload(void)
{
	context_new();
	for (int i = 0; i < ROUNDS; i++) {
		CUmodule m;

		run(load(&m), 1);
		OK(d.cuModuleUnload(m));
	}
}

static void *launch_there(void *unused)
{
	OK(d.cuCtxSetCurrent(shared_context));
	launch_some();
	return NULL;
}

/* A thread whose stack is as small as those of some thread pools. */
static void mode_thin(void)
{
	pthread_attr_t thin;
	pthread_t thread;

	shared_context = context_new();
	pthread_attr_init(&thin);
	if (pthread_attr_setstacksize(&thin, 256 << 10) ||
		pthread_create(&thread, &thin, launch_there, NULL))
		exit(4);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&thin);
}

static void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		exit(4);
}

/* The child leaves by exit, which runs what was registered. */
static void mode_fork_after(void)
{
	pid_t child;

	context_new();
	launch_some();
	child = fork();
	if (!child)
		exit(0);
	wait_for(child);
	launch_some();
}

static void mode_fork_before(void)
{
	pid_t child = fork();

	OK(d.cuInit(0));
	context_new();
	launch_some();
	if (!child)
		exit(0);
	wait_for(child);
	launches *= 2;
}

static void mode_no_exit(void)
{
	context_new();
	launch_some();
	sleep(3);
	printf("%d\n", launches);
	fflush(stdout);
	_exit(0);
}

/* Until somebody closes stdin. */
static void mode_on_and_on(void)
{
	CUmodule m, other;
	CUfunction f;
	struct pollfd in = {.fd = 0, .events = POLLIN};

	context_new();
	f = load(&m);
	do {
		run(f, 1);
		(void)load(&other);
		OK(d.cuModuleUnload(other));
		if (launches == 1) {
			printf("running\n");
			fflush(stdout);
		}
	} while (!poll(&in, 1, 5));
}

static void mode_nothing(void)
{
}

static void mode_fatbin(void)
{
	CUfunction f;
	CUmodule m;
	CUdeviceptr out;
	int got[32];
	void *params[] = {&out};

	context_new();
	OK(d.cuModuleLoadFatBinary(&m, text));
	OK(d.cuModuleGetFunction(&f, m, "tiny"));
	OK(d.cuMemAlloc_v2(&out, sizeof(got)));
	OK(d.cuMemsetD8_v2(out, 0, sizeof(got)));
	OK(d.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(d.cuCtxSynchronize());
	OK(d.cuMemcpyDtoH_v2(got, out, sizeof(got)));
	for (int i = 0; i < 32; i++)
		if (got[i] != 3)
			exit(3);
	launches = 1;
}

static long checked_launches = 1000;

static void mode_checked(void)
{
	CUmodule m;

	context_new();
	run(load(&m), (int)checked_launches);
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	{"checked", mode_checked},
	{"launch", mode_launch},
	{"options", mode_options},
	{"options-twice", mode_options_twice},
	{"file", mode_file},
	{"library", mode_library},
	{"graph", mode_graph},
	{"streams", mode_streams},
	{"contexts", mode_contexts},
	{"threads", mode_threads},
	{"captured", mode_captured},
	{"reset", mode_reset},
	{"unload", mode_unload},
	{"thin", mode_thin},
	{"fork-after", mode_fork_after},
	{"fork-before", mode_fork_before},
	{"no-exit", mode_no_exit},
	{"on-and-on", mode_on_and_on},
	{"nothing", mode_nothing},
	{"fatbin", mode_fatbin},
};

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";

	if (argc < 3)
		return 2;
	path = argv[1];
	if (getenv("PROBED_KERNEL"))
		kernel = getenv("PROBED_KERNEL");
	if (argc > 4)
		checked_launches = strtol(argv[4], NULL, 10);
	read_text();
	find_functions(argc > 3 ? argv[3] : "dlsym");
	if (strcmp(mode, "fork-before") != 0)
		OK(d.cuInit(0));
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++)
		if (!strcmp(modes[i].name, mode)) {
			modes[i].run();
			printf("%d\n", launches);
			return 0;
		}
	return 2;
}
