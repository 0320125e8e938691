// SPDX-License-Identifier: MIT
/*
 * A simulated rocprofiler-sdk: what tools ask it for, and what it calls back for. The library has
 * the name of the real one, for LD_LIBRARY_PATH=build/sim/amd.
 *
 * As in the real one tools are those that $ROCP_TOOL_LIBRARIES names, without a last one that has
 * no colon behind it; they may ask for something only while they are set up, in the program's first
 * call; a call that is traced has an id of its own, also inside of another; ids of the tool's own
 * are asked for in the thread that hands work to a device; its end comes by atexit, before tools
  * are set up.
 */
#include "sdk.h"

#include <dlfcn.h>
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

enum { LOCKED = 16, INVALID = 19 };

struct sim_faults faults = {.version = 10000};

#define NAME(number, kind, name, ...) #name,
static const char *const operations[] = {
	"hipApiName", "hipGetDevice",
	// clang-format off
	AMD_CALLS(NAME) AMD_EVENTS(NAME) AMD_STREAMS(NAME)
	// clang-format on
};
#undef NAME

#define OPERATIONS (sizeof(operations) / sizeof(operations[0]))

static const char *const kinds[] = {"HSA_CORE_API", "HIP_RUNTIME_API", "CODE_OBJECT", "MEMORY_COPY",
	"KERNEL_DISPATCH", "SCRATCH_MEMORY"};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static struct {
	bool locked;  /* tools are set up */
	bool running; /* the context */
	rocprofiler_on_call *on_call, *on_code;
	void *call_data, *code_data;
	bool followed[OPERATIONS];
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
	if (sdk.locked)
		return LOCKED;
	*ret = 77;
	return 0;
}

ROCPROFILER(start_context, uint64_t context)
{
	__atomic_store_n(&sdk.running, true, __ATOMIC_SEQ_CST);
	return context == 77 ? 0 : INVALID;
}

ROCPROFILER(stop_context, uint64_t context)
{
	__atomic_store_n(&sdk.running, false, __ATOMIC_SEQ_CST);
	return 0;
}

ROCPROFILER(configure_callback_tracing_service, uint64_t context, int32_t kind,
	const int32_t *wanted, size_t count, rocprofiler_on_call *callback, void *data)
{
	if (sdk.locked)
		return LOCKED;
	if ((uint32_t)kind == kind_number("CODE_OBJECT")) {
		sdk.on_code = callback;
		sdk.code_data = data;
		return 0;
	}
	if ((uint32_t)kind != kind_number("HIP_RUNTIME_API"))
		return INVALID;
	sdk.on_call = callback;
	sdk.call_data = data;
	for (size_t n = 0; n < count; n++)
		sdk.followed[wanted[n] - shift()] = true;
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
	size_t n = (size_t)(operation - shift());

	*ret = n < OPERATIONS ? operations[n] : NULL;
	return *ret ? 0 : INVALID;
}

ROCPROFILER(iterate_callback_tracing_kind_operations, int32_t kind,
	rocprofiler_on_operation *callback, void *data)
{
	for (int32_t n = 0; n < (int32_t)OPERATIONS; n++)
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
	int32_t operation; /* -1: it is not traced */
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

static int32_t operation_of(const char *name)
{
	for (size_t n = 0; n < OPERATIONS; n++)
		if (!strcmp(operations[n], name))
			return sdk.followed[n] ? (int32_t)n + shift() : -1;
	return -1;
}

static void call_begins(const char *name, const void *arguments, size_t size)
{
	static uint64_t ids, calls;
	struct call *c = call_at(depth);
	bool running = __atomic_load_n(&sdk.running, __ATOMIC_SEQ_CST);

	depth++;
	*c = (struct call){.operation = running ? operation_of(name) : -1};
	if (c->operation < 0)
		return;
	c->data.size = sizeof(c->data.size) + argument_bytes() + ROCPROFILER_RESULT_BYTES;
	if (fault_is_due(faults.short_call, &calls))
		c->data.size = 8;
	memcpy(c->data.bytes, arguments, size);
	c->record = (struct rocprofiler_call_record){.context = 77,
		.thread = (uint64_t)gettid(),
		.internal = __atomic_add_fetch(&ids, 1, __ATOMIC_RELAXED),
		.kind = (int32_t)kind_number("HIP_RUNTIME_API"),
		.operation = c->operation,
		.phase = ROCPROFILER_PHASE_ENTER,
		.payload = &c->data};
	sdk.on_call(c->record, &c->user_data, sdk.call_data);
}

static void call_ends(int32_t result)
{
	struct call *c = call_at(--depth);

	if (c->operation < 0)
		return;
	memcpy(c->data.bytes + argument_bytes(), &result, sizeof(result));
	c->record.phase = ROCPROFILER_PHASE_EXIT;
	sdk.on_call(c->record, &c->user_data, sdk.call_data);
}

/* On each device. */
static void code_is_loaded(uint64_t kernel, const char *name, struct rocprofiler_call_record record)
{
	uint64_t user_data = 0;
	size_t size;
	void *image = make_code(name, &size);

	for (uint64_t device = 0; image && device < 2; device++) {
		uint64_t base = 0x7f0000000000 + (SIM_CODE_ID(kernel, device) << 20);
		struct rocprofiler_code_object object = {.size = sizeof(object),
			.id = SIM_CODE_ID(kernel, device),
			.agent = SIM_AMD_FIRST_AGENT + device,
			.uri = "memory://",
			.load_base = base,
			.load_size = 0x1000,
			.load_delta = (int64_t)(base - SIM_CODE_BASE),
			.storage = ROCPROFILER_STORED_IN_MEMORY,
			.memory = (uintptr_t)image,
			.memory_size = size};

		record.operation = ROCPROFILER_CODE_LOADED;
		record.payload = &object;
		sdk.on_code(record, &user_data, sdk.code_data);
	}
}

static void kernel_is_loaded(uint64_t kernel, const char *name)
{
	char text[512];
	struct rocprofiler_kernel_symbol symbol = {.size = sizeof(symbol) + 24,
		.kernel = kernel,
		.code_object = 1,
		.name = text,
		.group_bytes = 512,
		.vector_registers = 64};
	struct rocprofiler_call_record record = {.context = 77,
		.kind = (int32_t)kind_number("CODE_OBJECT"),
		.operation = ROCPROFILER_KERNEL_SYMBOL,
		.phase = ROCPROFILER_PHASE_ENTER,
		.payload = &symbol};
	uint64_t user_data = 0;

	snprintf(text, sizeof(text), "%s.kd", name);
	if (!sdk.on_code)
		return;
	code_is_loaded(kernel, name, record);
	sdk.on_code(record, &user_data, sdk.code_data);
}

static void work_is_handed(const struct sim_amd_work *work)
{
	uint64_t external = 0;

	if (!__atomic_load_n(&sdk.running, __ATOMIC_SEQ_CST) ||
		!delivery_wants(kind_number(work->is_copy ? "MEMORY_COPY" : "KERNEL_DISPATCH")))
		return;
	if (sdk.on_request)
		sdk.on_request((uint64_t)gettid(), 77,
			work->is_copy ? ROCPROFILER_REQUEST_COPY : ROCPROFILER_REQUEST_DISPATCH, 1,
			1, &external, sdk.request_data);
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
			__atomic_store_n(&sdk.running, false, __ATOMIC_SEQ_CST);
	sdk.locked = true;
}

void sim_amd_begin(struct sim_amd_tracer *ret)
{
	set_up_tools();
	*ret = (struct sim_amd_tracer){.now = sim_amd_now,
		.enter = call_begins,
		.leave = call_ends,
		.loaded = kernel_is_loaded,
		.handed = work_is_handed};
}
