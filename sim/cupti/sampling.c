// SPDX-License-Identifier: MIT
/*
 * The PC sampling API. A kernel's run is noted when it is submitted, and gives its samples once it
 * has ended: as many as its multiprocessors would make in its time, in turn at the instructions
 * that code.h lists, so that the same runs always give the same samples. Samples wait in tallies,
 * one for each kernel (or launch, in serialized mode), until they are fetched.
 *
 * Modules that were loaded before sampling was enabled are known where start and stop are
 * controlled, but for functions of graphs that were replayed between the first subscriber and the
 * first time that sampling was enabled, and all that were launched after callbacks of resources
 * were on. Records of kernels are to be enabled before.
 *
 * To switch sampling on or off from outside of any call of the program's hangs for good when
 * another thread is in a call of the driver, also one that comes in the meantime.
 *
 * Kernels are not really serialized in serialized mode. $XPUPROF_SIM_STALLS_MADE names a file to
 * which, at the end of the process, the number of samples that were made of each kernel is
 * appended, and of those dropped.
 */
#include "code.h"

#include <cupti_pcsampling.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	CONTEXTS = 64,
	DEFAULT_PERIOD = 18,
	MIN_PERIOD = 5,
	MAX_PERIOD = 31,
	CYCLES_PER_US = 1500,
	MULTIPROCESSORS = 64,
	US_NS = 1000,
	MS_NS = 1000000,
	STEP_NS = 5 * MS_NS, /* to switch something takes, at least */
	STEP_PAUSE_US = 100,
	FIRST_WITH_CORRELATION = 22, /* API version */
};

struct run {
	struct run *next;
	struct code_kernel *kernel;
	uint64_t ready_ns, duration_ns, multiprocessors;
	uint32_t correlation;
	bool unknown; /* its module was loaded before sampling was on */
};

/* Samples of a kernel that wait to be fetched. */
struct tally {
	struct tally *next;
	struct code_kernel *kernel;
	uint32_t correlation;
	uint64_t counts[]; /* by row */
};

struct sampler {
	CUcontext context;
	unsigned int period;
	bool serialized;
	bool controlled; /* only what runs between Start and Stop is sampled */
	bool started;
	uint32_t first_module; /* earlier ones are unknown */
	CUpti_PCSamplingData *rest;
	struct run *runs, **last_run;
	struct tally *tallies;
	uint64_t cycles;		    /* not yet worth a sample */
	uint64_t samples, dropped, unknown; /* since they were fetched */
	uint64_t fetches;
	uint64_t sampled_runs; /* for the fault that stops */
	int hardware; /* the device's, for the fault of one sampler; -1: another process has it */
	int users;    /* threads inside of GetData */
};

struct made {
	struct made *next;
	const char *name;
	uint64_t samples;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	struct sampler samplers[CONTEXTS];
	int sampled;
	_Atomic int destroying; /* contexts whose end is being reported */
	uint64_t samples;	/* so far, for the fault that drops every nth */
	uint64_t dropped;
	_Atomic uint64_t enabled; /* times, for the fault that hangs */
	bool doomed;		  /* a device was sampled by two: CUPTI will end */
	struct made *made;
} pc = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

static _Thread_local int destroying; /* of them, in this thread */

static const struct sim_faults *faults(void)
{
	return &xpuprof_sim_driver()->faults;
}

static struct sampler *find(CUcontext context)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (pc.samplers[i].context == context)
			return &pc.samplers[i];
	return NULL;
}

/* ---- kernels run ---- */

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void note_run(struct sampler *s, const struct sim_kernel *k, const struct sim_run *run)
{
	struct run *r = calloc(1, sizeof(*r));

	if (r)
		r->kernel = code_kernel_find(k->function->name);
	if (!r || !r->kernel) {
		free(r);
		return;
	}
	r->ready_ns = run->end_ns + faults()->stalls_delay_ms * MS_NS;
	r->duration_ns = run->end_ns - run->start_ns;
	r->multiprocessors = min64(MULTIPROCESSORS, (uint64_t)k->grid.x * k->grid.y * k->grid.z);
	r->correlation = run->correlation;
	r->unknown = k->function->nameless ||
		     (k->function->module && k->function->module->id < s->first_module);
	*s->last_run = r;
	s->last_run = &r->next;
}

/* A kernel that is in no module was compiled into the program, whose image is loaded when it is
 * first needed. */
static void load_image(const struct sim_kernel *k)
{
	struct code_kernel *code = k->function->module ? NULL : code_kernel_find(k->function->name);
	bool report = false;

	if (!code || !code->image)
		return;
	pthread_mutex_lock(&pc.lock);
	report = !code->image->reported;
	code->image->reported = true;
	pthread_mutex_unlock(&pc.lock);
	if (report)
		sim_cupti_report_module(0, code->image->bytes, code->image->size);
}

void sim_cupti_sample(CUstream stream, const struct sim_kernel *k, const struct sim_run *run)
{
	struct sampler *s;

	load_image(k);
	pthread_mutex_lock(&pc.lock);
	s = find(stream->context);
	if (s && (!s->controlled || s->started))
		note_run(s, k, run);
	pthread_mutex_unlock(&pc.lock);
}

/* ---- samples are made of them; the lock is held ---- */

static void count_made(const char *name, uint64_t samples)
{
	struct made *m = pc.made;

	while (m && strcmp(m->name, name))
		m = m->next;
	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return;
		m->name = name;
		m->next = pc.made;
		pc.made = m;
	}
	m->samples += samples;
}

static struct tally *tally_of(struct sampler *s, struct code_kernel *k, uint32_t correlation)
{
	struct tally *t = s->tallies;

	while (t && (t->kernel != k || t->correlation != correlation))
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t) + k->row_count * sizeof(t->counts[0]));
	if (!t)
		return NULL;
	t->kernel = k;
	t->correlation = correlation;
	t->next = s->tallies;
	return s->tallies = t;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	return b ? common_divisor(b, a % b) : a;
}

/*
 * Sample number n of a kernel hits the row at position n * step of all weights laid out in a line.
 * By the golden ratio any number of samples is spread evenly.
 */
static uint64_t step_of(uint64_t weight)
{
	uint64_t step = weight * 618033989 / 1000000000 + 1;

	while (common_divisor(step, weight) != 1)
		step++;
	return step;
}

static void add_one(struct tally *t, uint64_t position)
{
	const struct code_kernel *k = t->kernel;

	for (uint32_t i = 0; i < k->row_count; i++) {
		if (k->rows[i].reason % 2)
			continue;
		if (position < k->rows[i].weight) {
			t->counts[i]++;
			return;
		}
		position -= k->rows[i].weight;
	}
}

/* Latency samples are a part of the others, and in proportion. */
static void add_latency(struct tally *t, uint64_t before, uint64_t after)
{
	const struct code_kernel *k = t->kernel;

	for (uint32_t i = 0; i < k->row_count; i++)
		if (k->rows[i].reason % 2)
			t->counts[i] += after * k->rows[i].weight / k->weight -
					before * k->rows[i].weight / k->weight;
}

static void add_samples(struct tally *t, uint64_t samples)
{
	struct code_kernel *k = t->kernel;
	uint64_t rounds = samples / k->weight, step = step_of(k->weight);

	for (uint32_t i = 0; i < k->row_count; i++)
		if (k->rows[i].reason % 2 == 0)
			t->counts[i] += rounds * k->rows[i].weight;
	for (uint64_t n = rounds * k->weight; n < samples; n++)
		add_one(t, (k->samples + n) % k->weight * step % k->weight);
	add_latency(t, k->samples, k->samples + samples);
	k->samples += samples;
}

static uint64_t drop_some(struct sampler *s, uint64_t samples)
{
	uint64_t nth = faults()->stalls_dropped, dropped = 0;

	if (nth)
		dropped = (pc.samples + samples) / nth - pc.samples / nth;
	pc.samples += samples;
	pc.dropped += dropped;
	s->dropped += dropped;
	return samples - dropped;
}

static void sample_run(struct sampler *s, const struct run *r)
{
	uint64_t samples;
	struct tally *t;

	if (faults()->stalls_stop && ++s->sampled_runs > faults()->stalls_stop)
		return;
	s->cycles += r->duration_ns * CYCLES_PER_US / US_NS * r->multiprocessors;
	samples = s->cycles >> s->period;
	s->cycles &= (1ull << s->period) - 1;
	s->samples += samples;
	samples = drop_some(s, samples);
	if (r->unknown || !r->kernel->weight) {
		s->unknown += samples;
		return;
	}
	t = tally_of(s, r->kernel, s->serialized ? r->correlation : 0);
	if (!t || !samples)
		return;
	add_samples(t, samples);
	count_made(r->kernel->name, samples);
}

static void sample_ended(struct sampler *s, uint64_t now)
{
	uint64_t room = faults()->stalls_behind ? faults()->stalls_behind : UINT64_MAX;
	struct run **link = &s->runs, *r;

	while ((r = *link)) {
		if (r->ready_ns > now || !room) {
			link = &r->next;
			continue;
		}
		room--;
		sample_run(s, r);
		*link = r->next;
		free(r);
	}
	s->last_run = link;
}

/* ---- and fetched ---- */

static bool is_with(const struct tally *t, uint32_t row, uint32_t first)
{
	const struct code_row *rows = t->kernel->rows;

	return row < t->kernel->row_count && rows[row].function == rows[first].function &&
	       rows[row].offset == rows[first].offset;
}

static uint32_t end_of_pc(const struct tally *t, uint32_t first, bool *ret_any)
{
	uint32_t row = first;

	*ret_any = false;
	for (; is_with(t, row, first); row++)
		*ret_any |= t->counts[row] != 0;
	return row;
}

static void write_pc(CUpti_PCSamplingPCData *to, struct tally *t, uint32_t first, uint32_t end)
{
	const struct code_kernel *k = t->kernel;
	const struct code_function *f = &k->functions[k->rows[first].function];

	to->cubinCrc = k->checksum;
	to->pcOffset = k->rows[first].offset;
	to->functionIndex = f->index;
	to->functionName = (char *)(uintptr_t)f->name;
	to->stallReasonCount = 0;
	if (to->size > offsetof(CUpti_PCSamplingPCData, correlationId))
		to->correlationId = t->correlation;
	for (uint32_t row = first; row < end; row++) {
		if (!t->counts[row])
			continue;
		to->stallReason[to->stallReasonCount++] = (CUpti_PCSamplingStallReason){
			.pcSamplingStallReasonIndex = k->rows[row].reason,
			.samples = (uint32_t)t->counts[row],
		};
		t->counts[row] = 0;
	}
}

/* Records were shorter before CUDA 12.4. */
static CUpti_PCSamplingPCData *pc_at(const CUpti_PCSamplingData *data, size_t n)
{
	uint64_t version = faults()->cupti_version;
	size_t stride = version && version < FIRST_WITH_CORRELATION
				? offsetof(CUpti_PCSamplingPCData, correlationId)
				: sizeof(CUpti_PCSamplingPCData);

	return (CUpti_PCSamplingPCData *)((char *)data->pPcData + n * stride);
}

static void write_tally(CUpti_PCSamplingData *data, struct tally *t)
{
	uint32_t row = 0, end;
	bool any;

	for (; row < t->kernel->row_count; row = end) {
		end = end_of_pc(t, row, &any);
		if (any && data->totalNumPcs < data->collectNumPcs)
			write_pc(pc_at(data, data->totalNumPcs++), t, row, end);
		else if (any)
			data->remainingNumPcs++;
	}
}

static void fetch(struct sampler *s, CUpti_PCSamplingData *data)
{
	struct tally **link = &s->tallies, *t;
	size_t before;

	data->totalSamples = s->samples;
	data->droppedSamples = s->dropped;
	data->nonUsrKernelsTotalSamples = s->unknown;
	s->samples = s->dropped = s->unknown = 0;
	data->totalNumPcs = data->remainingNumPcs = 0;
	while ((t = *link)) {
		before = data->remainingNumPcs;
		write_tally(data, t);
		if (data->remainingNumPcs != before) {
			link = &t->next;
			continue;
		}
		*link = t->next;
		free(t);
	}
}

static void clear(struct sampler *s)
{
	if (s->hardware > 0)
		close(s->hardware);
	for (struct run *r = s->runs, *next; r; r = next) {
		next = r->next;
		free(r);
	}
	for (struct tally *t = s->tallies, *next; t; t = next) {
		next = t->next;
		free(t);
	}
	memset(s, 0, sizeof(*s));
	xpuprof_sim_tools.sampled = --pc.sampled > 0;
}

void sim_cupti_context_destroying(bool begins)
{
	destroying += begins ? 1 : -1;
	pc.destroying += begins ? 1 : -1;
}

void sim_cupti_used(enum sim_unsampled how)
{
	if (!pc.enabled && how > xpuprof_sim_tools.unsampled)
		xpuprof_sim_tools.unsampled = how;
}

/* CUPTI has torn the context's sampling down when its end has been reported. */
void sim_cupti_context_gone(CUcontext context)
{
	struct sampler *s;

	pthread_mutex_lock(&pc.lock);
	s = find(context);
	if (s && s->users && faults()->stalls_strict)
		abort();
	while (s && s->users)
		pthread_cond_wait(&pc.idle, &pc.lock);
	if (s && s->context == context)
		clear(s);
	pthread_mutex_unlock(&pc.lock);
}

/* ---- the API ---- */

static CUptiResult check(size_t size, size_t needed, CUcontext context)
{
	CUptiResult why;

	if (!sim_cupti_usable(&why))
		return why;
	if (size < needed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return context && context->magic == SIM_CONTEXT ? CUPTI_SUCCESS
							: CUPTI_ERROR_INVALID_PARAMETER;
}

/* A descriptor that one process can have at a time, until it ends; -1 when another has it. */
static int claim_hardware(CUdevice device)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const char *machine = getenv("XPUPROF_SIM_MACHINE");

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "simulated GPU %d of '%s'", device,
		machine ? machine : "");
	if (!bind(fd, (struct sockaddr *)&name, sizeof(name)))
		return fd;
	close(fd);
	return -1;
}

/* NVIDIA's CUPTI switches it on as well, and then ends. The lock is held. */
static void sample_alone(struct sampler *s)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (&pc.samplers[i] != s && pc.samplers[i].context &&
			pc.samplers[i].context->device == s->context->device)
			pc.doomed = true;
	if (!pc.doomed)
		s->hardware = claim_hardware(s->context->device);
	if (s->hardware < 0)
		pc.doomed = true;
}

/* This child of a process that samples does not. */
static void forked(void)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (pc.samplers[i].hardware > 0)
			close(pc.samplers[i].hardware);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forked);
}

static void pause_for_good(void)
{
	while (true)
		pause();
}

static CUptiResult enable(CUcontext context)
{
	struct sampler *s;

	if (find(context))
		return CUPTI_ERROR_INVALID_OPERATION;
	s = find(NULL);
	if (!s)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	*s = (struct sampler){
		.context = context,
		.period = DEFAULT_PERIOD,
		.first_module = xpuprof_sim_driver()->next_module,
	};
	s->last_run = &s->runs;
	xpuprof_sim_tools.sampled = ++pc.sampled > 0;
	if (faults()->one_sampler)
		sample_alone(s);
	return CUPTI_SUCCESS;
}

static void take_a_step(void)
{
	uint64_t end_ns = sim_now() + STEP_NS;

	while (sim_now() < end_ns) {
		while (xpuprof_sim_others_are_inside())
			pause_for_good();
		usleep(STEP_PAUSE_US);
	}
}

SIM_EXPORT CUptiResult cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams *p)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingEnableParamsSize, p->ctx);

	if (!result && faults()->stalls_refused)
		result = faults()->stalls_refused == 1 ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
						       : (CUptiResult)faults()->stalls_refused;
	if (result)
		return result;
	if (!sim_cupti_has_subscriber())
		abort(); /* NVIDIA's (13.0) crashed in 3 of 10 processes */
	xpuprof_sim_tools.unsampled = SIM_SAMPLED;
	if (++pc.enabled == faults()->stalls_hang)
		pause_for_good();
	if (!xpuprof_sim_is_inside() || faults()->stalls_alone)
		take_a_step();
	pthread_mutex_lock(&pc.lock);
	result = enable(p->ctx);
	pthread_mutex_unlock(&pc.lock);
	return result;
}

/* What is the sampler's before a step. */
static bool is_controlled(CUcontext context)
{
	struct sampler *s;
	bool controlled;

	pthread_mutex_lock(&pc.lock);
	s = find(context);
	controlled = s && s->controlled;
	pthread_mutex_unlock(&pc.lock);
	return controlled;
}

/* Start, or Stop, which waits for everything that was launched. */
static CUptiResult switch_to(CUcontext context, bool started)
{
	struct sampler *s;
	bool can;

	take_a_step();
	pthread_mutex_lock(&pc.lock);
	s = find(context);
	can = s && s->controlled && s->started != started;
	if (can && !started)
		sample_ended(s, UINT64_MAX);
	if (can)
		s->started = started;
	pthread_mutex_unlock(&pc.lock);
	return can ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

SIM_EXPORT CUptiResult cuptiPCSamplingStart(CUpti_PCSamplingStartParams *p)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingStartParamsSize, p->ctx);

	return result ? result : switch_to(p->ctx, true);
}

SIM_EXPORT CUptiResult cuptiPCSamplingStop(CUpti_PCSamplingStopParams *p)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingStopParamsSize, p->ctx);

	return result ? result : switch_to(p->ctx, false);
}

/* Waits for everything that was launched. */
SIM_EXPORT CUptiResult cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams *p)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingDisableParamsSize, p->ctx);
	struct sampler *s;

	if (result)
		return result;
	if (!xpuprof_sim_is_inside() || is_controlled(p->ctx))
		take_a_step();
	pthread_mutex_lock(&pc.lock);
	s = find(p->ctx);
	if (s) {
		sample_ended(s, UINT64_MAX);
		if (s->rest)
			fetch(s, s->rest);
		clear(s);
	}
	pthread_mutex_unlock(&pc.lock);
	return s ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_OPERATION;
}

static CUptiResult set(struct sampler *s, CUpti_PCSamplingConfigurationInfo *info)
{
	uint32_t number = info->attributeData.samplingPeriodData.samplingPeriod;

	switch (info->attributeType) {
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
		if (number < MIN_PERIOD || number > MAX_PERIOD)
			return CUPTI_ERROR_INVALID_OPERATION;
		s->period = number;
		return CUPTI_SUCCESS;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
		s->serialized = number == CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED;
		return CUPTI_SUCCESS;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL:
		s->controlled =
			info->attributeData.enableStartStopControlData.enableStartStopControl;
		if (s->controlled)
			s->first_module = 0;
		return CUPTI_SUCCESS;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
		s->rest = info->attributeData.samplingDataBufferData.samplingDataBuffer;
		return CUPTI_SUCCESS;
	default:
		// clang-format off
		return info->attributeType <= CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN ?
			CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
		// clang-format on
	}
}

static CUptiResult get(const struct sampler *s, CUpti_PCSamplingConfigurationInfo *info)
{
	switch (info->attributeType) {
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD:
		info->attributeData.samplingPeriodData.samplingPeriod = s->period;
		return CUPTI_SUCCESS;
	case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
		info->attributeData.collectionModeData.collectionMode =
			s->serialized ? CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
				      : CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
		return CUPTI_SUCCESS;
	default:
		return CUPTI_ERROR_INVALID_PARAMETER;
	}
}

static CUptiResult attributes(CUpti_PCSamplingConfigurationInfoParams *p, bool setting)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingConfigurationInfoParamsSize, p->ctx);
	struct sampler *s;

	if (result)
		return result;
	pthread_mutex_lock(&pc.lock);
	s = find(p->ctx);
	for (size_t i = 0; s && i < p->numAttributes; i++) {
		CUpti_PCSamplingConfigurationInfo *info = &p->pPCSamplingConfigurationInfo[i];

		info->attributeStatus = setting ? set(s, info) : get(s, info);
		if (info->attributeStatus)
			result = CUPTI_ERROR_INVALID_OPERATION;
	}
	pthread_mutex_unlock(&pc.lock);
	return s ? result : CUPTI_ERROR_INVALID_OPERATION;
}

SIM_EXPORT CUptiResult cuptiPCSamplingSetConfigurationAttribute(
	CUpti_PCSamplingConfigurationInfoParams *p)
{
	return attributes(p, true);
}

SIM_EXPORT CUptiResult cuptiPCSamplingGetConfigurationAttribute(
	CUpti_PCSamplingConfigurationInfoParams *p)
{
	return attributes(p, false);
}

SIM_EXPORT CUptiResult cuptiPCSamplingGetNumStallReasons(
	CUpti_PCSamplingGetNumStallReasonsParams *p)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingGetNumStallReasonsParamsSize, p->ctx);

	if (!result)
		*p->numStallReasons = SIM_REASONS;
	return result;
}

SIM_EXPORT CUptiResult cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams *p)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingGetStallReasonsParamsSize, p->ctx);

	for (uint32_t i = 0; !result && i < p->numStallReasons && i < SIM_REASONS; i++) {
		p->stallReasonIndex[i] = i;
		snprintf(p->stallReasons[i], CUPTI_STALL_REASON_STRING_SIZE, "%s", code_reason(i));
	}
	return result;
}

/* As if it needed a lock that another thread holds during the callback that a context ends. */
static void be_slow(void)
{
	usleep((useconds_t)faults()->stalls_slow_ms * 1000);
	while (faults()->stalls_lock && pc.destroying > destroying)
		usleep(1000);
}

static CUptiResult get_data(struct sampler *s, CUpti_PCSamplingData *data)
{
	uint64_t nth = faults()->stalls_full, from = faults()->stalls_taken;

	s->fetches++;
	if (pc.doomed || s->fetches == faults()->stalls_end)
		sim_cupti_end(NULL);
	if (sim_cupti_has_ended() || (from && s->fetches >= from))
		return CUPTI_ERROR_UNKNOWN;
	if (nth && s->fetches % nth == 0) {
		data->totalNumPcs = data->remainingNumPcs = 0;
		data->totalSamples = data->droppedSamples = data->nonUsrKernelsTotalSamples = 0;
		data->hardwareBufferFull = 1;
		return CUPTI_ERROR_OUT_OF_MEMORY;
	}
	sample_ended(s, sim_now());
	fetch(s, data);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams *p)
{
	CUptiResult result = check(p->size, CUpti_PCSamplingGetDataParamsSize, p->ctx);
	struct sampler *s;

	if (result)
		return result;
	pthread_mutex_lock(&pc.lock);
	s = find(p->ctx);
	if (s) {
		s->users++;
		pthread_mutex_unlock(&pc.lock);
		be_slow();
		pthread_mutex_lock(&pc.lock);
		result = get_data(s, p->pcSamplingData);
		s->users--;
		pthread_cond_broadcast(&pc.idle);
	}
	pthread_mutex_unlock(&pc.lock);
	return s ? result : CUPTI_ERROR_INVALID_OPERATION;
}

SIM_EXPORT CUptiResult cuptiGetCubinCrc(CUpti_GetCubinCrcParams *p)
{
	if (!p || p->size < CUpti_GetCubinCrcParamsSize || !p->cubin || !p->cubinSize)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->cubinCrc = code_checksum(p->cubin, p->cubinSize);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiRegisterComputeCrcCallback(CUpti_ComputeCrcCallbackFunc compute)
{
	if (!compute)
		return CUPTI_ERROR_INVALID_PARAMETER;
	code_compute_checksum = compute;
	return CUPTI_SUCCESS;
}

/* Appended in one piece, as several processes may do so; not by one that was forked. */
__attribute__((destructor)) static void say_what_was_made(void)
{
	const char *path = getenv("XPUPROF_SIM_STALLS_MADE");
	CUptiResult why;
	FILE *file = NULL;

	if (path && (pc.made || pc.dropped) && sim_cupti_usable(&why))
		file = fopen(path, "ae");
	if (!file)
		return;
	for (const struct made *m = pc.made; m; m = m->next)
		fprintf(file, "%s %llu\n", m->name, (unsigned long long)m->samples);
	if (pc.dropped)
		fprintf(file, "(dropped) %llu\n", (unsigned long long)pc.dropped);
	fclose(file);
}
