// SPDX-License-Identifier: MIT
/*
 * A simulated rocprofiler-sdk: what tools ask it for, and what it calls back for. The library has
 * the name of the real one, for LD_LIBRARY_PATH=build/sim/amd.
 *
 * As in the real one tools are those that $ROCP_TOOL_LIBRARIES names, without a last one that has
 * no colon behind it; they may ask for something only while they are set up, in the program's first
 * call; one context of a process may sample instructions; a call that is traced has an id of its
 * own, also inside of another; ids of the tool's own are asked for in the thread that hands work to
 * a device; its end comes by atexit, before tools are set up.
 */
#include "sdk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "vendor/amd/calls.h"

#define EXPORT __attribute__((visibility("default")))

#define ARGUMENT_BYTES 112u /* the union of all calls' */
#define DEPTH_MAX      8
#define TOOLS_MAX      8

#define FIRST_CONTEXT 77u

enum { FAILED = 1, LOCKED = 16, INVALID = 19 };

struct sim_faults faults = {.version = 10000};

#define NAME(number, kind, name, ...) #name,
static const char *const operations[] = {
	"hipApiName", "hipGetDevice",
	// clang-format off
	AMD_CALLS(NAME) AMD_EVENTS(NAME) AMD_STREAMS(NAME) AMD_GRAPHS(NAME)
	// clang-format on
};

static const char *const hsa_operations[] = {
	"hsa_init", "hsa_shut_down",
	// clang-format off
	AMD_HSA(NAME)
	// clang-format on
};
static const char *const hsa_extensions[] = {
	"hsa_amd_coherency_get_type",
	// clang-format off
	AMD_HSA_EXTENSIONS(NAME)
	// clang-format on
};
#undef NAME

#define COUNT(array)   (sizeof(array) / sizeof((array)[0]))
#define OPERATIONS_MAX COUNT(operations)
#define CONTEXTS_MAX   4u

/* Calls of one kind, and who follows them. */
struct domain {
	const char *kind;
	const char *const *names;
	size_t count;
	size_t result_bytes;
	bool followed[OPERATIONS_MAX];
	rocprofiler_on_call *on_call;
	void *data;
	uint64_t context;
};

static struct domain domains[] = {
	{"HIP_RUNTIME_API", operations, COUNT(operations), ROCPROFILER_RESULT_BYTES},
	{"HSA_CORE_API", hsa_operations, COUNT(hsa_operations), sizeof(uint64_t)},
	{"HSA_AMD_EXT_API", hsa_extensions, COUNT(hsa_extensions), sizeof(uint64_t)},
};

static const char *const kinds[] = {"HSA_CORE_API", "HSA_AMD_EXT_API", "HIP_RUNTIME_API",
	"CODE_OBJECT", "MEMORY_COPY", "KERNEL_DISPATCH", "SCRATCH_MEMORY"};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	bool locked;		    /* tools are set up */
	bool running[CONTEXTS_MAX]; /* the contexts */
	uint64_t contexts;
	rocprofiler_on_call *on_code, *on_dispatch;
	void *code_data, *dispatch_data;
	uint64_t dispatch_context;
	uint64_t sampling; /* the context; 0: nothing is sampled */
	rocprofiler_on_request *on_request;
	void *request_data;
	const struct rocprofiler_tool *tools[TOOLS_MAX];
	size_t tool_count;
} sdk;

/* --- faults, clock, numbers */

static void set_fault(const char *name, uint64_t value)
{
	static const struct {
		const char *name;
		uint64_t *value;
	} all[] = {{"version", &faults.version}, {"clock", &faults.clock}, {"drop", &faults.drop},
		{"small", &faults.small}, {"zero_time", &faults.zero_time},
		{"reversed_time", &faults.reversed_time}, {"far_time", &faults.far_time},
		{"no_agent", &faults.no_agent}, {"no_kernel", &faults.no_kernel},
		{"short_call", &faults.short_call}, {"refuse", &faults.refuse},
		{"invalid_sample", &faults.invalid_sample}, {"lost_code", &faults.lost_code}};

	for (size_t n = 0; n < sizeof(all) / sizeof(all[0]); n++)
		if (!strcmp(all[n].name, name))
			*all[n].value = value;
}

static void read_faults(void)
{
	const char *set = getenv("SIM_ROCPROFILER_FAULTS");
	char text[512], *rest, *part, *value;

	snprintf(text, sizeof(text), "%s", set ? set : "");
	for (part = strtok_r(text, ",", &rest); part; part = strtok_r(NULL, ",", &rest)) {
		value = strchr(part, '=');
		if (value)
			*value++ = '\0';
		set_fault(part, value ? strtoull(value, NULL, 10) : 1);
	}
}

bool fault_is_due(uint64_t every, uint64_t *so_far)
{
	return every && __atomic_add_fetch(so_far, 1, __ATOMIC_RELAXED) % every == 0;
}

/* The real one's is CLOCK_BOOTTIME. A fault: that, some days behind. */
uint64_t sim_amd_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec +
	       (faults.clock ? 400000000000000ull : 0);
}

static int32_t shift(void)
{
	return faults.version >= 10100 ? 5 : 1;
}

uint32_t kind_number(const char *name)
{
	for (size_t n = 0; n < KINDS; n++)
		if (!strcmp(kinds[n], name))
			return (uint32_t)n + (uint32_t)shift();
	return 0;
}

static const char *kind_name(int32_t kind)
{
	int32_t n = kind - shift();

	return n >= 0 && (size_t)n < KINDS ? kinds[n] : NULL;
}

/* --- what tools ask for */

#define ROCPROFILER(name, ...)                                                                     \
	EXPORT int rocprofiler_##name(__VA_ARGS__);                                                \
	int rocprofiler_##name(__VA_ARGS__)

ROCPROFILER(get_timestamp, uint64_t *ret_ns)
{
	*ret_ns = sim_amd_now();
	return 0;
}

ROCPROFILER(create_context, uint64_t *ret)
{
	if (sdk.locked || sdk.contexts == CONTEXTS_MAX)
		return LOCKED;
	*ret = FIRST_CONTEXT + sdk.contexts++;
	return 0;
}

static bool *state_of(uint64_t context)
{
	return &sdk.running[(context - FIRST_CONTEXT) % CONTEXTS_MAX];
}

static bool is_running(uint64_t context)
{
	return __atomic_load_n(state_of(context), __ATOMIC_SEQ_CST);
}

static struct domain *domain_of(int32_t kind)
{
	for (size_t n = 0; n < COUNT(domains); n++)
		if ((uint32_t)kind == kind_number(domains[n].kind))
			return &domains[n];
	return NULL;
}

ROCPROFILER(start_context, uint64_t context)
{
	if (context - FIRST_CONTEXT >= sdk.contexts)
		return INVALID;
	__atomic_store_n(state_of(context), true, __ATOMIC_SEQ_CST);
	return 0;
}

ROCPROFILER(stop_context, uint64_t context)
{
	__atomic_store_n(state_of(context), false, __ATOMIC_SEQ_CST);
	return 0;
}

ROCPROFILER(configure_callback_tracing_service, uint64_t context, int32_t kind,
	const int32_t *wanted, size_t count, rocprofiler_on_call *callback, void *data)
{
	struct domain *d = domain_of(kind);

	if (sdk.locked)
		return LOCKED;
	if ((uint32_t)kind == kind_number("CODE_OBJECT")) {
		sdk.on_code = callback;
		sdk.code_data = data;
		return 0;
	}
	if ((uint32_t)kind == kind_number("KERNEL_DISPATCH") && context != FIRST_CONTEXT) {
		sdk.on_dispatch = callback;
		sdk.dispatch_data = data;
		sdk.dispatch_context = context;
		return 0;
	}
	if (!d)
		return INVALID;
	d->on_call = callback;
	d->data = data;
	d->context = context;
	for (size_t n = 0; n < count; n++)
		d->followed[wanted[n] - shift()] = true;
	return 0;
}

ROCPROFILER(configure_external_correlation_id_request_service, uint64_t context,
	const int32_t *wanted, size_t count, rocprofiler_on_request *callback, void *data)
{
	sdk.on_request = callback;
	sdk.request_data = data;
	return sdk.locked ? LOCKED : 0;
}

ROCPROFILER(query_callback_tracing_kind_name, int32_t kind, const char **ret, uint64_t *ret_size)
{
	*ret = kind_name(kind);
	return *ret ? 0 : INVALID;
}

ROCPROFILER(query_buffer_tracing_kind_name, int32_t kind, const char **ret, uint64_t *ret_size)
{
	*ret = kind_name(kind);
	return *ret ? 0 : INVALID;
}

ROCPROFILER(query_callback_tracing_kind_operation_name, int32_t kind, int32_t operation,
	const char **ret, uint64_t *ret_size)
{
	const struct domain *d = domain_of(kind);
	size_t n = (size_t)(operation - shift());

	*ret = d && n < d->count ? d->names[n] : NULL;
	return *ret ? 0 : INVALID;
}

ROCPROFILER(iterate_callback_tracing_kind_operations, int32_t kind,
	rocprofiler_on_operation *callback, void *data)
{
	const struct domain *d = domain_of(kind);

	for (int32_t n = 0; d && n < (int32_t)d->count; n++)
		callback(kind, n + shift(), data);
	return 0;
}

ROCPROFILER(query_available_agents, uint32_t version, rocprofiler_on_agents *callback,
	size_t agent_size, void *data)
{
	static const struct rocprofiler_agent agents[] = {
		{.size = sizeof(agents[0]), .id = SIM_AMD_CPU_AGENT, .type = 1, .name = "CPU"},
		{.size = sizeof(agents[0]),
			.id = SIM_AMD_FIRST_AGENT,
			.type = ROCPROFILER_AGENT_IS_GPU,
			.cu_count = 304,
			.mhz = 2100,
			.memory_bytes = 192ull << 30,
			.name = "gfx942",
			.product_name = "Simulated GPU MI300X",
			.uuid = {1, 2, 3}},
		{.size = offsetof(struct rocprofiler_agent, visibility),
			.id = SIM_AMD_FIRST_AGENT + 1,
			.type = ROCPROFILER_AGENT_IS_GPU,
			.cu_count = 104,
			.mhz = 1700,
			.name = "gfx90a",
			.product_name = "Simulated GPU MI210"},
	};
	const void *all[] = {&agents[0], &agents[1], &agents[2]};

	return version == ROCPROFILER_AGENTS_VERSION ? callback(version, all, 3, data) : INVALID;
}

/* The hardware of one can sample, the host interrupts both. */
ROCPROFILER(query_pc_sampling_agent_configurations, uint64_t agent,
	rocprofiler_on_samplings *callback, void *data)
{
	static const struct rocprofiler_sampling both[] = {
		{.size = sizeof(both[0]),
			.method = ROCPROFILER_HOST_TRAP,
			.unit = 3,
			.least = 1,
			.most = 1 << 20},
		{.size = sizeof(both[0]),
			.method = ROCPROFILER_STOCHASTIC,
			.unit = ROCPROFILER_UNIT_CYCLES,
			.least = 1 << 8,
			.most = 1 << 30,
			.flags = 1},
	};

	return callback(both, agent == SIM_AMD_FIRST_AGENT ? 2 : 1, data);
}

ROCPROFILER(configure_pc_sampling_service, uint64_t context, uint64_t agent, uint32_t method,
	uint32_t unit, uint64_t interval, uint64_t buffer, int flags)
{
	if (sdk.locked)
		return LOCKED;
	if (faults.refuse || (method == ROCPROFILER_STOCHASTIC && interval & (interval - 1)))
		return INVALID;
	if (sdk.sampling && sdk.sampling != context)
		return FAILED;
	sdk.sampling = context;
	delivery_samples(agent, method, buffer);
	return 0;
}

/* --- calls */

/* As tools get it: the union of arguments, larger in later versions, then what all may return. */
struct call_data {
	uint64_t size;
	uint8_t bytes[ARGUMENT_BYTES + 16 + ROCPROFILER_RESULT_BYTES];
};

struct call {
	const struct domain *domain; /* NULL: it is not traced */
	uint64_t user_data;
	struct rocprofiler_call_record record;
	struct call_data data;
};

/* Of each thread, for good: too much for the room that there is for variables of threads in
 * libraries that are loaded late. */
static __thread struct call *open_calls;
static __thread int depth;

static struct call *call_at(int n)
{
	if (!open_calls)
		open_calls = calloc(DEPTH_MAX, sizeof(*open_calls));
	if (!open_calls)
		abort();
	return &open_calls[n < DEPTH_MAX - 1 ? n : DEPTH_MAX - 1];
}

static uint32_t argument_bytes(void)
{
	return ARGUMENT_BYTES + (faults.version >= 10100 ? 16 : 0);
}

/* NULL: nobody follows it. */
static const struct domain *find_domain(const char *name, int32_t *ret_operation)
{
	for (const struct domain *d = domains; d < domains + COUNT(domains); d++)
		for (size_t n = 0; n < d->count; n++)
			if (!strcmp(d->names[n], name)) {
				*ret_operation = (int32_t)n + shift();
				return d->followed[n] && is_running(d->context) ? d : NULL;
			}
	return NULL;
}

static void call_begins(const char *name, const void *arguments, size_t size)
{
	static uint64_t ids, calls;
	struct call *c = call_at(depth);
	int32_t operation = 0;

	depth++;
	*c = (struct call){.domain = find_domain(name, &operation)};
	if (!c->domain)
		return;
	c->data.size = sizeof(c->data.size) + argument_bytes() + c->domain->result_bytes;
	if (fault_is_due(faults.short_call, &calls))
		c->data.size = 8;
	memcpy(c->data.bytes, arguments, size);
	c->record = (struct rocprofiler_call_record){.context = FIRST_CONTEXT,
		.thread = (uint64_t)gettid(),
		.internal = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED),
		.kind = (int32_t)kind_number(c->domain->kind),
		.operation = operation,
		.phase = ROCPROFILER_PHASE_ENTER,
		.payload = &c->data};
	c->domain->on_call(c->record, &c->user_data, c->domain->data);
}

static void call_ends(int32_t result)
{
	struct call *c = call_at(--depth);

	if (!c->domain)
		return;
	memcpy(c->data.bytes + argument_bytes(), &result, sizeof(result));
	c->record.phase = ROCPROFILER_PHASE_EXIT;
	c->domain->on_call(c->record, &c->user_data, c->domain->data);
}

#define KERNELS_MAX 131073

static uint64_t offsets[KERNELS_MAX]; /* of functions, by their kernels */

uint64_t code_offset(uint64_t kernel)
{
	return kernel < KERNELS_MAX ? offsets[kernel] : 0;
}

/* Bytes that mean something elsewhere are numbers. */
static void put_path(char *uri, size_t room, const char *path)
{
	snprintf(uri, room, "file://");
	for (; *path; path++) {
		bool is_plain = (*path >= '0' && *path <= '9') || (*path >= 'a' && *path <= 'z') ||
				(*path >= 'A' && *path <= 'Z') || strchr("/._-", *path);
		size_t used = strlen(uri);

		snprintf(uri + used, room - used, is_plain ? "%c" : "%%%02X", *path & 0xff);
	}
}

static void describe_code(const char *name, const struct sim_amd_code *code, char *uri, size_t room,
	struct rocprofiler_code_object *o)
{
	size_t size = code ? code->size : 0;
	const void *image = code ? code->image : make_code(name, &size);

	if (code && code->path) {
		/* the memory is the runtime's own, of which nobody is told */
		o->storage = ROCPROFILER_STORED_IN_FILE;
		o->memory = (uint64_t)open(code->path, O_RDONLY | O_CLOEXEC);
		put_path(uri, room, code->path);
		snprintf(uri + strlen(uri), room - strlen(uri), "#offset=0&size=%zu", size);
	} else {
		o->storage = ROCPROFILER_STORED_IN_MEMORY;
		o->memory = (uintptr_t)image;
		o->memory_size = size;
		snprintf(uri, room, "memory://%d#offset=0x%llx&size=%zu", getpid(),
			(unsigned long long)(uintptr_t)image, size);
	}
}

/* On each device. Images of programs have their lowest address at 0. */
static void code_is_loaded(uint64_t kernel, const char *name, const struct sim_amd_code *code,
	struct rocprofiler_call_record record)
{
	uint64_t user_data = 0, lowest = code ? 0 : SIM_CODE_BASE;
	struct rocprofiler_code_object object = {.size = sizeof(object), .load_size = 0x1000};
	char uri[4200];

	if (kernel >= KERNELS_MAX)
		return;
	offsets[kernel] = code ? code_function(code->image, name) : SIM_CODE_FUNCTION - lowest;
	describe_code(name, code, uri, sizeof(uri), &object);
	object.uri = uri;
	for (uint64_t device = 0; device < 2; device++) {
		object.id = SIM_CODE_ID(kernel, device);
		object.agent = SIM_AMD_FIRST_AGENT + device;
		object.load_base = 0x7f0000000000 + (SIM_CODE_ID(kernel, device) << 20);
		object.load_delta = (int64_t)(object.load_base - lowest);
		record.operation = ROCPROFILER_CODE_LOADED;
		record.payload = &object;
		sdk.on_code(record, &user_data, sdk.code_data);
	}
	if (object.storage == ROCPROFILER_STORED_IN_FILE)
		close((int)object.memory);
}

static void kernel_is_loaded(uint64_t kernel, const char *name, const struct sim_amd_code *code)
{
	char text[512];
	struct rocprofiler_kernel_symbol symbol = {.size = sizeof(symbol) + 24,
		.kernel = kernel,
		.code_object = 1,
		.name = text,
		.group_bytes = 512,
		.vector_registers = 64};
	struct rocprofiler_call_record record = {.context = FIRST_CONTEXT,
		.kind = (int32_t)kind_number("CODE_OBJECT"),
		.operation = ROCPROFILER_KERNEL_SYMBOL,
		.phase = ROCPROFILER_PHASE_ENTER,
		.payload = &symbol};
	uint64_t user_data = 0;

	snprintf(text, sizeof(text), "%s.kd", name);
	if (!sdk.on_code)
		return;
	code_is_loaded(kernel, name, code, record);
	sdk.on_code(record, &user_data, sdk.code_data);
}

static void function_is_registered(uint64_t kernel, const char *name, const void *function)
{
	struct rocprofiler_host_function f = {.size = sizeof(f) + 56,
		.id = kernel,
		.kernel = kernel,
		.function = function,
		.name = name};
	struct rocprofiler_call_record record = {.context = FIRST_CONTEXT,
		.kind = (int32_t)kind_number("CODE_OBJECT"),
		.operation = ROCPROFILER_HOST_FUNCTION,
		.phase = ROCPROFILER_PHASE_ENTER,
		.payload = &f};
	uint64_t user_data = 0;

	if (sdk.on_code)
		sdk.on_code(record, &user_data, sdk.code_data);
}

static void call_for_dispatch(const struct sim_amd_work *work)
{
	struct rocprofiler_dispatch_call call = {.size = sizeof(call) + 64,
		.info_size = 72,
		.agent = SIM_AMD_FIRST_AGENT + (uint64_t)work->device,
		.queue = work->queue,
		.kernel = work->kernel};
	struct rocprofiler_call_record record = {.context = sdk.dispatch_context,
		.thread = (uint64_t)gettid(),
		.kind = (int32_t)kind_number("KERNEL_DISPATCH"),
		.operation = ROCPROFILER_ENQUEUE,
		.phase = ROCPROFILER_PHASE_ENTER,
		.payload = &call};
	uint64_t user_data = 0;

	sdk.on_dispatch(record, &user_data, sdk.dispatch_data);
	record.phase = ROCPROFILER_PHASE_EXIT;
	sdk.on_dispatch(record, &user_data, sdk.dispatch_data);
}

/* The id is asked for before it is said which kernel it is. */
static void work_is_handed(const struct sim_amd_work *work)
{
	uint64_t external = 0;

	if (!is_running(FIRST_CONTEXT) ||
		!delivery_wants(kind_number(work->is_copy ? "MEMORY_COPY" : "KERNEL_DISPATCH")))
		return;
	if (sdk.on_request)
		sdk.on_request((uint64_t)gettid(), FIRST_CONTEXT,
			work->is_copy ? ROCPROFILER_REQUEST_COPY : ROCPROFILER_REQUEST_DISPATCH, 1,
			1, &external, sdk.request_data);
	if (!work->is_copy && sdk.on_dispatch && is_running(sdk.dispatch_context))
		call_for_dispatch(work);
	deliver(work, external);
}

/* --- tools */

static void set_up(const char *path)
{
	struct rocprofiler_client client = {.size = sizeof(client), .handle = 1};
	struct rocprofiler_tool *(*configure)(
		uint32_t, const char *, uint32_t, struct rocprofiler_client *);
	void *library = dlopen(path, RTLD_LOCAL | RTLD_LAZY);
	struct rocprofiler_tool *tool;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		abort();
	}
	*(void **)&configure = dlsym(library, "rocprofiler_configure");
	tool = configure ? configure((uint32_t)faults.version, "simulated",
				   (uint32_t)sdk.tool_count, &client)
			 : NULL;
	if (tool && sdk.tool_count < TOOLS_MAX)
		sdk.tools[sdk.tool_count++] = tool;
}

static void set_up_all(const char *list)
{
	char path[4096];

	if (!strchr(list, ':') && *list)
		set_up(list);
	for (size_t size; strchr(list, ':'); list += size + 1) {
		size = strcspn(list, ":");
		snprintf(path, sizeof(path), "%.*s", (int)size, list);
		if (size)
			set_up(path);
	}
}

static void end(void)
{
	delivery_end();
	for (size_t n = 0; n < sdk.tool_count; n++)
		if (sdk.tools[n]->finalize)
			sdk.tools[n]->finalize(sdk.tools[n]->data);
}

static void set_up_tools(void)
{
	const char *list = getenv("ROCP_TOOL_LIBRARIES");

	read_faults();
	atexit(end);
	set_up_all(list ? list : "");
	for (size_t n = 0; n < sdk.tool_count; n++)
		if (sdk.tools[n]->initialize(NULL, sdk.tools[n]->data))
			memset(sdk.running, 0, sizeof(sdk.running));
	sdk.locked = true;
}

void sim_amd_begin(struct sim_amd_tracer *ret)
{
	set_up_tools();
	*ret = (struct sim_amd_tracer){.now = sim_amd_now,
		.enter = call_begins,
		.leave = call_ends,
		.loaded = kernel_is_loaded,
		.registered = function_is_registered,
		.handed = work_is_handed};
}
