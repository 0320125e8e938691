/* SPDX-License-Identifier: MIT */
/*
 * The injected library as a whole: what its parts share.
 *
 *	api.h         what an API of GPUs does for the library: one folder each (cupti/, opencl/)
 *	inject.c      begin, fork, end of the process
 *	apis.c        the APIs that report, as one
 *	hooks.c       what is called at fork and at exit
 *	kept.c        what stays in a program that goes on without the library
 *	door.c        where it sleeps until it is woken
 *	connect.c     the connection to the recorder
 *	socket.c      its socket
 *	launches.h    calls of the API, as they begin and end: the launch path
 *	stacks.c      stacks of launches, by number: the launch path
 *	unwind.c      walks them: the launch path
 *	repeat.c      recognizes them without a walk: the launch path
 *	stack_end.c   where they end: the launch path, and our thread
 *	loads.c       whether libraries were loaded: the launch path, and our thread
 *	space.c       what is mapped where, and unwind tables: the launch path, and our thread
 *	tables.c      strings and operations that the recorder has already: our thread
 *	sent.c        what was written to the ring: our thread
 *	bursts.c      recording at a stated cost, now and then only: our thread
 *	asked.c       what was asked for in these times: the launch path, and our thread
 *	collector.c   our thread
 *
 * Callbacks of an API may carry no user data, so there is one global `library`. It is filled before
 * the first callback can come. From then on it is constant, but for what is marked.
 *
 * The library lives in somebody else's program. It never exits, aborts, prints or handles a signal.
 * It allocates with mmap only. On the launch path (an API's callbacks, launches.h, stacks_send) it
 * neither allocates nor locks, and calls the kernel only once or twice at a thread's first launch,
 * and where stacks.h names a call.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest/futex.h"
#include "guest/socket.h"
#include "wire/ring.h"

/*
 * A page that the kernel wipes in a forked child, so that the child's copy of the library is dead
 * before its first instruction: everything that could act looks here first.
 */
struct guard {
	uint32_t alive;	    /* this is the process that connected, and it has not finished */
	uint32_t recording; /* callbacks are to act */
	uint32_t held;	    /* threads that want no launches to begin just now (launches_hold) */
	uint64_t held_until_ns; /* how long the others wait */
	uint32_t timing;	/* callbacks are to time calls, and nothing else (bursts.h) */
	uint32_t stopping;	/* and to let those end that were recorded */
	uint32_t calls_counted; /* threads count themselves while they are in calls of an API */
	uint32_t calls;		/* whether they are held */
	uint64_t calls_until_ns;
};

/* The socket, under a number that the program may close or reuse behind our back. */
struct connection {
	struct own_socket socket;
	uint32_t beat;	  /* the recorder's heartbeat, and when it was seen to change: the only */
	uint64_t beat_ns; /* sign of life once the socket is lost */
};

struct library {
	struct guard *guard; /* changes */
	struct connection connection;
	struct ring ring;
	uint32_t instance;
	pid_t pid;
	bool queue_times;
	bool walk;	/* stacks are walked in here */
	bool markers;	/* stretches of time that the program names are reported */
	bool syncs;	/* what calls wait for is reported */
	uint8_t stalls; /* enum wire_stalls */
	uint8_t stall_period;
	/* changes: OpenCL is reported, and is built on another API that could be: work that no call
	 * of the program's asked that one for is OpenCL's */
	uint32_t opencl_above;
	bool finalize;	       /* the API is to be ended, too, where that is safe */
	uint32_t overhead;     /* millionths: the budget (bursts.h); 0: everything is recorded */
	uint32_t times_one_in; /* of so many pieces of work one has times; 0: all have */
	void (*marker)(uint64_t instance, uint64_t correlation, uint64_t kind); /* NULL: none */
	uint32_t news;		 /* changes: the recorder should look at the ring soon */
	uint32_t finish;	 /* changes: the process ends */
	uint32_t finished;	 /* changes: futex, our thread is done */
	uint32_t leaving;	 /* changes: it is dead, and may be in the API, to leave it */
	pthread_mutex_t no_fork; /* our thread holds it while it is inside the API or the loader */
	pid_t begun;	  /* the process in which the program has loaded the library itself */
	uint32_t sampled; /* the API whose instructions are: its number plus one */
	bool has_door;
	uint64_t tracer_ns; /* changes, our thread: how long the API's own functions took to stop */
	/* The program ran when the library came into it, and goes on when it has gone (leave.h). */
	bool joined;
};

extern struct library library;

static inline bool is_alive(void)
{
	return __atomic_load_n(&library.guard->alive, __ATOMIC_RELAXED);
}

/* Ids of functions are counted in a process, so instructions of one API are sampled: false, they
 * are those of another. */
static inline bool claim_samples(uint32_t api)
{
	uint32_t nobody = 0;

	return __atomic_compare_exchange_n(&library.sampled, &nobody, api + 1, false,
		       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	       nobody == api + 1;
}

static inline bool is_recording(void)
{
	return __atomic_load_n(&library.guard->recording, __ATOMIC_RELAXED);
}

static inline bool is_timing(void)
{
	return __atomic_load_n(&library.guard->timing, __ATOMIC_RELAXED);
}

static inline void count(enum wire_count what, uint64_t n)
{
	__atomic_fetch_add(&library.ring.control->counts[what], n, __ATOMIC_RELAXED);
}

/* The guard page, if there is none: 0 or -errno. */
int guard_make(void);

/* Before and after a fork, in the parent: it waits for `no_fork`, for 50 ms at most. */
void fork_begins(void);
void fork_has_ended(void);

/* Connects to the recorder that listens at the path, within two seconds, and maps the ring: 0 or
 * -errno. */
int connection_open(struct connection *c, const char *path, void **ret_memory, uint32_t *ret_slots);
/* The same with a socket whose other end the recorder has. It is the connection's, or closed. */
int connection_open_pair(struct connection *c, int fd, void **ret_memory, uint32_t *ret_slots);
/* Unmaps the ring. */
void connection_release_ring(void);
/* Makes a socket the connection's, under another number: 0 or -errno, and then the connection owns
 * it, too. */
int connection_adopt(struct connection *c, int fd);
/* Closes the socket, if the number still is ours. */
void connection_close(struct connection *c);
/* True when the other side is gone. A socket the program closed behind our back is not a sign of
 * that. */
bool connection_lost(struct connection *c);
/* A chunk of the unwind tables that the recorder has sent: its descriptor, or -errno when none has
 * arrived. */
int connection_receive_chunk(struct connection *c, uint32_t *ret_index);
/* Whether an image can be sent just now; true also when nobody will ever receive it. */
bool connection_has_room(const struct connection *c);
/* Sends an image: 0, -EAGAIN when the recorder must receive others first, or -errno. */
int connection_send_image(struct connection *c, const struct wire_image *image, int image_fd);
/* Sends a message without a descriptor, if there is room for it. */
void connection_send(const struct connection *c, const void *message, size_t size);
/* Wakes the recorder. */
void connection_hurry(const struct connection *c);

/* Our thread, every round: reports what was written when the ring is another one than ours. */
void sent_watch(void);
/* Our thread, at the end: reports what was written, in any case. */
void sent_report(void);

/* Wakes our thread to drain finished work, or to look for other reasons. Any thread. */
void collector_has_work(void);
void collector_wake(void);

/* Memory for the tables below: 0 or -errno. */
int tables_init(void);
void tables_release(void);
/* The id of an operation, which is sent to the recorder when new; 0: it could not be sent (the ring
 * is full). `name` may be NULL; op->type, id and name are filled in. */
uint32_t table_op(struct wire_op *op, const char *name);

/* So too the ids of two texts, of which either may be NULL (0): false when they could not be
 * sent. */
bool table_texts(const char *first, const char *second, uint32_t *ret_first, uint32_t *ret_second);

/* Sends a record from our thread, waiting a bounded time for room while the recorder lives. */
bool send_long(const void *head, size_t head_size, const void *body, size_t body_size);
bool send_slot(const void *payload);

/* Starts our thread: 0 or -errno. */
int collector_start(void);
/* The calling thread is ours, until the end. */
void collector_run(void);
/* It has ended, or will not begin. */
void collector_is_over(void);
/* Asks it to flush everything and to end, and waits for that, but not for ever. */
void collector_finish(void);
/* From here on that is done before the exit handlers that were registered until now. */
void exit_before_others(void);
