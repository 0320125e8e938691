// SPDX-License-Identifier: MIT
/*
 * A simulated HSA runtime with the GPUs that the simulated HIP has. The library has the name of the
 * real one, for LD_LIBRARY_PATH=build/sim/amd.
 *
 * A program writes packets into a queue and stores into its doorbell how far: then the thread that
 * does so hands over those that are new. Kernels take as long as they have groups. A signal of an
 * end counts down when that has come.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hip.h"
#include "hsa.h"
#include "register.h"

#define EXPORT __attribute__((visibility("default")))

#define KERNELS_MAX 64
#define SUCCESS	    0
#define NO_SYMBOL   0x100au
#define QUEUE_FIRST 100u

struct signal {
	int64_t value;
	uint64_t ends_ns;    /* when it counts down; 0: it does not */
	struct queue *queue; /* of which it is the doorbell; NULL: it is none */
};

struct queue {
	struct hsa_queue public;
	int device;
	uint64_t written, taken, busy_until;
	struct signal doorbell;
};

static struct sim_amd_tracer tracer;
static char *kernels[KERNELS_MAX]; /* names; their objects are counted from 1 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now(void)
{
	return tracer.now ? tracer.now() : own_clock();
}

static void enter(const char *name, const void *arguments, size_t size)
{
	if (tracer.enter)
		tracer.enter(name, arguments, size);
}

static int leave(int result)
{
	if (tracer.leave)
		tracer.leave(result);
	return result;
}

static void begin_once(void)
{
	register_runtime(&tracer);
}

EXPORT int hsa_init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, begin_once);
	return SUCCESS;
}

EXPORT int hsa_iterate_agents(int (*visit)(struct hsa_agent agent, void *data), void *data)
{
	int result = visit((struct hsa_agent){SIM_AMD_CPU_AGENT}, data);

	for (uint64_t n = 0; n < SIM_AMD_DEVICES && !result; n++)
		result = visit((struct hsa_agent){SIM_AMD_FIRST_AGENT + n}, data);
	return result;
}

/* --- queues */

EXPORT int hsa_queue_create(struct hsa_agent agent, uint32_t size, uint32_t type, void *callback,
	void *data, uint32_t private_bytes, uint32_t group_bytes, struct hsa_queue **ret)
{
	static uint64_t queues = QUEUE_FIRST;
	struct queue *q = calloc(1, sizeof(*q));

	if (!q)
		abort();
	q->device = (int)(agent.handle - SIM_AMD_FIRST_AGENT);
	q->doorbell = (struct signal){.value = -1, .queue = q};
	q->public = (struct hsa_queue){.type = type,
		.base_address = calloc(size, sizeof(struct hsa_dispatch_packet)),
		.doorbell = {(uintptr_t)&q->doorbell},
		.size = size,
		.id = __atomic_add_fetch(&queues, 1, __ATOMIC_RELAXED)};
	*ret = &q->public;
	return SUCCESS;
}

EXPORT uint64_t hsa_queue_add_write_index_screlease(const struct hsa_queue *queue, uint64_t value)
{
	return __atomic_fetch_add(&((struct queue *)queue)->written, value, __ATOMIC_SEQ_CST);
}

static void end_at(struct hsa_signal handle, uint64_t ns)
{
	struct signal *s = (struct signal *)handle.handle;

	if (s)
		s->ends_ns = ns;
}

static void run(int device, uint64_t *busy_until, struct sim_amd_work *w, uint64_t takes_ns)
{
	uint64_t at = now();

	w->device = device;
	w->start_ns = *busy_until > at ? *busy_until : at;
	w->end_ns = *busy_until = w->start_ns + takes_ns;
	if (tracer.handed)
		tracer.handed(w);
}

static void dispatch(struct queue *q, const struct hsa_dispatch_packet *p)
{
	struct sim_amd_work w = {
		.queue = q->public.id, .kernel = p->kernel_object, .shared = p->group_bytes};
	uint64_t groups = 1;

	for (int n = 0; n < 3; n++) {
		w.workgroup[n] = p->workgroup[n];
		w.groups[n] = p->grid[n] / p->workgroup[n];
		groups *= w.groups[n];
	}
	run(q->device, &q->busy_until, &w, SIM_AMD_KERNEL_NS(groups));
	end_at(p->completion, w.end_ns);
}

static void take_packets(struct queue *q, uint64_t up_to)
{
	struct hsa_dispatch_packet *packets = q->public.base_address;

	for (; q->taken <= up_to; q->taken++) {
		const struct hsa_dispatch_packet *p = &packets[q->taken % q->public.size];

		if ((p->header & 0xff) == HSA_PACKET_TYPE_DISPATCH)
			dispatch(q, p);
	}
}

/* --- signals */

EXPORT int hsa_signal_create(
	int64_t value, uint32_t count, const struct hsa_agent *consumers, struct hsa_signal *ret)
{
	struct signal *s = calloc(1, sizeof(*s));

	if (!s)
		abort();
	s->value = value;
	ret->handle = (uintptr_t)s;
	return SUCCESS;
}

static void store(const char *name, struct hsa_signal signal, int64_t value)
{
	const struct {
		struct hsa_signal signal;
		int64_t value;
	} traced = {signal, value};
	struct signal *s = (struct signal *)signal.handle;

	enter(name, &traced, sizeof(traced));
	s->value = value;
	s->ends_ns = 0;
	if (s->queue)
		take_packets(s->queue, (uint64_t)value);
	leave(SUCCESS);
}

EXPORT void hsa_signal_store_relaxed(struct hsa_signal signal, int64_t value)
{
	store(__func__, signal, value);
}

EXPORT void hsa_signal_store_screlease(struct hsa_signal signal, int64_t value)
{
	store(__func__, signal, value);
}

EXPORT int64_t hsa_signal_wait_scacquire(
	struct hsa_signal signal, int condition, int64_t compare, uint64_t timeout, int state)
{
	const struct {
		struct hsa_signal signal;
		int condition;
		int64_t compare;
		uint64_t timeout;
		int state;
	} traced = {signal, condition, compare, timeout, state};
	struct signal *s = (struct signal *)signal.handle;

	enter(__func__, &traced, sizeof(traced));
	while (s->value >= compare && s->ends_ns) {
		if (now() >= s->ends_ns)
			s->value--;
		else
			nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
	}
	leave(SUCCESS);
	return s->value;
}

/* --- kernels, which are made when they are asked for, and copies */

static uint64_t make_kernel(const char *name)
{
	uint64_t n = 0;

	while (n < KERNELS_MAX && kernels[n] && strcmp(kernels[n], name) != 0)
		n++;
	if (n == KERNELS_MAX)
		return 0;
	if (kernels[n])
		return n + 1;
	kernels[n] = strdup(name);
	if (tracer.loaded)
		tracer.loaded(n + 1, name, NULL);
	return n + 1;
}

EXPORT int hsa_executable_get_symbol_by_name(struct hsa_executable executable, const char *name,
	const struct hsa_agent *agent, struct hsa_executable_symbol *ret)
{
	pthread_mutex_lock(&lock);
	ret->handle = make_kernel(name);
	pthread_mutex_unlock(&lock);
	return ret->handle ? SUCCESS : (int)NO_SYMBOL;
}

EXPORT int hsa_executable_symbol_get_info(
	struct hsa_executable_symbol symbol, int attribute, void *ret)
{
	memcpy(ret, &symbol.handle, sizeof(symbol.handle));
	return attribute == HSA_SYMBOL_KERNEL_OBJECT ? SUCCESS : (int)NO_SYMBOL;
}

EXPORT int hsa_amd_memory_async_copy(void *to, struct hsa_agent to_agent, const void *from,
	struct hsa_agent from_agent, uint64_t size, uint32_t count, const struct hsa_signal *wait,
	struct hsa_signal completion)
{
	static uint64_t busy_until;
	const struct {
		void *to;
		struct hsa_agent to_agent;
		const void *from;
		struct hsa_agent from_agent;
		uint64_t size;
		uint32_t count;
		const struct hsa_signal *wait;
		struct hsa_signal completion;
	} traced = {to, to_agent, from, from_agent, size, count, wait, completion};
	struct hsa_agent gpu = to_agent.handle == SIM_AMD_CPU_AGENT ? from_agent : to_agent;
	struct sim_amd_work w = {.is_copy = true,
		.bytes = size,
		.direction = to_agent.handle == SIM_AMD_CPU_AGENT     ? HIP_DEVICE_TO_HOST
			     : from_agent.handle == SIM_AMD_CPU_AGENT ? HIP_HOST_TO_DEVICE
								      : HIP_DEVICE_TO_DEVICE};

	enter(__func__, &traced, sizeof(traced));
	memcpy(to, from, size);
	run((int)(gpu.handle - SIM_AMD_FIRST_AGENT), &busy_until, &w, SIM_AMD_COPY_NS(size));
	end_at(completion, w.end_ns);
	return leave(SUCCESS);
}
