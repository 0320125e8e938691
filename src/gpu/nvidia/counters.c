// SPDX-License-Identifier: MIT
#include "gpu/nvidia/counters.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/vec.h"
#include "gpu/nvidia/counter_messages.h"
#include "gpu/nvidia/counter_process.h"
#include "vendor/nvidia/nvidia.h"

#define START_LIMIT_MS 15000 /* a driver that has to wake all its GPUs takes seconds */
#define END_LIMIT_MS   2000
#define END_POLL_US    2000
#define EARLY_MAX_BYTES                                                                            \
	((size_t)16 << 20) /* samples of a device that nobody uses yet: 100 s at 1 ms */
#define EARLY_ALL_BYTES	 ((size_t)64 << 20) /* the same, of all devices */
#define MESSAGES_AT_ONCE 512		    /* more than a socket's buffer has room for */
#define LOST_MAX	 (1ull << 40)
#define SLACK_NS	 NS_PER_SECOND /* GPU clocks may be off by less */

/* Instead of that of COUNTERS_RIGHTS, where nothing could be loaded with our rights. */
static const char rights_unused[] =
	"the driver lets only administrators sample hardware counters, and no CUPTI was found that "
	"may be loaded as root: set $CUDA_HOME to a toolkit that only root can write, or set "
	"NVreg_RestrictProfilingToAdminUsers=0 (see 'xpuprof doctor')";

static const char *const refusals[COUNTERS_REFUSALS] = {
	[COUNTERS_RIGHTS] =
		"the driver lets only administrators sample hardware counters: run as root, or set "
		"NVreg_RestrictProfilingToAdminUsers=0 (see 'xpuprof doctor')",
	[COUNTERS_DEVICE] = "the GPU or its driver cannot sample hardware counters (Turing or "
			    "later, and a CUPTI that "
			    "knows it, can)",
	[COUNTERS_BUSY] = "hardware counters are being sampled by something else already: end "
			  "other profilers (DCGM "
			  "also, if it profiles)",
	[COUNTERS_MEMORY] =
		"there is no room for samples of hardware counters: use a longer interval "
		"(--counters=INTERVAL)",
	[COUNTERS_NO_DRIVER] =
		"no hardware counters: they are of NVIDIA's GPUs only, and none or no driver of "
		"these was found (see 'xpuprof doctor')",
	[COUNTERS_NO_CUPTI] = "no hardware counters: no CUPTI that samples them was found (CUDA "
			      "12.6 or later has "
			      "it); set $CUDA_HOME",
	[COUNTERS_NOT_TRUSTED] =
		"no hardware counters: others than root can change the only CUPTI or driver "
		"library "
		"found, or a folder above it, and as root no such is loaded; set $CUDA_HOME to a "
		"toolkit that only root can write, or record as a user",
	[COUNTERS_OTHER] = "hardware counters could not be sampled",
};

/* A device, as the sampler counts them. */
struct source {
	bool described;
	uint8_t uuid[16];
	uint32_t device; /* of the profile; 0: not used so far */
	uint32_t counters[COUNTER_KINDS_MAX];
	uint32_t counter_count;
	uint32_t refusal; /* enum counter_refusal; 0: none */
	int32_t result;
	uint64_t lost;
	struct buf early; /* samples from before it was used */
};

struct used {
	uint8_t uuid[16];
	uint32_t device;
};

struct counters {
	struct profile_writer *writer;
	uint64_t interval_ns;
	uint64_t start_ns;
	int socket; /* -1: over */
	pid_t pid;  /* 0: none */
	/* The sampler could not load NVIDIA's libraries as it had rights; one without shall. */
	bool has_user, user_is_next;
	bool as_user; /* the sampler has the user's rights, and we have more */
	bool started, stopped, ended;
	bool has_meta; /* META_COUNTERS is written */
	struct source sources[COUNTER_DEVICES];
	struct vec(struct used) used;
	uint32_t refused; /* bits: enum counter_refusal */
	struct buf lines;
	uint8_t message[COUNTER_MESSAGE_BYTES];
};

/* --- what is refused ----------------------------------------------------------------------- */

static int add_line(struct counters *c, const char *line, int32_t result)
{
	if (c->lines.size)
		buf_putc(&c->lines, '\n');
	buf_puts(&c->lines, line);
	if (result)
		buf_printf(&c->lines, " (CUPTI error %d)", (int)result);
	if (c->lines.failed)
		return error_memory(NULL);
	return profile_set_meta(c->writer, META_COUNTERS_REFUSED, buf_text(&c->lines));
}

/* A device is counted each time, a reason gets one line. Where there is no driver, there is no
 * device either. */
static int refuse(struct counters *c, uint32_t refusal, int32_t result)
{
	uint32_t bit = 1u << refusal;
	int error = refusal == COUNTERS_NO_DRIVER
			    ? 0
			    : profile_count_loss(c->writer, LOSS_COUNTS_REFUSED, 1);

	if (error || c->refused & bit)
		return error;
	c->refused |= bit;
	return add_line(c,
		refusal == COUNTERS_RIGHTS && c->as_user ? rights_unused : refusals[refusal],
		result);
}

static void hang_up(struct counters *c)
{
	if (c->socket >= 0)
		close(c->socket);
	c->socket = -1;
}

/* The sampler ended before it had sent everything. */
static int ended_early(struct counters *c, const char *why)
{
	char line[128];
	int error;

	hang_up(c);
	if (c->ended || c->user_is_next || (c->refused && !c->started))
		return 0;
	snprintf(line, sizeof(line), "the process that samples hardware counters %s", why);
	error = profile_count_loss(c->writer, LOSS_COUNTS_REFUSED, 1);
	return error ?: add_line(c, line, 0);
}

/* --- samples ------------------------------------------------------------------------------- */

static int write_sample(
	struct counters *c, const struct source *s, const uint64_t times[2], const double *values)
{
	struct profile_count count = {
		.device = s->device, .start_ns = times[0], .duration_ns = times[1] - times[0]};
	int error = 0;

	for (uint32_t n = 0; !error && n < s->counter_count; n++) {
		count.counter = s->counters[n];
		count.value = values[n];
		error = profile_write_count(c->writer, &count);
	}
	return error;
}

static bool is_plausible(const struct counters *c, const struct source *s, const uint64_t times[2],
	const double *values)
{
	if (times[1] <= times[0] || times[0] + SLACK_NS < c->start_ns ||
		times[1] > clock_now_ns() + SLACK_NS)
		return false;
	for (uint32_t n = 0; n < s->counter_count; n++)
		if (!isfinite(values[n]))
			return false;
	return true;
}

static size_t sample_bytes(const struct source *s)
{
	return 2 * sizeof(uint64_t) + s->counter_count * sizeof(double);
}

static int write_samples(struct counters *c, const struct source *s, const void *data, size_t size)
{
	const char *at = data;
	int error = 0;

	for (; !error && size >= sample_bytes(s); size -= sample_bytes(s), at += sample_bytes(s)) {
		double values[COUNTER_KINDS_MAX];
		uint64_t times[2];

		memcpy(times, at, sizeof(times));
		memcpy(values, at + sizeof(times), s->counter_count * sizeof(values[0]));
		error = is_plausible(c, s, times, values)
				? write_sample(c, s, times, values)
				: profile_count_loss(c->writer, LOSS_GPU_INVALID, 1);
	}
	return error;
}

/* Samples of devices that the program does not use yet. */
static size_t early_bytes(const struct counters *c)
{
	size_t sum = 0;

	for (uint32_t n = 0; n < COUNTER_DEVICES; n++)
		sum += c->sources[n].early.size;
	return sum;
}

static void drop_early(struct source *s, size_t size)
{
	memmove(s->early.data, s->early.data + size, s->early.size - size);
	s->early.size -= size;
	s->lost += size / sample_bytes(s);
}

/* When no room is left the older half is dropped, and where other devices have it all the latest
 * samples. They count as lost if the device is used later. */
static int keep_early(struct counters *c, struct source *s, const void *data, size_t size)
{
	if (s->early.size + size > EARLY_MAX_BYTES || early_bytes(c) + size > EARLY_ALL_BYTES)
		drop_early(s, s->early.size / 2 / sample_bytes(s) * sample_bytes(s));
	if (early_bytes(c) + size > EARLY_ALL_BYTES) {
		s->lost += size / sample_bytes(s);
		return 0;
	}
	buf_append(&s->early, data, size);
	return s->early.failed ? error_memory(NULL) : 0;
}

static int describe(struct counters *c)
{
	char text[32];

	if (c->has_meta)
		return 0;
	c->has_meta = true;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)c->interval_ns);
	return profile_set_meta(c->writer, META_COUNTERS, text);
}

/* From now on this device's samples and losses count, and those from before. */
static int begin_use(struct counters *c, struct source *s, uint32_t device)
{
	int error = 0;

	if (s->device)
		return 0;
	s->device = device;
	if (s->refusal)
		return refuse(c, s->refusal, s->result);
	if (s->counter_count)
		error = describe(c);
	error = error ?: write_samples(c, s, s->early.data, s->early.size);
	buf_release(&s->early);
	return error ?: profile_count_loss(c->writer, LOSS_COUNTS_DROPPED, s->lost);
}

/* --- messages ------------------------------------------------------------------------------ */

static int handle_device(struct counters *c, struct source *s, const void *message)
{
	struct counter_device m;

	if (s->described)
		return -EPROTO;
	memcpy(&m, message, sizeof(m));
	memcpy(s->uuid, m.uuid, sizeof(s->uuid));
	s->described = true;
	vec_foreach (used, &c->used)
		if (!memcmp(used->uuid, s->uuid, sizeof(s->uuid)))
			return begin_use(c, s, used->device);
	return 0;
}

static int handle_metric(struct counters *c, struct source *s, const void *message)
{
	struct profile_counter counter = {0};
	const struct counter_kind *kind;
	struct counter_metric m;
	const char *unit;
	int error;

	memcpy(&m, message, sizeof(m));
	kind = counter_row(nvidia_counters, m.kind);
	if (!kind || m.candidate >= COUNTER_CANDIDATES_MAX || !kind->candidates[m.candidate] ||
		s->counter_count >= COUNTER_KINDS_MAX || s->early.size || c->started)
		return -EPROTO;
	unit = counter_unit_name(kind->unit);
	error = profile_add_string(c->writer, kind->candidates[m.candidate],
		strlen(kind->candidates[m.candidate]), &counter.name);
	if (!error && *unit)
		error = profile_add_string(c->writer, unit, strlen(unit), &counter.unit);
	error = error ?: profile_add_counter(c->writer, &counter, &s->counters[s->counter_count]);
	s->counter_count++;
	return error ?: s->device ? describe(c) : 0;
}

/* Whether a sampler that trusts more may find what this one did not. */
static bool is_of_libraries(uint32_t refusal)
{
	return refusal == COUNTERS_NO_DRIVER || refusal == COUNTERS_NO_CUPTI ||
	       refusal == COUNTERS_NOT_TRUSTED;
}

/* The refusal of one device counts when the program uses the device. */
static int handle_refusal(struct counters *c, const void *message)
{
	struct counter_refused m;
	struct source *s;

	memcpy(&m, message, sizeof(m));
	if (!m.refusal || m.refusal >= COUNTERS_REFUSALS || m.head.device > COUNTER_DEVICES)
		return -EPROTO;
	if (m.head.device == COUNTER_DEVICES) {
		c->user_is_next = c->has_user && !c->as_user && is_of_libraries(m.refusal);
		return c->user_is_next ? 0 : refuse(c, m.refusal, m.result);
	}
	s = &c->sources[m.head.device];
	if (!s->described || s->refusal)
		return -EPROTO;
	s->refusal = m.refusal;
	s->result = m.result;
	return s->device ? refuse(c, m.refusal, m.result) : 0;
}

static int handle_samples(struct counters *c, struct source *s, const void *message, size_t size)
{
	const char *samples = (const char *)message + sizeof(struct counter_samples);
	struct counter_samples m;

	memcpy(&m, message, sizeof(m));
	size -= sizeof(m);
	if (!s->counter_count || m.metrics != s->counter_count || size % sample_bytes(s) ||
		m.count != size / sample_bytes(s))
		return -EPROTO;
	return s->device ? write_samples(c, s, samples, size) : keep_early(c, s, samples, size);
}

static int handle_lost(struct counters *c, struct source *s, const void *message)
{
	struct counter_lost m;

	memcpy(&m, message, sizeof(m));
	if (m.samples > LOST_MAX)
		return -EPROTO;
	if (s->device)
		return profile_count_loss(c->writer, LOSS_COUNTS_DROPPED, m.samples);
	s->lost += m.samples;
	return 0;
}

static int handle_end(struct counters *c)
{
	c->ended = c->stopped;
	return c->ended ? 0 : -EPROTO;
}

static int dispatch(struct counters *c, const void *message, size_t size)
{
	static const size_t sizes[] = {
		[COUNTER_DEVICE] = sizeof(struct counter_device),
		[COUNTER_METRIC] = sizeof(struct counter_metric),
		[COUNTER_REFUSED] = sizeof(struct counter_refused),
		[COUNTER_STARTED] = sizeof(struct counter_head),
		[COUNTER_SAMPLES] = sizeof(struct counter_samples),
		[COUNTER_LOST] = sizeof(struct counter_lost),
		[COUNTER_ENDED] = sizeof(struct counter_head),
	};
	struct counter_head head;
	struct source *s;

	if (size < sizeof(head))
		return -EPROTO;
	memcpy(&head, message, sizeof(head));
	if (!head.kind || head.kind > COUNTER_ENDED || size < sizes[head.kind] ||
		(head.kind != COUNTER_SAMPLES && size != sizes[head.kind]))
		return -EPROTO;
	if (head.kind == COUNTER_REFUSED)
		return handle_refusal(c, message);
	if (head.kind == COUNTER_STARTED) {
		c->started = true;
		return 0;
	}
	if (head.kind == COUNTER_ENDED)
		return handle_end(c);
	if (head.device >= COUNTER_DEVICES)
		return -EPROTO;
	s = &c->sources[head.device];
	if (head.kind == COUNTER_DEVICE)
		return handle_device(c, s, message);
	if (!s->described)
		return -EPROTO;
	if (head.kind == COUNTER_METRIC)
		return handle_metric(c, s, message);
	return head.kind == COUNTER_SAMPLES ? handle_samples(c, s, message, size)
					    : handle_lost(c, s, message);
}

int counters_handle(struct counters *c, const void *message, size_t size)
{
	int error = dispatch(c, message, size);

	return error == -EPROTO ? ended_early(c, "sent what makes no sense, and was ended") : error;
}

int counters_drain(struct counters *c)
{
	int error = 0;

	for (int n = 0; !error && c->socket >= 0 && n < MESSAGES_AT_ONCE; n++) {
		ssize_t got =
			recv(c->socket, c->message, sizeof(c->message), MSG_DONTWAIT | MSG_TRUNC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0)
			return ended_early(c, c->stopped ? "ended before it had told all"
							 : "ended before the recording did");
		error = (size_t)got > sizeof(c->message)
				? ended_early(c, "sent too much, and was ended")
				: counters_handle(c, c->message, (size_t)got);
	}
	return error;
}

int counters_use(struct counters *c, const uint8_t uuid[16], uint32_t device)
{
	struct used used = {.device = device};
	int error = 0;

	vec_foreach (it, &c->used)
		if (!memcmp(it->uuid, uuid, sizeof(used.uuid)))
			return 0;
	memcpy(used.uuid, uuid, sizeof(used.uuid));
	if (vec_push(&c->used, used))
		return error_memory(NULL);
	for (uint32_t n = 0; !error && n < COUNTER_DEVICES; n++)
		if (c->sources[n].described && !memcmp(c->sources[n].uuid, uuid, sizeof(used.uuid)))
			error = begin_use(c, &c->sources[n], device);
	return error;
}

/* --- the process --------------------------------------------------------------------------- */

/* Waits until it samples, or has reported why it does not. */
static int await_start(struct counters *c)
{
	uint64_t deadline_ns = clock_now_ns() + START_LIMIT_MS * NS_PER_MS;
	int error = 0;

	while (!error && c->socket >= 0 && !c->started) {
		struct pollfd p = {.fd = c->socket, .events = POLLIN};
		uint64_t now_ns = clock_now_ns();

		if (now_ns >= deadline_ns)
			return ended_early(c, "did not start in time");
		if (poll(&p, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1) > 0)
			error = counters_drain(c);
	}
	return error;
}

/* The sampler has a moment to leave the GPU as it was. */
static void reap(struct counters *c)
{
	uint64_t deadline_ns = clock_now_ns() + END_LIMIT_MS * NS_PER_MS;
	pid_t ended;

	while ((ended = waitpid(c->pid, NULL, WNOHANG)) == 0 && clock_now_ns() < deadline_ns)
		usleep(END_POLL_US);
	if (ended)
		return;
	kill(c->pid, SIGKILL);
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int start(struct counters *c, const struct counters_options *o, const struct user *user)
{
	const struct counter_process_options options = {
		.interval_ns = o->interval_ns, .environment = o->environment, .user = user};
	int error = counter_process_start(&options, &c->pid, &c->socket);

	return error ?: await_start(c);
}

static int start_as_user(struct counters *c, const struct counters_options *o)
{
	hang_up(c);
	reap(c);
	c->pid = 0;
	c->user_is_next = false;
	c->as_user = true;
	return start(c, o, o->user);
}

int counters_open_without_sampler(
	struct counters **ret, const struct counters_options *o, struct profile_writer *w)
{
	struct counters *c = calloc(1, sizeof(*c));

	if (!c)
		return error_memory(NULL);
	c->socket = -1;
	c->writer = w;
	c->interval_ns = o->interval_ns;
	c->has_user = o->user;
	c->start_ns = clock_now_ns();
	*ret = c;
	return 0;
}

int counters_open(struct counters **ret, const struct counters_options *o, struct profile_writer *w)
{
	struct counters *c;
	int error = counters_open_without_sampler(&c, o, w);

	if (error)
		return error;
	error = start(c, o, NULL);
	if (!error && c->user_is_next)
		error = start_as_user(c, o);
	if (error) {
		counters_close(c);
		return error;
	}
	*ret = c;
	return 0;
}

void counters_close(struct counters *c)
{
	if (!c)
		return;
	hang_up(c);
	if (c->pid)
		reap(c);
	for (uint32_t n = 0; n < COUNTER_DEVICES; n++)
		buf_release(&c->sources[n].early);
	vec_release(&c->used);
	buf_release(&c->lines);
	free(c);
}

int counters_fd(const struct counters *c)
{
	return c->socket;
}

void counters_stop(struct counters *c)
{
	c->stopped = true;
	if (c->socket >= 0)
		shutdown(c->socket, SHUT_WR);
}

int counters_finish(struct counters *c)
{
	int error = counters_drain(c);

	return error || c->socket < 0 ? error
				      : ended_early(c, "did not end in time, and was ended");
}

bool counters_are_live(const struct counters *c)
{
	return c->socket >= 0;
}

const char *counters_refusals(const struct counters *c)
{
	return buf_text(&c->lines);
}
