// SPDX-License-Identifier: MIT
/*
 * An event that is inherited can have a ring only where it is bound to a CPU, too: so each thread
 * that is there at the beginning has an event for each CPU. All events of a CPU write into one
 * ring, that of an event of our own which never counts. What the kernel lets a user lock for such
 * rings is 516 KiB a CPU (kernel.perf_event_mlock_kb): one ring of 512 KiB.
 *
 * A record is as large as the copy of the stack may get, however little is copied. So where more
 * samples are wanted, copies are smaller: a ring has room for RING_TIME_NS.
 *
 * With sample_id_all each record ends in pid, tid and time.
 */
#include "capture/perf_samples.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "base/map.h"
#include "capture/cpus.h"
#include "capture/perf_maps.h"
#include "capture/perf_ring.h"
#include "capture/running.h"

#define RING_BYTES_MAX	((size_t)512 << 10)
#define RING_BYTES_MIN	((size_t)128 << 10)
#define RING_TIME_NS	(30 * NS_PER_MS)
#define COPY_BYTES_MAX	((size_t)60 << 10)
#define COPY_BYTES_MIN	((size_t)2 << 10)
#define SEARCHES_MAX	16 /* for threads of a process that makes more and more of them */
#define PARANOID_PATH	"/proc/sys/kernel/perf_event_paranoid"
#define PARANOID_ALLOWS 2 /* what the kernel begins with; higher values are of distributions */

/* Where the kernel puts user registers (asm/perf_regs.h), as DWARF numbers them. */
#if defined(__x86_64__)
#define WANTED_REGISTERS 0xff01ffull
static const uint8_t by_dwarf[BPF_REGISTERS] = {
	0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16};
#define REGISTER_PC 8
#define REGISTER_SP 7
#define REGISTER_FP 6
#define REGISTERS   17
#else
#define WANTED_REGISTERS 0
static const uint8_t by_dwarf[BPF_REGISTERS];
#define REGISTER_PC	 0
#define REGISTER_SP	 0
#define REGISTER_FP	 0
#define REGISTERS	 1
#endif

struct cpu_ring {
	struct perf_ring ring;
	int cpu;
	uint64_t changes_at; /* what comes before was searched for changes */
	uint64_t samples_at; /* and for samples */
	uint64_t snapshot;
	uint64_t next_ns;  /* the time of the sample at samples_at; 0: not looked at yet */
	size_t next_bytes; /* its record; 0: there is none before the snapshot */
};

struct perf_samples {
	uint64_t period_ns;
	size_t ring_bytes;
	size_t copy_bytes;
	bool runs; /* events are enabled by perf_samples_start */
	struct vec(struct cpu_ring) rings;
	struct vec(int) events;
	struct cpu_ring *present; /* the latest sample's, whose record is still in use */
	uint8_t scratch[PERF_RECORD_BYTES];
};

struct record_sample {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t abi;
	uint64_t registers[REGISTERS];
	uint64_t copy_bytes; /* that many follow, then how many of them are good */
};

struct record_end {
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct record_task {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time_ns;
};

struct record_read {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t count;
	struct record_end end;
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
};

/* --- records ---------------------------------------------------------------------------------- */

static void use_registers(const struct record_sample *r, struct bpf_raw_stack *ret)
{
	*ret = (struct bpf_raw_stack){.pc = r->registers[REGISTER_PC],
		.sp = r->registers[REGISTER_SP],
		.fp = r->registers[REGISTER_FP],
		.exact = 1};
	for (int i = 0; i < BPF_REGISTERS; i++)
		ret->registers[i] = r->registers[by_dwarf[i]];
}

/* Programs of 32 bits are samples without a stack, which the walker supports as little. */
bool perf_samples_decode(const void *record, size_t size, struct perf_sample *ret)
{
	const size_t bare = offsetof(struct record_sample, registers);
	struct record_sample r;
	uint64_t good;

	if (size < bare)
		return false;
	memcpy(&r, record, size < sizeof(r) ? size : sizeof(r));
	if (r.header.type != PERF_RECORD_SAMPLE)
		return false;
	*ret = (struct perf_sample){.time_ns = r.time_ns, .pid = r.pid, .tid = r.tid};
	if (r.abi != PERF_SAMPLE_REGS_ABI_64)
		return r.abi <= PERF_SAMPLE_REGS_ABI_64;
	if (size < sizeof(r) || r.copy_bytes > size - sizeof(r))
		return false;
	use_registers(&r, &ret->start);
	if (!r.copy_bytes)
		return true;
	if (size - sizeof(r) - r.copy_bytes < sizeof(good))
		return false;
	memcpy(&good, (const uint8_t *)record + sizeof(r) + r.copy_bytes, sizeof(good));
	if (good > r.copy_bytes)
		return false;
	ret->memory = (const uint8_t *)record + sizeof(r);
	ret->memory_size = good & ~(uint64_t)7;
	ret->cut = good == r.copy_bytes;
	return true;
}

/* A new process or thread, or the end of a thread. */
static int decode_task(const void *record, size_t size, bool end, struct changes *changes)
{
	struct record_task t;

	if (size < sizeof(t))
		return 0;
	memcpy(&t, record, sizeof(t));
	return changes_add(changes, (struct change){.time_ns = t.time_ns,
					    .kind = end			? CHANGE_THREAD_END
						    : t.pid == t.parent ? TASK_THREAD
									: TASK_FORK,
					    .pid = t.pid,
					    .tid = t.tid,
					    .parent = t.parent});
}

/* How long a thread ran on the CPU of the event. */
static int decode_read(const void *record, size_t size, struct changes *changes)
{
	struct record_read r;

	if (size < sizeof(r))
		return 0;
	memcpy(&r, record, sizeof(r));
	return !r.count ? 0
			: changes_add(changes, (struct change){.time_ns = r.end.time_ns,
						       .kind = CHANGE_THREAD_RAN,
						       .pid = r.pid,
						       .tid = r.tid,
						       .run_ns = r.count});
}

/* Another name, or another program. */
static int decode_name(const void *record, size_t size, struct changes *changes)
{
	struct change c = {.kind = TASK_RENAME};
	struct record_comm m;
	struct record_end end;

	if (size < sizeof(m) + sizeof(end))
		return 0;
	memcpy(&m, record, sizeof(m));
	memcpy(&end, (const uint8_t *)record + size - sizeof(end), sizeof(end));
	if (m.header.misc & PERF_RECORD_MISC_COMM_EXEC)
		c.kind = TASK_EXEC;
	c.time_ns = end.time_ns;
	c.pid = m.pid;
	c.tid = m.tid;
	snprintf(c.comm, sizeof(c.comm), "%.*s", (int)(size - sizeof(m) - sizeof(end)),
		(const char *)record + sizeof(m));
	return changes_add(changes, c);
}

int perf_samples_decode_change(
	const void *record, size_t size, struct changes *changes, uint64_t *lost)
{
	struct perf_event_header header;
	int error;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, record, sizeof(header));
	switch (header.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return decode_task(record, size, header.type == PERF_RECORD_EXIT, changes);
	case PERF_RECORD_READ:
		return decode_read(record, size, changes);
	case PERF_RECORD_COMM: /* with an exec it is a CHANGE_IMAGE, too */
		error = perf_maps_decode(record, size, changes, lost);
		return error ?: decode_name(record, size, changes);
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_LOST:
		return perf_maps_decode(record, size, changes, lost);
	default:
		return 0;
	}
}

/* --- events ----------------------------------------------------------------------------------- */

static struct perf_event_attr sampling(const struct perf_samples *s)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = s->period_ns,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = WANTED_REGISTERS,
		.sample_stack_user = (uint32_t)s->copy_bytes,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
		.inherit = 1,
		.inherit_stat = 1,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.wakeup_events = 1,
	};
}

/* The descriptor or -errno. */
static int open_event(struct perf_event_attr *attr, pid_t tid, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EINVAL && attr->build_id) {
		attr->build_id = 0; /* before 5.12 */
		fd = (int)syscall(SYS_perf_event_open, attr, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static size_t copy_bytes(const struct perf_samples *s)
{
	size_t room = s->ring_bytes / (RING_TIME_NS / s->period_ns + 1) & ~(size_t)7;

	if (room > COPY_BYTES_MAX)
		return COPY_BYTES_MAX;
	return room > COPY_BYTES_MIN ? room : COPY_BYTES_MIN;
}

/* Of an event that never counts. */
static int open_ring(void *context, int cpu)
{
	struct perf_samples *s = context;
	struct perf_event_attr attr = sampling(s);
	struct cpu_ring r = {.ring = PERF_RING_NONE, .cpu = cpu};
	int fd, error;

	attr.config = PERF_COUNT_SW_DUMMY;
	attr.sample_period = attr.inherit = attr.inherit_stat = 0;
	attr.mmap = attr.mmap2 = attr.build_id = attr.comm = attr.comm_exec = attr.task = 0;
	fd = open_event(&attr, 0, cpu);
	error = fd < 0 ? fd : perf_ring_open(&r.ring, fd, s->ring_bytes);
	if (!error && vec_push(&s->rings, r) < 0) {
		perf_ring_close(&r.ring);
		error = -ENOMEM;
	}
	return error;
}

static void close_rings(struct perf_samples *s)
{
	vec_foreach (r, &s->rings)
		perf_ring_close(&r->ring);
	s->rings.count = 0;
}

/* Other recordings of this user may have locked a part of what there is. */
static int open_rings(struct perf_samples *s)
{
	int error = -EPERM;

	for (s->ring_bytes = RING_BYTES_MAX; error == -EPERM && s->ring_bytes >= RING_BYTES_MIN;) {
		close_rings(s);
		s->copy_bytes = copy_bytes(s);
		error = cpus_each_online(open_ring, s);
		if (error == -EPERM)
			s->ring_bytes /= 2;
	}
	return error;
}

static bool is_filtered(void)
{
	struct buf text = BUF_INIT;
	bool filtered = !io_read_file("/proc/self/status", 65536, &text);

	buf_puts(&text, "");
	filtered = filtered && strstr(buf_text(&text), "\nSeccomp:\t2");
	buf_release(&text);
	return filtered;
}

static long paranoid(void)
{
	struct buf text = BUF_INIT;
	long level =
		io_read_file(PARANOID_PATH, 64, &text) ? -1 : strtol(buf_text(&text), NULL, 10);

	buf_release(&text);
	return level;
}

static int explain_refusal(int error)
{
	if ((error == -EACCES || error == -EPERM) && paranoid() > PARANOID_ALLOWS)
		return error_set(error,
			"kernel.perf_event_paranoid is %ld, which keeps perf_event_open for root: "
			"'sysctl kernel.perf_event_paranoid=2' allows it for programs of one's own",
			paranoid());
	if ((error == -EACCES || error == -EPERM || error == -ENOSYS) && is_filtered())
		return error_set(error,
			"a seccomp filter, as containers have it, refuses perf_event_open: run the "
			"container with a profile that allows it (seccomp=unconfined allows all)");
	return error_errno(error, "perf_event_open refuses");
}

/* Whether a program of ours may be sampled. */
static int try_event(const struct perf_samples *s)
{
	struct perf_event_attr attr = sampling(s);
	int fd = WANTED_REGISTERS ? open_event(&attr, 0, -1) : -EOPNOTSUPP;

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int perf_samples_open(struct perf_samples **ret, unsigned int hz)
{
	struct perf_samples *s = calloc(1, sizeof(*s));
	int error;

	if (!s)
		return error_memory("CPU samples");
	s->period_ns = NS_PER_SECOND / hz;
	s->copy_bytes = COPY_BYTES_MIN;
	error = try_event(s);
	if (error) {
		perf_samples_close(s);
		return explain_refusal(error);
	}
	error = open_rings(s);
	if (error) {
		perf_samples_close(s);
		return error_errno(
			error, "cannot map perf buffers of %zu KiB a CPU", RING_BYTES_MIN >> 10);
	}
	*ret = s;
	return 0;
}

static void close_events(struct perf_samples *s)
{
	vec_foreach (fd, &s->events)
		close(*fd);
	vec_release(&s->events);
}

void perf_samples_close(struct perf_samples *s)
{
	if (!s)
		return;
	close_events(s);
	close_rings(s);
	vec_release(&s->rings);
	free(s);
}

uint64_t perf_samples_period_ns(const struct perf_samples *s)
{
	return s->period_ns;
}

/* --- whom ------------------------------------------------------------------------------------- */

static int track_on(
	struct perf_samples *s, const struct cpu_ring *r, struct perf_event_attr *attr, pid_t tid)
{
	int fd = open_event(attr, tid, r->cpu), error;

	/* A CPU that was switched off meanwhile runs nobody. */
	if (fd == -ENODEV)
		return 0;
	if (fd < 0)
		return fd;
	error = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->ring.fd) ? -errno : 0;
	if (!error && vec_push(&s->events, fd) < 0)
		error = -ENOMEM;
	if (error)
		close(fd);
	return error;
}

static int track_thread(struct perf_samples *s, pid_t tid, bool runs)
{
	struct perf_event_attr attr = sampling(s);
	int error = 0;

	attr.enable_on_exec = !runs;
	vec_foreach (r, &s->rings)
		error = error ?: track_on(s, r, &attr, tid);
	return error;
}

struct thread_list {
	struct perf_samples *s;
	struct map known;
	bool more;
};

static int track_if_new(void *context, uint32_t tid)
{
	struct thread_list *t = context;
	int error;

	if (map_get(&t->known, tid))
		return 0;
	error = track_thread(t->s, (pid_t)tid, true);
	if (error)
		return error == -ESRCH ? 0 : error;
	t->more = true;
	return map_put(&t->known, tid, 1);
}

/* Those that its threads make from now on are followed without this. */
static int track_threads(struct perf_samples *s, pid_t pid, uint32_t *ret_threads)
{
	struct thread_list t = {.s = s, .more = true};
	int error = 0;

	for (int i = 0; !error && t.more && i < SEARCHES_MAX; i++) {
		t.more = false;
		error = running_each_thread((uint32_t)pid, track_if_new, &t);
	}
	*ret_threads = (uint32_t)t.known.count;
	if (!error && !t.known.count)
		error = -ESRCH;
	map_release(&t.known);
	return error;
}

int perf_samples_track(struct perf_samples *s, pid_t pid, bool runs, uint32_t *ret_threads)
{
	int error;

	*ret_threads = 1;
	s->runs |= runs;
	error = runs ? track_threads(s, pid, ret_threads) : track_thread(s, pid, false);
	return error ? error_errno(error, "cannot sample process %d", (int)pid) : 0;
}

/* Those of a program that has not begun wait for its exec. */
int perf_samples_start(struct perf_samples *s)
{
	if (!s->runs)
		return 0;
	vec_foreach (fd, &s->events)
		if (ioctl(*fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return error_errno(-errno, "cannot sample processes");
	return 0;
}

int perf_samples_stop(struct perf_samples *s)
{
	vec_foreach (fd, &s->events)
		if (ioctl(*fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
			return error_errno(-errno, "cannot end the samples");
	return 0;
}

uint64_t perf_samples_run_ns(const struct perf_samples *s)
{
	uint64_t sum_ns = 0, run_ns;

	vec_foreach (fd, &s->events)
		if (read(*fd, &run_ns, sizeof(run_ns)) == sizeof(run_ns))
			sum_ns += run_ns;
	return sum_ns;
}

/* --- draining --------------------------------------------------------------------------------- */

void perf_samples_snapshot(struct perf_samples *s)
{
	vec_foreach (r, &s->rings)
		r->snapshot = perf_ring_head(&r->ring);
}

static int gather(
	struct perf_samples *s, struct cpu_ring *r, struct changes *changes, uint64_t *lost)
{
	uint64_t end = perf_ring_head(&r->ring);
	const void *record;
	int error = 0;
	size_t size;

	while (!error &&
		(record = perf_ring_record(&r->ring, r->changes_at, end, s->scratch, &size))) {
		error = perf_samples_decode_change(record, size, changes, lost);
		r->changes_at += size;
	}
	return error;
}

int perf_samples_gather(struct perf_samples *s, struct changes *changes, uint64_t *lost)
{
	vec_foreach (r, &s->rings) {
		int error = gather(s, r, changes, lost);

		if (error)
			return error_errno(error, "cannot keep process events");
	}
	return 0;
}

/* Looks for the ring's next sample before the snapshot. */
static void find_next(struct perf_samples *s, struct cpu_ring *r)
{
	const void *record;
	struct perf_sample sample;
	size_t size;

	while ((record = perf_ring_record(
			&r->ring, r->samples_at, r->snapshot, s->scratch, &size))) {
		if (perf_samples_decode(record, size, &sample)) {
			r->next_ns = sample.time_ns;
			r->next_bytes = size;
			return;
		}
		r->samples_at += size;
		perf_ring_release(&r->ring, r->samples_at);
	}
}

static void drop_present(struct perf_samples *s)
{
	struct cpu_ring *r = s->present;

	if (!r)
		return;
	r->samples_at += r->next_bytes;
	r->next_bytes = 0;
	perf_ring_release(&r->ring, r->samples_at);
	s->present = NULL;
}

bool perf_samples_next(struct perf_samples *s, struct perf_sample *ret)
{
	const void *record;
	size_t size;

	drop_present(s);
	vec_foreach (r, &s->rings) {
		if (!r->next_bytes)
			find_next(s, r);
		if (r->next_bytes && (!s->present || r->next_ns < s->present->next_ns))
			s->present = r;
	}
	if (!s->present)
		return false;
	record = perf_ring_record(
		&s->present->ring, s->present->samples_at, s->present->snapshot, s->scratch, &size);
	if (!record || !perf_samples_decode(record, size, ret))
		return false;
	ret->cpu = (uint32_t)s->present->cpu;
	return true;
}

int perf_samples_each_fd(
	const struct perf_samples *s, int (*add)(void *context, int fd), void *context)
{
	int error = 0;

	vec_foreach (r, &s->rings)
		error = error ?: add(context, r->ring.fd);
	return error;
}
