// SPDX-License-Identifier: MIT
/* With PERF_SAMPLE_TIME and sample_id_all every record ends in its time. */
#include "capture/perf_maps.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/cpus.h"
#include "capture/perf_ring.h"

#define BUFFER_BYTES ((size_t)128 << 10) /* a thousand mappings */

struct perf_maps {
	struct vec(struct perf_ring) buffers;
	uint8_t scratch[PERF_RECORD_BYTES];
};

/* PERF_RECORD_MMAP2 without its variable end. */
struct record_mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, size, offset;
	union {
		struct {
			uint32_t major, minor;
			uint64_t inode, inode_generation;
		};
		struct {
			uint8_t build_id_size;
			uint8_t reserved[3];
			uint8_t build_id[BUILD_ID_MAX];
		};
	};
	uint32_t protection, flags;
};

struct record_comm {
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct record_lost {
	struct perf_event_header header;
	uint64_t id, lost;
};

static uint64_t record_time(const void *record, size_t size)
{
	uint64_t time_ns;

	memcpy(&time_ns, (const uint8_t *)record + size - sizeof(time_ns), sizeof(time_ns));
	return time_ns;
}

static int decode_mmap2(const void *record, size_t size, struct changes *changes)
{
	const size_t ends = sizeof(struct record_mmap2) + sizeof(uint64_t);
	struct record_mmap2 m;
	struct change c = {.kind = CHANGE_MAP};

	if (size < ends)
		return 0;
	memcpy(&m, record, sizeof(m));
	c.time_ns = record_time(record, size);
	c.pid = m.pid;
	c.tid = m.tid;
	c.map = (struct mapped_file){.start = m.start, .end = m.start + m.size, .offset = m.offset};
	if (!(m.header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		c.map.device = makedev(m.major, m.minor);
		c.map.inode = m.inode;
	} else if (m.build_id_size <= BUILD_ID_MAX) {
		c.map.build_id_size = m.build_id_size;
		memcpy(c.map.build_id, m.build_id, m.build_id_size);
	}
	c.text = strndup((const char *)record + sizeof(m), size - ends);
	return c.text ? changes_add(changes, c) : -ENOMEM;
}

static int decode_comm(const void *record, size_t size, struct changes *changes)
{
	struct record_comm m;
	struct change c = {.kind = CHANGE_IMAGE};

	memcpy(&m, record, sizeof(m));
	if (!(m.header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;
	c.time_ns = record_time(record, size);
	c.pid = m.pid;
	c.tid = m.tid;
	return changes_add(changes, c);
}

int perf_maps_decode(const void *record, size_t size, struct changes *changes, uint64_t *lost)
{
	struct perf_event_header header;
	struct record_lost l;

	if (size < sizeof(header) + 2 * sizeof(uint64_t))
		return 0;
	memcpy(&header, record, sizeof(header));
	switch (header.type) {
	case PERF_RECORD_MMAP2:
		return decode_mmap2(record, size, changes);
	case PERF_RECORD_COMM:
		return decode_comm(record, size, changes);
	case PERF_RECORD_LOST:
		if (size >= sizeof(l)) {
			memcpy(&l, record, sizeof(l));
			*lost += l.lost;
		}
		return 0;
	default:
		return 0;
	}
}

static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = 1, /* new mappings are needed before their code is walked */
		.build_id = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EINVAL) {
		attr.build_id = 0; /* before 5.12 */
		fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int open_buffer(struct perf_maps *m, int cpu)
{
	struct perf_ring buffer = PERF_RING_NONE;
	int fd = open_event(cpu), error;

	if (fd < 0)
		return error_errno(fd, "cannot watch mappings on CPU %d", cpu);
	error = perf_ring_open(&buffer, fd, BUFFER_BYTES);
	if (!error && vec_push(&m->buffers, buffer) < 0) {
		perf_ring_close(&buffer);
		error = -ENOMEM;
	}
	return error ? error_errno(error, "cannot map a perf buffer of %zu KiB", BUFFER_BYTES >> 10)
		     : 0;
}

static int open_buffer_of(void *context, int cpu)
{
	return open_buffer(context, cpu);
}

int perf_maps_open(struct perf_maps **ret)
{
	struct perf_maps *m = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return error_errno(-ENOMEM, "cannot watch mappings");
	error = cpus_each_online(open_buffer_of, m);
	if (error) {
		perf_maps_close(m);
		return error;
	}
	*ret = m;
	return 0;
}

int perf_maps_start(struct perf_maps *m)
{
	vec_foreach (b, &m->buffers)
		if (ioctl(b->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
			return error_errno(-errno, "cannot watch mappings");
	return 0;
}

void perf_maps_close(struct perf_maps *m)
{
	if (!m)
		return;
	vec_foreach (b, &m->buffers)
		perf_ring_close(b);
	vec_release(&m->buffers);
	free(m);
}

static int read_buffer(
	struct perf_maps *m, const struct perf_ring *b, struct changes *changes, uint64_t *lost)
{
	uint64_t end = perf_ring_head(b), position = perf_ring_tail(b);
	const void *record;
	int error = 0;
	size_t size;

	while (!error && (record = perf_ring_record(b, position, end, m->scratch, &size))) {
		error = perf_maps_decode(record, size, changes, lost);
		position += size;
	}
	perf_ring_release(b, position);
	return error;
}

int perf_maps_read(struct perf_maps *m, struct changes *changes, uint64_t *lost)
{
	vec_foreach (b, &m->buffers) {
		int error = read_buffer(m, b, changes, lost);

		if (error)
			return error_errno(error, "cannot keep mapping events");
	}
	return 0;
}

int perf_maps_each_fd(const struct perf_maps *m, int (*add)(void *context, int fd), void *context)
{
	vec_foreach (b, &m->buffers) {
		int error = add(context, b->fd);

		if (error)
			return error;
	}
	return 0;
}
