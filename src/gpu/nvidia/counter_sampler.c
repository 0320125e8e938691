// SPDX-License-Identifier: MIT
/*
 * For each device, once: find what it can count in one pass, configure, start. Then, tick after
 * tick: decode what its buffer holds into a counter data image, evaluate each sample of the image,
 * send them, and begin the image anew.
 *
 * Measured on an H200 (CUPTI 13.0, 30 metrics): a sample needs 16 KiB in the buffer and 80 KiB in
 * the image; decoding, evaluating and clearing need some 0.2 ms of a CPU. Launches are not slowed
 * down. So short intervals must do with fewer metrics, and images are small.
 *
 * The first sample after a start reaches back to before it and is left out. A full buffer keeps the
 * oldest samples and no more. Then decoding fails until sampling is started anew, and what is
 * missing is counted by the time between samples, at the end by the time since the last one.
 * CUPTI's overflow flag alone does not mean that: on the H200, starting anew lost samples whenever
 * a tick came so late that the image was full. So images have room for late ticks, and what does
 * not fit comes with the next round. Times come on CUPTI's clock, which is CLOCK_REALTIME, and are
 * sent on CLOCK_MONOTONIC.
 */
#include "gpu/nvidia/counter_sampler.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "gpu/nvidia/counter_messages.h"
#include "gpu/nvidia/pm_metrics.h"
#include "vendor/nvidia/environment.h"

#define BUFFER_BYTES	((size_t)64 << 20) /* of a device, for raw samples */
#define IMAGE_SAMPLES	512
#define IMAGE_MAX_BYTES ((size_t)256 << 20)
#define TICK_SAMPLES	64
#define TICK_MIN_MS	20
#define TICK_MAX_MS	200
#define ROUNDS_MAX	64
#define CLOCK_TRIES	9
#define METRIC_COST_NS	20000 /* of an interval, for each metric: leaves some 40 % of a CPU idle */
#define METRICS_MIN	4

struct sampled {
	uint32_t number; /* index of the device */
	bool on;
	bool first;  /* the next sample is the first since the start */
	bool broken; /* samples are missing since last_end */
	void *object;
	struct pm_metrics metrics;
	uint8_t *data;
	size_t data_size;
	uint64_t last_end; /* of the last sample, at first when sampling began; on CUPTI's clock */
	uint64_t samples;  /* how many, and the time they span: the interval as it is */
	uint64_t samples_ns;
};

struct sampler {
	uint64_t interval_ns;
	struct pm pm;
	struct sampled devices[COUNTER_DEVICES];
	uint32_t count;
	uint64_t offset_ns; /* CUPTI's clock less ours */
	uint8_t message[COUNTER_MESSAGE_BYTES];
};

unsigned int counter_sampler_limit(uint64_t interval_ns)
{
	uint64_t limit = interval_ns / METRIC_COST_NS;

	return limit < METRICS_MIN	   ? METRICS_MIN
	       : limit > COUNTER_KINDS_MAX ? COUNTER_KINDS_MAX
					   : (unsigned int)limit;
}

/* --- messages ------------------------------------------------------------------------------ */

/* Without a recorder this process has nothing to do any more. */
static void send_message(struct sampler *s, const void *message, size_t size)
{
	ssize_t sent;

	do
		sent = send(COUNTER_SOCKET, message, size, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		_exit(1);
}

static enum counter_refusal refusal_of(int result)
{
	switch (result) {
	case PM_RIGHTS:
	case PM_VIRTUAL_DEVICE_RIGHTS:
		return COUNTERS_RIGHTS;
	case PM_HARDWARE_BUSY:
		return COUNTERS_BUSY;
	case PM_OUT_OF_MEMORY:
		return COUNTERS_MEMORY;
	case PM_NOT_SUPPORTED:
	case PM_VIRTUAL_DEVICE:
	case PM_CONFIDENTIAL:
	case PM_WSL_DEVICE:
		return COUNTERS_DEVICE;
	default:
		return COUNTERS_OTHER;
	}
}

static void send_refusal(struct sampler *s, uint32_t device, uint32_t refusal, int result)
{
	struct counter_refused m = {{COUNTER_REFUSED, device}, refusal, result};

	send_message(s, &m, sizeof(m));
}

static void send_head(struct sampler *s, uint32_t kind, uint32_t device)
{
	struct counter_head m = {kind, device};

	send_message(s, &m, sizeof(m));
}

static void send_device(struct sampler *s, const struct sampled *d)
{
	struct counter_device m = {.head = {COUNTER_DEVICE, d->number}};
	int device;

	if (s->pm.cuDeviceGet(&device, (int)d->number) || s->pm.cuDeviceGetUuid_v2(m.uuid, device))
		memset(m.uuid, 0, sizeof(m.uuid));
	send_message(s, &m, sizeof(m));
}

static void send_metrics(struct sampler *s, const struct sampled *d)
{
	for (size_t n = 0; n < d->metrics.count; n++) {
		struct counter_metric m = {
			{COUNTER_METRIC, d->number}, d->metrics.kinds[n], d->metrics.candidates[n]};

		send_message(s, &m, sizeof(m));
	}
}

static void send_lost(struct sampler *s, const struct sampled *d, uint64_t samples)
{
	struct counter_lost m = {{COUNTER_LOST, d->number}, samples};

	send_message(s, &m, sizeof(m));
}

/* --- starting ------------------------------------------------------------------------------ */

/* Whether the driver refuses it; unknown is no refusal. */
static int check_support(struct sampler *s, const struct sampled *d)
{
	struct pm_supported p = {
		.size = PM_SIZE(pm_supported, interface), .interface = PM_INTERFACE};
	int result = s->pm.cuDeviceGet(&p.device, (int)d->number);

	if (!result)
		result = s->pm.ProfilerDeviceSupported(&p);
	if (result)
		return result;
	return p.supported == PM_SUPPORT_NO || p.supported == PM_SUPPORT_OFF ? PM_NOT_SUPPORTED : 0;
}

static int choose(struct sampler *s, struct sampled *d)
{
	struct pm_chip chip = {.size = PM_SIZE(pm_chip, name), .device = d->number};
	struct pm_availability a = {.size = PM_SIZE(pm_availability, image), .device = d->number};
	int result = s->pm.DeviceGetChipName(&chip);

	if (!result)
		result = s->pm.PmSamplingGetCounterAvailability(&a);
	if (result)
		return result;
	a.image = malloc(a.image_size);
	result = a.image ? s->pm.PmSamplingGetCounterAvailability(&a) : PM_OUT_OF_MEMORY;
	if (!result)
		result = pm_metrics_choose(&d->metrics, &s->pm, chip.name, a.image,
			counter_sampler_limit(s->interval_ns));
	free(a.image);
	return result;
}

/* By time if the GPU can, else by cycles of its system clock, about one a nanosecond. */
static int configure(struct sampler *s, struct sampled *d)
{
	struct pm_config p = {.size = PM_SIZE(pm_config, append),
		.object = d->object,
		.image = d->metrics.image,
		.image_size = d->metrics.image_size,
		.buffer_bytes = BUFFER_BYTES,
		.interval = s->interval_ns,
		.trigger = PM_TRIGGER_TIME,
		.append = PM_KEEP_OLDEST};
	int result = s->pm.PmSamplingSetConfig(&p);

	if (result != PM_NOT_SUPPORTED && result != PM_INVALID_PARAMETER)
		return result;
	p.trigger = PM_TRIGGER_CYCLES;
	return s->pm.PmSamplingSetConfig(&p);
}

static int begin_data(struct sampler *s, struct sampled *d)
{
	struct pm_data_begin p = {.size = PM_SIZE(pm_data_begin, data),
		.object = d->object,
		.data = d->data,
		.data_size = d->data_size};

	return s->pm.PmSamplingCounterDataImageInitialize(&p);
}

static int make_data(struct sampler *s, struct sampled *d)
{
	struct pm_data_size p = {.size = PM_SIZE(pm_data_size, data_size),
		.object = d->object,
		.names = d->metrics.names,
		.count = d->metrics.count,
		.samples = IMAGE_SAMPLES};
	int result = s->pm.PmSamplingGetCounterDataSize(&p);

	if (result)
		return result;
	if (!p.data_size || p.data_size > IMAGE_MAX_BYTES)
		return PM_OUT_OF_MEMORY;
	d->data = malloc(p.data_size);
	d->data_size = p.data_size;
	return d->data ? begin_data(s, d) : PM_OUT_OF_MEMORY;
}

static int start(struct sampler *s, struct sampled *d)
{
	struct pm_object p = {.size = PM_SIZE(pm_object, object), .object = d->object};

	d->first = true;
	return s->pm.PmSamplingStart(&p);
}

static int stop(struct sampler *s, struct sampled *d)
{
	struct pm_object p = {.size = PM_SIZE(pm_object, object), .object = d->object};

	return s->pm.PmSamplingStop(&p);
}

static void release(struct sampler *s, struct sampled *d)
{
	struct pm_object p = {.size = PM_SIZE(pm_object, object), .object = d->object};

	if (d->object)
		(void)s->pm.PmSamplingDisable(&p);
	d->object = NULL;
	d->on = false;
	pm_metrics_release(&d->metrics, &s->pm);
	free(d->data);
	d->data = NULL;
}

static int enable(struct sampler *s, struct sampled *d)
{
	struct pm_enable p = {.size = PM_SIZE(pm_enable, object), .device = d->number};
	int result = s->pm.PmSamplingEnable(&p);

	d->object = result ? NULL : p.object;
	result = result ? result : configure(s, d);
	result = result ? result : make_data(s, d);
	return result ? result : start(s, d);
}

static void open_device(struct sampler *s, struct sampled *d)
{
	int result = check_support(s, d);

	send_device(s, d);
	result = result ? result : choose(s, d);
	result = result ? result : enable(s, d);
	d->on = !result;
	if (d->on) {
		send_metrics(s, d);
		return;
	}
	release(s, d);
	send_refusal(s, d->number, refusal_of(result), result);
}

/* --- sampling ------------------------------------------------------------------------------ */

/* The best of some tries to read both clocks at once. */
static void compare_clocks(struct sampler *s)
{
	uint64_t best = UINT64_MAX;

	for (int n = 0; n < CLOCK_TRIES; n++) {
		uint64_t before = clock_now_ns(), there, after;

		if (s->pm.GetTimestamp(&there))
			return;
		after = clock_now_ns();
		if (after - before >= best)
			continue;
		best = after - before;
		s->offset_ns = there - before - best / 2;
	}
}

static uint64_t now_of_cupti(const struct sampler *s)
{
	return clock_now_ns() + s->offset_ns;
}

static uint64_t interval_of(const struct sampler *s, const struct sampled *d)
{
	return d->samples ? d->samples_ns / d->samples : s->interval_ns;
}

/* What did not come between the last sample and one that starts at `start`. */
static void send_gap(struct sampler *s, const struct sampled *d, uint64_t start)
{
	uint64_t interval = interval_of(s, d), lost;

	lost = start > d->last_end ? (start - d->last_end + interval / 2) / interval : 0;
	if (lost)
		send_lost(s, d, lost);
}

/* What did not come before the end, which is in the midst of an interval. */
static void send_last_gap(struct sampler *s, const struct sampled *d, uint64_t end)
{
	uint64_t lost = end > d->last_end ? (end - d->last_end) / interval_of(s, d) : 0;

	if (d->broken && lost)
		send_lost(s, d, lost);
}

static int evaluate(struct sampler *s, struct sampled *d, size_t index, double *ret_values)
{
	struct pm_host_values p = {.size = PM_SIZE(pm_host_values, values),
		.host = d->metrics.host,
		.data = d->data,
		.data_size = d->data_size,
		.index = index,
		.names = d->metrics.names,
		.count = d->metrics.count,
		.values = ret_values};

	return s->pm.ProfilerHostEvaluateToGpuValues(&p);
}

/* Appends one sample of the image to the message; false: it has none to send. */
static bool append_sample(struct sampler *s, struct sampled *d, size_t index, uint8_t *at)
{
	struct pm_sample p = {.size = PM_SIZE(pm_sample, end),
		.object = d->object,
		.data = d->data,
		.data_size = d->data_size,
		.index = index};
	double values[COUNTER_KINDS_MAX];
	uint64_t times[2];

	if (s->pm.PmSamplingCounterDataGetSampleInfo(&p) || p.end <= p.start ||
		(!d->first && evaluate(s, d, index, values))) {
		d->broken = d->broken || !d->first;
		return false;
	}
	if (d->first) {
		d->first = false;
		d->last_end = d->broken ? d->last_end : p.end;
		return false;
	}
	send_gap(s, d, p.start);
	d->broken = false;
	d->last_end = p.end;
	d->samples++;
	d->samples_ns += p.end - p.start;
	times[0] = p.start - s->offset_ns;
	times[1] = p.end - s->offset_ns;
	memcpy(at, times, sizeof(times));
	memcpy(at + sizeof(times), values, d->metrics.count * sizeof(values[0]));
	return true;
}

static void send_samples(struct sampler *s, struct sampled *d, size_t count)
{
	size_t each = 2 * sizeof(uint64_t) + d->metrics.count * sizeof(double);
	struct counter_samples head = {
		.head = {COUNTER_SAMPLES, d->number}, .metrics = (uint32_t)d->metrics.count};
	size_t size = sizeof(head);

	for (size_t n = 0; n < count; n++) {
		if (size + each > sizeof(s->message)) {
			memcpy(s->message, &head, sizeof(head));
			send_message(s, s->message, size);
			head.count = 0;
			size = sizeof(head);
		}
		if (append_sample(s, d, n, s->message + size)) {
			head.count++;
			size += each;
		}
	}
	if (!head.count)
		return;
	memcpy(s->message, &head, sizeof(head));
	send_message(s, s->message, size);
}

/* *ret_ended: nothing will come any more without a new start. */
static int decode(struct sampler *s, struct sampled *d, size_t *ret_count, bool *ret_ended)
{
	struct pm_decode p = {.size = PM_SIZE(pm_decode, overflow),
		.object = d->object,
		.data = d->data,
		.data_size = d->data_size};
	struct pm_info info = {
		.size = PM_SIZE(pm_info, completed), .data = d->data, .data_size = d->data_size};
	int result = s->pm.PmSamplingDecodeData(&p);

	*ret_ended = result == PM_OUT_OF_MEMORY;
	if (result && !*ret_ended)
		return result;
	result = s->pm.PmSamplingGetCounterDataInfo(&info);
	*ret_count = info.completed < IMAGE_SAMPLES ? info.completed : IMAGE_SAMPLES;
	*ret_ended = *ret_ended || (p.overflow && !*ret_count);
	return result;
}

/* Drains as many samples as an image can hold: 1 when more may be left, 0, or CUPTI's negative
 * result. */
static int drain_once(struct sampler *s, struct sampled *d, bool restart)
{
	bool ended = false;
	size_t count = 0;
	int result = decode(s, d, &count, &ended);

	if (result)
		return -result;
	send_samples(s, d, count);
	d->broken = d->broken || ended;
	if (count)
		result = begin_data(s, d);
	if (!result && ended && restart) {
		result = stop(s, d);
		result = result ? result : start(s, d);
	}
	return result ? -result : count == IMAGE_SAMPLES;
}

static void give_up(struct sampler *s, struct sampled *d, int result)
{
	release(s, d);
	send_refusal(s, d->number, COUNTERS_OTHER, result);
}

static void drain(struct sampler *s, struct sampled *d, bool restart)
{
	int more = d->on;

	for (int round = 0; more > 0 && round < ROUNDS_MAX; round++)
		more = drain_once(s, d, restart);
	if (more < 0)
		give_up(s, d, -more);
}

static void drain_last(struct sampler *s, struct sampled *d)
{
	uint64_t end = now_of_cupti(s);
	int result = d->on ? stop(s, d) : 0;

	if (result)
		give_up(s, d, result);
	drain(s, d, false);
	if (d->on)
		send_last_gap(s, d, end);
}

static int tick_ms(const struct sampler *s)
{
	uint64_t ms = s->interval_ns * TICK_SAMPLES / NS_PER_MS;

	return ms < TICK_MIN_MS ? TICK_MIN_MS : ms > TICK_MAX_MS ? TICK_MAX_MS : (int)ms;
}

/* True when the recorder has ended it, or is gone. */
static bool is_over(struct sampler *s)
{
	struct pollfd p = {.fd = COUNTER_SOCKET, .events = POLLIN | POLLRDHUP};

	return poll(&p, 1, tick_ms(s)) > 0 && p.revents;
}

static void sample(struct sampler *s)
{
	for (uint32_t n = 0; n < s->count; n++)
		s->devices[n].last_end = now_of_cupti(s);
	while (!is_over(s)) {
		compare_clocks(s);
		for (uint32_t n = 0; n < s->count; n++)
			drain(s, &s->devices[n], true);
	}
	for (uint32_t n = 0; n < s->count; n++)
		drain_last(s, &s->devices[n]);
	send_head(s, COUNTER_ENDED, COUNTER_DEVICES);
}

/* --- the process --------------------------------------------------------------------------- */

static int open_all(struct sampler *s)
{
	struct pm_plain plain = {.size = PM_SIZE(pm_plain, reserved)};
	int result, count = 0;

	result = s->pm.cuInit(0);
	if (result || s->pm.cuDeviceGetCount(&count) || count <= 0) {
		send_refusal(s, COUNTER_DEVICES, COUNTERS_NO_DRIVER, 0);
		return -1;
	}
	result = s->pm.ProfilerInitialize(&plain);
	if (result) {
		send_refusal(s, COUNTER_DEVICES, refusal_of(result), result);
		return -1;
	}
	s->count = count < COUNTER_DEVICES ? (uint32_t)count : COUNTER_DEVICES;
	for (uint32_t n = 0; n < s->count; n++) {
		s->devices[n].number = n;
		open_device(s, &s->devices[n]);
	}
	return 0;
}

/* Ends when the recorder does, and is called as it is. */
static void become_own_process(void)
{
	struct rlimit no_core = {0, 0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "xpuprof");
	(void)setrlimit(RLIMIT_CORE, &no_core);
	unsetenv(NVIDIA_INJECTION_VARIABLE);
}

static _Noreturn void run(struct sampler *s)
{
	int refusal = pm_load(&s->pm);

	if (refusal)
		send_refusal(s, COUNTER_DEVICES, (uint32_t)refusal, 0);
	else if (!open_all(s)) {
		compare_clocks(s);
		send_head(s, COUNTER_STARTED, COUNTER_DEVICES);
		sample(s);
	}
	shutdown(COUNTER_SOCKET, SHUT_RDWR);
	for (uint32_t n = 0; n < s->count; n++)
		release(s, &s->devices[n]);
	_exit(0);
}

int counter_sampler_main(int argc, char **argv)
{
	static struct sampler s;
	int type;

	if (argc != 1 || !(s.interval_ns = strtoull(argv[0], NULL, 10)) ||
		getsockopt(
			COUNTER_SOCKET, SOL_SOCKET, SO_TYPE, &type, &(socklen_t){sizeof(type)}) ||
		type != SOCK_SEQPACKET)
		return 1;
	become_own_process();
	run(&s);
}
