// SPDX-License-Identifier: MIT
/*
 * The buffers are rings of 2^n pages behind a page of positions (linux/perf_event.h); a record may
 * wrap and is then put together in `scratch`. With PERF_SAMPLE_TIME and sample_id_all every record
 * ends in its time.
 */
#include "capture/perf_maps.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "capture/cpus.h"

#define BUFFER_BYTES ((size_t)128 << 10) /* a thousand mappings */

struct perf_buffer {
	int fd;
	struct perf_event_mmap_page *head;
	const uint8_t *data;
};

struct perf_maps {
	size_t page_size;
	struct vec(struct perf_buffer) buffers;
	uint8_t scratch[65536]; /* a record's size has 16 bits */
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
	struct perf_buffer b = {.fd = open_event(cpu)};
	void *p;

	if (b.fd < 0)
		return error_errno(b.fd, "cannot watch mappings on CPU %d", cpu);
	p = mmap(NULL, m->page_size + BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b.fd, 0);
	if (p == MAP_FAILED || vec_reserve(&m->buffers, 1) < 0) {
		int error = p == MAP_FAILED ? -errno : -ENOMEM;

		if (p != MAP_FAILED)
			munmap(p, m->page_size + BUFFER_BYTES);
		close(b.fd);
		return error_errno(
			error, "cannot map a perf buffer of %zu KiB", BUFFER_BYTES >> 10);
	}
	b.head = p;
	b.data = (const uint8_t *)p + m->page_size;
	m->buffers.items[m->buffers.count++] = b;
	return 0;
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
	m->page_size = (size_t)sysconf(_SC_PAGESIZE);
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
	vec_foreach (b, &m->buffers) {
		munmap(b->head, m->page_size + BUFFER_BYTES);
		close(b->fd);
	}
	vec_release(&m->buffers);
	free(m);
}

/* The bytes at `position`, put together when they wrap. */
static const void *bytes_at(
	struct perf_maps *m, const struct perf_buffer *b, uint64_t position, size_t size)
{
	size_t at = position & (BUFFER_BYTES - 1);

	if (at + size <= BUFFER_BYTES)
		return b->data + at;
	memcpy(m->scratch, b->data + at, BUFFER_BYTES - at);
	memcpy(m->scratch + (BUFFER_BYTES - at), b->data, size - (BUFFER_BYTES - at));
	return m->scratch;
}

static int read_buffer(
	struct perf_maps *m, const struct perf_buffer *b, struct changes *changes, uint64_t *lost)
{
	uint64_t end = __atomic_load_n(&b->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t position = b->head->data_tail;
	int error = 0;

	while (!error && position < end) {
		const struct perf_event_header *header =
			bytes_at(m, b, position, sizeof(struct perf_event_header));
		size_t size = header->size;

		if (size < sizeof(*header))
			break;
		error = perf_maps_decode(bytes_at(m, b, position, size), size, changes, lost);
		position += size;
	}
	__atomic_store_n(&b->head->data_tail, position, __ATOMIC_RELEASE);
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
