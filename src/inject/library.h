/* SPDX-License-Identifier: MIT */
/*
 * The injected library as a whole: what its parts share.
 *
 *	inject.c      begin, fork, end of the process
 *	connect.c     the socket to the recorder
 *	find_cupti.c  which libcupti
 *	launch.c      callbacks in the program's threads: the launch path
 *	stacks.c      stacks of launches, by number: the launch path
 *	syncs.c       what calls wait for, and where graphs are launched: the launch path
 *	streams.c     which context a stream is of, and its number: the launch path, and where streams are made
 *	unwind.c      walks them: the launch path
 *	repeat.c      recognizes them without a walk: the launch path
 *	own_stack.c   where they end: the launch path, and our thread
 *	loads.c       whether libraries were loaded: the launch path, and our thread
 *	space.c       what is mapped where, and unwind tables: the launch path, and our thread
 *	buffers.c     CUPTI's activity buffers: the pool, and the queue to our thread
 *	activity.c    activity records to ring records: our thread
 *	tables.c      strings and operations already told to the recorder: our thread
 *	sampling.c    samples of GPU instructions: our thread, and where contexts are made and destroyed
 *	claims.c      which process and context may sample a device: where contexts are made and destroyed
 *	images.c      images of GPU code: our thread, and where modules are loaded
 *	health.c      whether CUPTI still works: our thread, and where CUPTI says that it does not
 *	collector.c   our thread
 *
 * CUPTI's buffer and clock callbacks carry no user data, so there is one global `library`. It is
 * filled before the first callback can come and is constant from then on, but for what is marked.
 *
 * The library lives in somebody else's program. It never exits, aborts, prints or takes a signal;
 * it allocates with mmap only; and on the launch path (launch.c, stacks_tell, buffer_requested) it
 * does not even that, nor lock, nor (but for a call or two at a thread's first launch, and what stacks.h tells) call the
 * kernel.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "inject/cupti/abi.h"
#include "wire/ring.h"

/*
 * A page that the kernel wipes in a forked child, so that the child's copy of the library is dead
 * before its first instruction: everything that could act looks here first.
 */
struct guard {
	uint32_t alive;	    /* this is the process that connected, and it has not finished */
	uint32_t recording; /* callbacks are to act */
	uint32_t held;	    /* threads that want no launches to begin just now (launches_hold) */
	uint64_t held_until_ns; /* the others' patience */
};

/* The socket, under a number that the program may close or reuse behind our back. */
struct connection {
	int fd;
	dev_t dev;
	ino_t ino;
	uint32_t beat;	  /* the recorder's heartbeat, and when it was seen to change: once the */
	uint64_t beat_ns; /* socket is lost, the only sign of life */
};

#define FUNCTION(name, parameters) int(*name) parameters;
struct cupti {
	void *handle;
	char path[4096];
	uint32_t api_version;
	void *subscriber;
	CUPTI_FUNCTIONS(FUNCTION, FUNCTION)
};

struct cuda_driver {
	uint32_t version; /* cuDriverGetVersion; 0: not known */
	CUDA_FUNCTIONS(FUNCTION)
};
#undef FUNCTION

struct library {
	struct guard *guard; /* changes */
	struct connection connection;
	struct ring ring;
	uint32_t instance;
	pid_t pid;
	bool queue_times;
	bool walk; /* stacks are walked in here */
	bool syncs; /* what calls wait for is told */
	uint8_t stalls; /* enum wire_stalls */
	uint8_t stall_period;
	void (*marker)(uint64_t instance, uint64_t correlation, uint64_t kind); /* NULL: none */
	struct cupti cupti;
	struct cuda_driver driver;
	int64_t clock_offset_ns;  /* subtract from CUPTI's times */
	uint32_t news;		  /* changes: the recorder is to look at the ring soon */
	uint32_t finish;	  /* changes: the process ends */
	uint32_t finished;	  /* changes: futex, our thread is done */
	pthread_mutex_t no_fork; /* our thread holds it while it is inside CUPTI or the loader */
};

extern struct library library;

static inline bool is_alive(void)
{
	return __atomic_load_n(&library.guard->alive, __ATOMIC_RELAXED);
}

static inline bool is_recording(void)
{
	return __atomic_load_n(&library.guard->recording, __ATOMIC_RELAXED);
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static inline void count(enum wire_count what, uint64_t n)
{
	__atomic_fetch_add(&library.ring.control->counts[what], n, __ATOMIC_RELAXED);
}

/* Waits until *word is not `value`, woken, or timeout_ns have passed; shared between processes. */
void futex_wait(uint32_t *word, uint32_t value, uint64_t timeout_ns);
void futex_wake(uint32_t *word);

/* Connects to the recorder within two seconds and maps the ring: 0 or -errno. */
int connection_open(struct connection *c, const char *path, void **ret_memory, uint32_t *ret_slots);
/* Takes a socket over, under a number of its own: 0 or -errno, and then it is taken over, too. */
int connection_adopt(struct connection *c, int fd);
/* Closes the socket, if the number still is ours. */
void connection_close(struct connection *c);
/* True when the other side is gone. A socket the program closed behind our back is not a sign of
 * that. */
bool connection_lost(struct connection *c);
/* A chunk of the unwind tables that the recorder has sent: its descriptor, or -errno when there is none. */
int connection_take_chunk(struct connection *c, uint32_t *ret_index);
/* Whether an image would be taken just now; also when nobody would ever take it. */
bool connection_has_room(const struct connection *c);
/* Hands an image over: 0, -EAGAIN when the recorder has to take others first, or -errno. */
int connection_send_image(struct connection *c, const struct wire_image *image, int image_fd);
/* Wakes the recorder. */
void connection_hurry(const struct connection *c);

/* Finds and opens the libcupti that fits this process: 0, or -ENOENT. */
int find_cupti(struct cupti *ret, struct cuda_driver *ret_driver);

/* CUPTI's callback, given to cuptiSubscribe. */
void on_callback(void *userdata, uint32_t domain, uint32_t id, const void *data);
/*
 * Threads that come to launch wait for a moment, but not for long, until launches_release; those that are launching
 * have mostly left when it returns. For the program's own threads, several at a time. Sampling of instructions is
 * switched on and off under it: CUPTI (13.0) hangs when it is while another thread launches.
 */
void launches_hold(void);
void launches_release(void);
/* Switches the callbacks we want on (or off): how many CUPTI knew. */
unsigned int enable_callbacks(bool on);

/* The pool of activity buffers: 0 or -errno. */
int buffers_init(void);
void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void buffer_completed(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);
/* Hands every completed buffer to `visit`, oldest first, and takes it back into the pool. */
void buffers_drain(void (*visit)(uint8_t *buffer, size_t valid_size));
/* Our thread sleeps until buffers fill up, somebody wakes it, or timeout_ns have passed. */
void collector_sleep(uint64_t timeout_ns);
void collector_wake(void);

/* Switches the kinds of activity records we want on: 0 or CUPTI's result. */
int enable_records(void);
void disable_records(void);
/* Tells of a device, if that was not done. Any thread of ours or the program's. */
void introduce_device(uint32_t ordinal);
/* All zero when it is not known. */
void device_uuid(uint32_t ordinal, uint8_t ret[16]);
/* Sends the records of one buffer. */
void convert_buffer(uint8_t *buffer, size_t valid_size);
/* Memory for the tables below: 0 or -errno. */
int tables_init(void);
/* The id of an operation, told to the recorder when new; 0: could not be told (the ring is full).
 * `name` may be NULL; op->type, id and name are filled in. */
uint32_t table_op(struct wire_op *op, const char *name);

/* Sends a record from our thread, waiting a bounded time for room while the recorder lives. */
bool send_long(const void *head, size_t head_size, const void *body, size_t body_size);
bool send_slot(const void *payload);

/* Starts our thread: 0 or -errno. */
int collector_start(void);
/* Asks it to flush everything and to end, and waits for that, but not for ever. */
void collector_finish(void);
