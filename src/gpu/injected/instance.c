// SPDX-License-Identifier: MIT
/*
 * A connection's life.
 *
 * It is over when the library reports so (DONE, QUIET), or when the socket hangs up. A hang-up
 * nearly always means that the process has ended or runs another program now. But programs that
 * close every descriptor they did not open themselves hang up too, while their library goes on. It
 * shows that by repeating our heartbeat, and only when it stops doing so the instance is over. The
 * last snapshot is made after that was decided, so nothing that was written before is missed.
 */
#include "gpu/injected/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/io.h"
#include "gpu/code_places.h"
#include "gpu/injected/descriptors.h"

#define DEFAULT_RING_BYTES (4u << 20)
#define GREETING_NS                                                                                \
	(3 * NS_PER_SECOND) /* patience with a client that sends nothing; a library's is shorter */
#define SILENCE_NS	(5 * NS_PER_SECOND) /* patience with a process that hung up and lives */
#define HOLE_NS		(5 * NS_PER_SECOND) /* patience with a writer that is not done */
#define REPORTED_MAX_NS (1ull << 50)
#define RELEASE_SLOTS	1024
#define FINALIZED_TOLD	16		 /* processes, one by one */
#define LATE_TOLD	16		 /* so too */
#define LOOK_AT_CLOCK	64		 /* records */
#define AWAY_NS		(50 * NS_PER_MS) /* between drains when we are not busy */

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u /* Linux 6.3 */
#endif

int instance_open(struct instance **ret, struct injected *s, int fd, uint32_t pid)
{
	struct instance *i = calloc(1, sizeof(*i));

	if (!i) {
		close(fd);
		return error_memory(NULL);
	}
	i->injected = s;
	i->phase = INSTANCE_GREETING;
	i->fd = fd;
	i->pid = pid;
	i->uid = s->options.target_uid;
	i->opened_ns = clock_now_ns();
	*ret = i;
	return 0;
}

void instance_hang_up(struct instance *i)
{
	if (i->fd >= 0)
		descriptors_close(i->injected, i->fd);
	i->fd = -1;
}

void instance_free(struct instance *i)
{
	if (!i)
		return;
	map_remove(&i->injected->by_number, i->number, NULL);
	instance_hang_up(i);
	if (i->memory)
		munmap(i->memory, ring_bytes(i->slots));
	i->injected->ring_bytes -= i->ring_bytes;
	budget_return(i, BUDGET_KEPT_STACKS);
	namespace_release(&i->numbers);
	walked_release(i);
	markers_release(i);
	stalls_decode_release(i);
	vec_release(&i->strings);
	vec_release(&i->ops);
	map_release(&i->threads);
	vec_release(&i->contexts);
	map_release(&i->context_numbers);
	free(i);
}

static uint32_t slots_of(size_t bytes)
{
	uint32_t slots = WIRE_MIN_SLOTS;

	while (slots < WIRE_MAX_SLOTS && (size_t)slots * WIRE_SLOT_BYTES < bytes)
		slots *= 2;
	return slots;
}

static int create_memory(size_t size)
{
	int fd = memfd_create("xpuprof-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("xpuprof-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return error_errno(-errno, "cannot create a ring");
	if (ftruncate(fd, (off_t)size) ||
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		int error = error_errno(-errno, "cannot create a ring of %zu bytes", size);

		close(fd);
		return error;
	}
	return fd;
}

static void write_control(struct instance *i)
{
	const struct gpu_options *o = &i->injected->options;
	struct wire_control *c = i->memory;

	c->magic = WIRE_MAGIC;
	c->version = WIRE_VERSION;
	c->slots = i->slots;
	c->instance = i->number;
	/* The marker's probes are in the library's file: one that was joined has a copy. */
	c->marker = i->joined ? 0 : o->marker;
	c->queue_times = o->queue_times;
	c->walk = o->walk;
	c->syncs = o->syncs;
	c->stalls = o->stalls;
	c->stall_period = o->stall_period;
	c->overhead = o->overhead;
	c->times_one_in = o->times_one_in;
	c->finalize = o->finalize;
	c->markers = o->markers;
	c->command = i->injected->stopped ? WIRE_COMMAND_STOP : WIRE_COMMAND_NONE;
}

/* Of the next ring: as wanted, but not much of what all may have. */
static uint32_t next_slots(const struct injected *s)
{
	uint64_t left = s->ring_bytes < RINGS_MAX_BYTES ? RINGS_MAX_BYTES - s->ring_bytes : 0;
	uint32_t slots =
		slots_of(s->options.ring_bytes ? s->options.ring_bytes : DEFAULT_RING_BYTES);

	while (slots > WIRE_MIN_SLOTS && (uint64_t)slots * WIRE_SLOT_BYTES > left / 8)
		slots /= 2;
	return slots;
}

/* The mapped ring: its memfd, or -errno. */
static int create_ring(struct instance *i)
{
	int fd;

	i->slots = next_slots(i->injected);
	fd = create_memory(ring_bytes(i->slots));
	if (fd < 0)
		return fd;
	i->memory = mmap(NULL, ring_bytes(i->slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (i->memory == MAP_FAILED) {
		i->memory = NULL;
		close(fd);
		return error_errno(-ENOMEM, "cannot map a ring of %zu bytes", ring_bytes(i->slots));
	}
	ring_reader_init(&i->reader, i->memory, i->slots);
	write_control(i);
	i->ring_bytes = (uint64_t)i->slots * WIRE_SLOT_BYTES;
	i->injected->ring_bytes += i->ring_bytes;
	return fd;
}

/* fd -1: none. False when the client is gone, or does not read what it was sent. */
static bool send_with_descriptor(int socket, const void *message, size_t size, int fd)
{
	struct iovec part = {(void *)(uintptr_t)message, size};
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *first = &control.header;

		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		first->cmsg_level = SOL_SOCKET;
		first->cmsg_type = SCM_RIGHTS;
		first->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(first), &fd, sizeof(int));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* memfd -1: a refusal. */
static bool send_welcome(const struct instance *i, int memfd)
{
	struct wire_welcome welcome = {.magic = WIRE_MAGIC, .version = WIRE_VERSION};

	return send_with_descriptor(i->fd, &welcome, sizeof(welcome), memfd);
}

static void give_up(struct instance *i)
{
	instance_hang_up(i);
	i->phase = INSTANCE_ENDED;
}

void instance_turn_away(struct instance *i)
{
	record_count_loss(i, LOSS_GPU_STRANGERS, 1);
	give_up(i);
}

/* A process that gets no ring runs without us, and counts as one that never connected. */
static void refuse(struct instance *i)
{
	send_welcome(i, -1);
	give_up(i);
	i->number = 0;
}

static int note_connected(struct instance *i)
{
	uint64_t *state = map_get(&i->injected->connected, i->process);

	if (!state)
		return map_put(&i->injected->connected, i->process, PROCESS_CONNECTED);
	*state &= ~(uint64_t)PROCESS_TAKEN;
	return 0;
}

/* The answer to a proper hello. */
static int welcome(struct instance *i)
{
	struct injected *s = i->injected;
	int memfd, error = tasks_process(s->shared->tasks, i->pid, &i->process);

	if (error)
		return error;
	if (!peer_is_there(i->fd, i->pid)) {
		instance_turn_away(i);
		return 0;
	}
	i->leaving = !peer_may_see_memory(i);
	i->number = s->shared->last_instance + 1;
	memfd = create_ring(i);
	if (memfd < 0) {
		refuse(i);
		return 0;
	}
	s->shared->last_instance = i->number;
	if (note_connected(i) || map_put(&s->by_number, i->number, (uintptr_t)i)) {
		close(memfd);
		return error_memory(NULL);
	}
	i->phase = INSTANCE_LIVE;
	if (s->options.images)
		descriptors_begin(s);
	i->echo_ns = clock_now_ns();
	if (!send_welcome(i, memfd))
		instance_hang_up(i);
	close(memfd);
	instance_send_chunks(i);
	instance_send_space(i, spaces_of(s, i->pid));
	return 0;
}

static void handle_hello(struct instance *i, const struct wire_hello *hello, size_t size)
{
	uint32_t pid;

	if (size != sizeof(*hello) || hello->magic != WIRE_MAGIC)
		instance_turn_away(i);
	else if (hello->version != WIRE_VERSION)
		refuse(i);
	else if (!namespace_inner_pid(i->pid, &pid, &i->namespaced) || hello->pid != pid)
		instance_turn_away(i);
	else
		i->phase = INSTANCE_WAITING;
}

static void greet(struct instance *i)
{
	struct wire_hello hello = {0};
	int fd;
	ssize_t n = message_receive(i, &hello, sizeof(hello), &fd);

	if (fd >= 0)
		close(fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		give_up(i);
	else if (i->phase == INSTANCE_GREETING)
		handle_hello(i, &hello, (size_t)n);
}

int instance_handle_socket(struct instance *i)
{
	if (i->phase != INSTANCE_GREETING && i->phase != INSTANCE_WAITING)
		return messages_receive(i);
	greet(i);
	return 0;
}

/* True also when the process is not reaped yet. */
static bool has_ended(uint32_t pid)
{
	struct buf stat = BUF_INIT;
	const char *state;
	char path[32];
	bool ended;

	if (kill((pid_t)pid, 0) && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	state = io_read_file(path, 4096, &stat) ? NULL : strrchr(buf_text(&stat), ')');
	ended = state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3));
	buf_release(&stat);
	return ended;
}

/* A process that hung up: true while its library still answers. */
static bool answers(struct instance *i)
{
	uint32_t echo = __atomic_load_n(&i->reader.ring.control->echo, __ATOMIC_RELAXED);
	uint64_t now = clock_now_ns();

	if (has_ended(i->pid))
		return false;
	if (echo != i->echo) {
		i->echo = echo;
		i->echo_ns = now;
	}
	return now - i->echo_ns < SILENCE_NS;
}

static bool says_end(const struct instance *i)
{
	uint32_t state = __atomic_load_n(&i->reader.ring.control->state, __ATOMIC_ACQUIRE);

	return state == WIRE_DONE || state == WIRE_QUIET;
}

static bool is_over(struct instance *i)
{
	return says_end(i) || (i->fd < 0 && (i->missing || !answers(i)));
}

void instance_snapshot(struct instance *i, bool force)
{
	if (i->phase == INSTANCE_GREETING && clock_now_ns() - i->opened_ns > GREETING_NS)
		instance_turn_away(i);
	else if (force && i->phase < INSTANCE_LIVE)
		give_up(i);
	if (i->phase != INSTANCE_LIVE)
		return;
	if (force || is_over(i))
		i->phase = INSTANCE_LAST;
	__atomic_fetch_add(&i->reader.ring.control->heartbeat, 1, __ATOMIC_RELAXED);
	i->space_asked = __atomic_load_n(&i->reader.ring.control->space_asked, __ATOMIC_ACQUIRE);
	if (ring_snapshot(&i->reader))
		i->corrupt = true;
}

/* It only grows. More than REPORTED_MAX_NS at once is no time that any machine's GPUs can have
 * worked. */
static void add_reported(struct instance *i)
{
	uint64_t now_ns = __atomic_load_n(&i->reader.ring.control->reported_ns, __ATOMIC_RELAXED);

	if (now_ns < i->reported_ns || now_ns - i->reported_ns > REPORTED_MAX_NS) {
		i->corrupt = true;
		return;
	}
	i->injected->reported_ns += now_ns - i->reported_ns;
	i->reported_ns = now_ns;
}

/* The most that can be lost at once, of each kind. Sampled at the shortest periods, a GPU makes
 * thousands of millions of samples a second. */
static uint64_t lost_max(enum wire_count what)
{
	return what == WIRE_LOST_STALLS ? WIRE_SAMPLES_MAX : UINT32_MAX;
}

static void count_counters(struct instance *i)
{
	static const enum profile_loss losses[WIRE_COUNTS] = {
		[WIRE_LOST_CALLS] = LOSS_GPU_RING_FULL,
		[WIRE_LOST_WORK] = LOSS_GPU_RING_FULL,
		[WIRE_LOST_NODES] = LOSS_GPU_RING_FULL,
		[WIRE_DROPPED_BY_TRACER] = LOSS_GPU_DROPPED,
		[WIRE_UNKNOWN] = LOSS_GPU_UNKNOWN,
		[WIRE_LOST_STALLS] = LOSS_STALLS_RING_FULL,
		[WIRE_LOST_IMAGES] = LOSS_IMAGES_LOST,
		[WIRE_LOST_EVENT_RECORDS] = LOSS_GPU_RING_FULL,
		[WIRE_UNTIMED] = LOSS_GPU_UNTIMED,
		[WIRE_LOST_MARKERS] = LOSS_GPU_RING_FULL,
		[WIRE_UNKNOWN_LISTS] = LOSS_GPU_LISTS,
	};

	for (enum wire_count n = 0; n < WIRE_COUNTS; n++) {
		uint64_t now =
			__atomic_load_n(&i->reader.ring.control->counts[n], __ATOMIC_RELAXED);

		if (now < i->counted[n] || now - i->counted[n] > lost_max(n)) {
			i->corrupt = true;
			return;
		}
		record_count_loss(i, losses[n], now - i->counted[n]);
		i->counted[n] = now;
	}
}

/* True when the hole at the tail was given up. */
static bool pass_hole(struct instance *i, uint64_t now_ns)
{
	if (i->hole != i->reader.tail + 1) {
		i->hole = i->reader.tail + 1;
		i->hole_ns = now_ns;
	}
	if (i->phase != INSTANCE_LAST && now_ns - i->hole_ns < HOLE_NS)
		return false;
	ring_skip_hole(&i->reader);
	stalls_window_lost(i);
	record_count_loss(i, LOSS_GPU_ABANDONED, 1);
	return true;
}

static bool is_late(const struct instance *i)
{
	return clock_now_ns() >= i->injected->deadline_ns;
}

/* Reads up to the snapshot, to a hole that has to be waited for, or for as long as a drain may
 * take. */
static int read_ring(struct instance *i, uint64_t now_ns)
{
	uint64_t record[WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES / sizeof(uint64_t)];
	uint64_t released = i->reader.tail;

	for (unsigned int count = 1;; count++) {
		int size, error;

		if (count % LOOK_AT_CLOCK == 0 && is_late(i))
			return 0;
		size = ring_read(&i->reader, record);
		if (size < 0)
			return size;
		if (!size && (!ring_at_hole(&i->reader) || !pass_hole(i, now_ns)))
			return 0;
		if (!size)
			continue;
		error = record_decode(i, record, (size_t)size, now_ns);
		if (error)
			return error;
		if (i->reader.tail - released >= RELEASE_SLOTS) {
			ring_release(&i->reader);
			released = i->reader.tail;
		}
	}
}

/* Another tool is in a program that was joined: whoever joined it may try again, and it counts
 * once. */
static bool was_taken_before(struct instance *i)
{
	uint64_t *state = map_get(&i->injected->connected, i->process);
	bool before = state && *state & PROCESS_COUNTED_TAKEN;

	if (state)
		*state |= PROCESS_TAKEN | PROCESS_COUNTED_TAKEN;
	return before;
}

static void count_reason(struct instance *i)
{
	static const enum profile_loss losses[WIRE_REASONS] = {
		[WIRE_REASON_IN_USE] = LOSS_GPU_TAKEN,
		[WIRE_REASON_NO_TRACER] = LOSS_GPU_NO_TRACER,
		[WIRE_REASON_REFUSED] = LOSS_GPU_REFUSED,
		[WIRE_REASON_MEMORY] = LOSS_GPU_MEMORY,
		[WIRE_REASON_OVERHEAD] = LOSS_GPU_OVERHEAD,
	};
	const struct wire_control *control = i->reader.ring.control;
	uint32_t state = __atomic_load_n(&control->state, __ATOMIC_ACQUIRE);
	/* once: the program may change it */
	uint32_t reason = __atomic_load_n(&control->reason, __ATOMIC_RELAXED);

	/* One API may have failed while another goes on. */
	if (state != WIRE_QUIET && !reason) {
		record_count_loss(i, LOSS_GPU_NEVER_CONNECTED, i->too_late);
		return;
	}
	if (i->joined && reason == WIRE_REASON_IN_USE && was_taken_before(i))
		return;
	record_count_loss(
		i, reason && reason < WIRE_REASONS ? losses[reason] : LOSS_GPU_CORRUPT, 1);
}

static bool was_recorded(const struct instance *i)
{
	const struct wire_control *c = i->reader.ring.control;
	uint32_t state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE);

	return !i->corrupt && (state == WIRE_RUNNING || state == WIRE_DONE) &&
	       !__atomic_load_n(&c->reason, __ATOMIC_RELAXED);
}

/* Another tool was in it, and is no more: it was joined again, and counts as taken all the same. */
static int note_late(struct instance *i)
{
	struct injected *s = i->injected;
	const uint64_t *state = map_get(&s->connected, i->process);
	uint64_t since_ns = i->opened_ns > s->start_ns ? i->opened_ns - s->start_ns : 0;

	if (!i->joined || !state || !(*state & PROCESS_COUNTED_TAKEN) || !was_recorded(i) ||
		++s->late_count > LATE_TOLD + 1)
		return 0;
	if (s->late_count > LATE_TOLD)
		buf_puts(&s->late_lines, "and so on, more processes\n");
	else
		buf_printf(&s->late_lines,
			"process %" PRIu32
			" was recorded from %.1f s on: before that another profiler held %s\n",
			i->pid, (double)since_ns / NS_PER_SECOND, injected_sampled(s)->tracer);
	return profile_set_meta(s->shared->writer, META_JOINED_LATE, buf_text(&s->late_lines));
}

/* What came of gpu_options.finalize. */
static void note_finalized(struct instance *i)
{
	static const char *const reasons[WIRE_FINALIZE_RESULTS] = {
		[WIRE_FINALIZE_LATE] = "the program used the GPU before the library came",
		[WIRE_FINALIZE_GRAPHS] = "graphs were made in it",
		[WIRE_FINALIZE_FAILED] = "it did not let itself be ended",
	};
	struct injected *s = i->injected;
	/* once: the program may change it */
	uint32_t result = __atomic_load_n(&i->reader.ring.control->finalized, __ATOMIC_RELAXED);
	uint64_t *state = map_get(&s->connected, i->process);

	if (!s->options.finalize || !state || result >= WIRE_FINALIZE_RESULTS)
		return;
	*state &= ~(uint64_t)PROCESS_FINALIZED;
	if (result == WIRE_FINALIZED)
		*state |= PROCESS_FINALIZED;
	if (!result || ++s->finalize_count > FINALIZED_TOLD + 1)
		return;
	if (s->finalize_count > FINALIZED_TOLD) {
		buf_puts(&s->finalize_lines, "and so on, of more processes\n");
	} else if (result == WIRE_FINALIZED) {
		buf_printf(&s->finalize_lines, "%s was taken out of process %" PRIu32 "\n",
			injected_sampled(s)->tracer, i->pid);
	} else {
		buf_printf(&s->finalize_lines, "%s stays in process %" PRIu32 ": %s\n",
			injected_sampled(s)->tracer, i->pid, reasons[result]);
	}
}

static int note_stop_time(struct instance *i)
{
	const struct wire_control *c = i->reader.ring.control;
	/* once: the program may change them */
	uint32_t us = __atomic_load_n(&c->stop_us, __ATOMIC_RELAXED);
	uint32_t tracer_us = __atomic_load_n(&c->stop_tracer_us, __ATOMIC_RELAXED);

	if (!us || tracer_us > us)
		return 0;
	return map_put(&i->injected->stop_times, i->process, (uint64_t)us << 32 | tracer_us);
}

/* Slots that the library says it has written to the ring, and that the ring does not have. */
static void count_unseen(struct instance *i)
{
	uint64_t head = __atomic_load_n(&i->reader.ring.control->head, __ATOMIC_RELAXED);

	if (!i->corrupt && i->sent > head)
		record_count_loss(i, LOSS_GPU_RING_REPLACED, i->sent - head);
}

static int end(struct instance *i)
{
	const struct gpu_events *events = &i->injected->shared->events;
	int error = record_last_burst(i, says_end(i));

	error = error ?: markers_end(i);
	if (i->corrupt)
		record_count_loss(i, LOSS_GPU_CORRUPT, 1);
	else
		count_reason(i);
	note_finalized(i);
	error = error ?: note_late(i);
	error = error ?: note_stop_time(i);
	count_unseen(i);
	due_end(i);
	if (i->injected->shared->places)
		code_places_end_all(i->injected->shared->places, i->number, clock_now_ns());
	i->phase = INSTANCE_ENDED;
	if (!error && i->broken && events->instance_broken)
		error = events->instance_broken(events->context, i->number);
	return error ?: events->instance_end(events->context, i->number);
}

/* The library's thread sleeps on this; while the library begins, the program's thread that started
 * it. */
static void wake(struct instance *i)
{
	struct wire_control *c = i->reader.ring.control;

	__atomic_fetch_add(&c->wake, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void instance_send_space(struct instance *i, const struct kept_space *space)
{
	struct wire_space *w;

	if (i->phase != INSTANCE_LIVE || i->leaving || !i->injected->options.walk || !space)
		return;
	w = ring_space(&i->reader.ring);
	__atomic_store_n(&w->sequence, ++i->space_sequence, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE); /* odd before anything of it changes */
	w->count = space->count;
	w->pending = space->pending;
	w->generation = space->generation;
	w->python = space->python;
	memcpy(w->mappings, space->mappings, space->count * sizeof(w->mappings[0]));
	__atomic_store_n(&w->sequence, ++i->space_sequence, __ATOMIC_RELEASE);
	wake(i);
}

void instance_send_chunks(struct instance *i)
{
	const struct injected *s = i->injected;
	struct wire_chunk chunk = {.magic = WIRE_MAGIC};

	while (i->phase == INSTANCE_LIVE && i->fd >= 0 && i->chunks_sent < s->chunk_count) {
		chunk.index = i->chunks_sent;
		if (!send_with_descriptor(i->fd, &chunk, sizeof(chunk), s->chunks[chunk.index]))
			return; /* no room now: at the next drain */
		i->chunks_sent++;
	}
}

/* Answers a library that asked before the snapshot: what was mapped until then has been sent, and
 * the unwind tables for it, here and there, are ready. */
static int answer_space(struct instance *i)
{
	const struct stack_resolver *stacks = &i->injected->options.stacks;
	struct wire_control *c = i->reader.ring.control;
	int error;

	if (i->leaving || i->space_asked == i->space_answered)
		return 0;
	error = stacks->prepare ? stacks->prepare(stacks->context, i->pid, !i->space_given) : 0;
	if (error)
		return error;
	i->space_given = true;
	i->space_answered = i->space_asked;
	__atomic_store_n(&c->space_answered, i->space_asked, __ATOMIC_RELEASE);
	wake(i);
	return 0;
}

/* True when much has come since the last drain, or would come until the next one at this rate. The
 * rate matters, since a drain soon after another finds little, however fast the ring fills. */
static bool is_busy(struct instance *i, uint64_t waiting, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - i->drained_ns + 1;

	i->drained_ns = now_ns;
	return waiting > i->slots / 16 || waiting * AWAY_NS / since_ns > i->slots / 4;
}

/* Nothing will come any more, and nothing is left to read. */
static bool is_read_up(const struct instance *i)
{
	return i->phase == INSTANCE_LAST && i->messages_done && i->reader.tail == i->reader.limit;
}

int instance_drain(struct instance *i, bool *ret_busy)
{
	uint64_t waiting = i->reader.limit - i->reader.tail, now_ns = clock_now_ns();
	int error = 0;

	if (i->phase == INSTANCE_WAITING)
		return welcome(i);
	if (i->phase != INSTANCE_LIVE && i->phase != INSTANCE_LAST)
		return 0;
	if (!i->corrupt)
		error = read_ring(i, now_ns);
	if (error == -EPROTO) {
		i->corrupt = true;
		error = 0;
	}
	if (error)
		return error;
	ring_release(&i->reader);
	__atomic_store_n(&i->reader.ring.control->fills, 0, __ATOMIC_RELAXED);
	instance_send_chunks(i);
	error = answer_space(i);
	if (error)
		return error;
	if (!i->corrupt)
		count_counters(i);
	if (!i->corrupt)
		add_reported(i);
	if (is_busy(i, waiting, now_ns) || i->reader.tail != i->reader.limit)
		*ret_busy = true;
	if (i->phase == INSTANCE_LAST)
		error = messages_receive_rest(i);
	if (error)
		return error;
	return i->corrupt || is_read_up(i) ? end(i) : 0;
}

int instance_end_unread(struct instance *i)
{
	if (i->phase != INSTANCE_LIVE && i->phase != INSTANCE_LAST)
		return 0;
	record_count_loss(i, LOSS_GPU_RING_FULL, i->reader.limit - i->reader.tail);
	return end(i);
}

void instance_code_mapped(struct instance *i, const struct code_change *change)
{
	struct wire_control *c = i->reader.ring.control;

	if (!c || !change->replaced)
		return;
	for (uint32_t n = 0; n < i->stack_count; n++)
		if (i->stacks[n].until_ns > change->time_ns)
			i->stacks[n].until_ns = change->time_ns;
	__atomic_store_n(&c->code_epoch, ++i->code_epoch, __ATOMIC_RELEASE);
}

void instance_ask_to_stop(struct instance *i)
{
	struct wire_control *c = i->reader.ring.control;

	i->too_late = i->phase < INSTANCE_LIVE ||
		      (i->phase == INSTANCE_LIVE &&
			      __atomic_load_n(&c->state, __ATOMIC_ACQUIRE) == WIRE_STARTING);
	if (i->phase != INSTANCE_LIVE)
		return;
	__atomic_store_n(&c->command, WIRE_COMMAND_STOP, __ATOMIC_SEQ_CST);
	wake(i);
	/* Only that reaches a library that has another ring by now. */
	if (i->missing)
		instance_hang_up(i);
}

bool instance_is_live(const struct instance *i)
{
	return i->phase != INSTANCE_GREETING && i->phase != INSTANCE_ENDED;
}
