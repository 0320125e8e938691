/* SPDX-License-Identifier: MIT */
/*
 * One connected library: its ring, and what its ids mean in the profile.
 *
 *	opened --hello--> waiting --welcome--> live --hang-up, or done--> last --drained--> ended
 *	   |                                    |
 *	   |                                    +-- scribbled ring --> ended (LOSS_GPU_CORRUPT)
 *	   +-- anything but a proper hello, or none in time --> ended
 *
 * A hello that was seen at a snapshot is answered at the drain. In between the recorder reads what
 * happened to processes, such as the exec that began this one. The process waits for its welcome,
 * so it is still the same when its profile id is looked up.
 *
 * Everything that comes through the ring is untrusted: the profiled program's process writes it.
 * Memory is bounded: the ring, tables of fixed greatest size, and the budgets of budgets.h. Owned
 * by the backend, one thread.
 */
#pragma once

#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "gpu/backend.h"
#include "gpu/injected/budgets.h"
#include "gpu/injected/internal.h"
#include "wire/ring.h"

/* What a stack number of the library's stands for. */
struct numbered_stack {
	uint64_t until_ns;   /* from then on other code was at its addresses; UINT64_MAX: never */
	uint32_t stack;	     /* profile id; 0: none */
	uint32_t incomplete; /* as in gpu_launch */
	bool sent;
	/* with its frames, for launches from after until_ns; NULL: not kept */
	struct wire_stack *record;
};

struct instance_op {
	uint32_t id; /* in the profile */
	uint8_t kind;
	uint32_t context;     /* number of instance.contexts, from 1 up; 0: none */
	double cycles_per_ns; /* as in profile/due.h */
};

struct instance_device {
	uint32_t id; /* in the profile; 0: it was not described */
	uint32_t sm_count, clock_khz;
};

/* due.c: which samples of instructions a context's kernels should have had, and how many came. */
struct instance_context {
	uint32_t device;     /* profile id; 0: it has had no work */
	double cycles;	     /* of multiprocessors that ran kernels */
	uint64_t reached_ns; /* by the kernels so far */
	uint64_t came;
	uint8_t period, safe_period; /* as in struct wire_window */
	bool refused;		     /* if samples are missing, that was reported */
};

/* A function of GPU code. */
struct instance_function {
	uint32_t id; /* in the profile; 0: there was no room for it */
	uint32_t module;
	bool needed; /* it has samples */
};

/* The latest window of instruction samples. */
struct instance_window {
	bool begun; /* false: none has come */
	bool exact;
	uint32_t id; /* 0: invalid or lost, and so are its rows */
	bool lost;
	const uint32_t *reasons; /* of its device */
};

/* namespace.c: threads by the numbers that their process sees. */
struct thread_numbers {
	struct map outer; /* ours, by theirs */
	struct map seen;  /* ours that were looked at */
	int64_t left_ns;  /* how long looks may take; less than 0: they took longer */
	uint64_t looked_ns;
};

/* A stretch of time that the program gave a name, of which one end came so far. */
struct instance_marker {
	uint32_t number;	       /* the library's */
	uint32_t name, domain, thread; /* of the profile */
	bool has_begun;
	uint64_t time_ns;
};

enum instance_phase {
	INSTANCE_GREETING = 1, /* its hello has not come */
	INSTANCE_WAITING,      /* it has, and waits for an answer */
	INSTANCE_LIVE,
	INSTANCE_LAST, /* nothing can come any more behind the last snapshot */
	INSTANCE_ENDED,
};

struct instance {
	struct injected *injected;
	enum instance_phase phase;
	int fd; /* the socket; -1 once it was hung up */
	uint32_t number;
	uint32_t pid;	 /* as we see it */
	uint32_t uid;	 /* whose process it is */
	bool joined;	 /* the library was put into a program that ran */
	bool namespaced; /* the process sees other numbers */
	bool corrupt;
	bool broken;	 /* the tracer ended in it */
	bool too_late;	 /* it had not begun when the recording was over: its tracer may hang */
	bool introduced; /* it has reported which thread is its own */
	uint64_t opened_ns;
	uint32_t process; /* profile id */
	void *memory;
	uint32_t slots;
	struct ring_reader reader;
	uint64_t drained_ns;
	uint64_t hole; /* where the reader waits, plus one; 0: nowhere */
	uint64_t hole_ns;
	uint32_t echo; /* the library's last sign of life */
	uint64_t echo_ns;
	uint64_t counted[WIRE_COUNTS];
	uint64_t reported_ns;
	struct wire_burst burst;      /* the latest, which is not written yet; all 0: none came */
	struct vec(uint32_t) strings; /* profile ids, by the library's id less one */
	struct vec(struct instance_op) ops;
	struct instance_device devices[WIRE_DEVICES];
	struct numbered_stack *stacks; /* WIRE_STACKS of them, by the number less one; or NULL */
	uint32_t stack_count;	       /* the greatest number that was sent */
	uint32_t code_epoch;	       /* as the library has it from us */
	uint32_t space_sequence;
	uint32_t space_asked; /* at the snapshot */
	uint32_t space_answered;
	bool space_given; /* once at least */
	/* its program is over, or none of its user's: nothing is sent to it about its memory */
	bool leaving;
	uint32_t chunks_sent;
	struct vec(struct instance_function) functions;
	uint8_t sampled_api;		 /* whose functions they are */
	uint32_t *reasons[WIRE_DEVICES]; /* string ids by index; NULL: none came */
	struct instance_window window;
	struct {
		uint32_t function, offset, id;
	} last_instruction;
	bool stalls_refused;
	struct vec(struct instance_context) contexts;
	struct map context_numbers; /* -> the number in them, from 1 up */
	struct map marker_places;   /* number of a marker -> where it is in them */
	struct vec(struct instance_marker) markers;
	struct map threads; /* tid as the process sees it -> profile id; 0: not found */
	uint32_t last_tid, last_thread;
	struct thread_numbers numbers; /* of a process in another pid namespace */
	uint64_t charged[BUDGETS];
	uint64_t ring_bytes;	  /* of RINGS_MAX_BYTES */
	uint32_t messages_at_end; /* received since it is INSTANCE_LAST */
	bool messages_done;	  /* it is INSTANCE_LAST, and nothing is left in its socket */
	uint64_t sent;		  /* slots that the library says it has written */
	uint64_t missing;	  /* records that it says went elsewhere; they are counted */
};

/* Owns the socket from now on. 0 or -errno, and then the socket is closed. */
int instance_open(struct instance **ret, struct injected *s, int fd, uint32_t pid);
/* NULL is fine. */
void instance_free(struct instance *i);

/* The socket is readable: a hello, a nudge, an image, or the end. 0 or -errno, for faults of ours
 * only. */
int instance_handle_socket(struct instance *i);
/* Closes the socket. */
void instance_hang_up(struct instance *i);
/* Ends one that is no library in the process that connected, which is counted. */
void instance_turn_away(struct instance *i);
/* Marks how far the next drain goes. `force`: nothing will be waited for. */
void instance_snapshot(struct instance *i, bool force);
/* Answers a hello, and hands the records up to the snapshot on as events. 0 or -errno (of their
 * receiver, or because memory or descriptors of ours are short, never because of the library). */
int instance_drain(struct instance *i, bool *ret_busy);
/* Sends the library what its process maps now; `space` may be NULL. */
void instance_send_space(struct instance *i, const struct kept_space *space);
/* Sends the chunks of the unwind tables that the library does not have yet. */
void instance_send_chunks(struct instance *i);
/* Code was mapped over other code: from that time on, numbers of stacks do not mean the same in
 * launches. Once the library has noticed, it does not use them again. */
void instance_code_mapped(struct instance *i, const struct code_change *change);
/* Ends it; what was not read is counted. 0 or -errno of the events' receiver. */
int instance_end_unread(struct instance *i);
/* Asks the library to flush and stop. */
void instance_ask_to_stop(struct instance *i);
/* True while something may still come. */
bool instance_is_live(const struct instance *i);

/* records.c: one record of `size` bytes, copied out of the ring. 0, -EPROTO (the ring cannot be
 * trusted), or -errno of the events' receiver. */
int record_decode(struct instance *i, const void *record, size_t size, uint64_t now_ns);
/* At the end of an instance; was_told: the library has said that it is over. */
int record_last_burst(struct instance *i, bool was_told);
/* markers.c: the same, of this kind. */
int markers_decode(struct instance *i, const struct wire_marker *m, uint64_t now_ns);
/* At the end of an instance: those that have not ended. */
int markers_end(struct instance *i);
void markers_release(struct instance *i);
/* walked_stacks.c: the same, of these two kinds. */
int walked_decode_stack(
	struct instance *i, const struct wire_stack *w, size_t size, uint64_t now_ns);
int walked_decode_launch(struct instance *i, const struct wire_launch *l, uint64_t now_ns);
void walked_release(struct instance *i);
/* stalls.c: the same, of samples of GPU instructions. */
int stalls_decode_reason(struct instance *i, const void *record, size_t size);
int stalls_decode_function(struct instance *i, const void *record, size_t size);
int stalls_decode_code(struct instance *i, const void *record, size_t size, uint64_t now_ns);
int stalls_decode_window(struct instance *i, const struct wire_window *w, uint64_t now_ns);
int stalls_decode_rows(struct instance *i, const void *record, size_t size);
int stalls_decode_refusal(struct instance *i, const struct wire_stalls_refused *r);
int stalls_decode_held(struct instance *i, const struct wire_stalls_held *h);
/* A hole was skipped: the rows that come next may be of a window that was in it. */
void stalls_window_lost(struct instance *i);
void stalls_decode_release(struct instance *i);
/* Some of the process's instructions could not be sampled: counted once. */
void stalls_count_refused(struct instance *i);
/* Appends which period is slow enough; 2^period cycles, 0: not known. */
void stalls_put_safe_period(uint8_t period, struct buf *b);
/* due.c. All: 0 or -ENOMEM with error_text. */
/* The number of a context in i->contexts, from 1 up; 0: there are too many. */
int due_find_context(struct instance *i, uint32_t context, uint32_t *ret);
/* A kernel has run; an operation of that kind has a context and cycles_per_ns. */
void due_add_work(struct instance *i, const struct instance_op *op, const struct wire_work *w);
int due_add_window(struct instance *i, const struct wire_window *w);
int due_note_refusal(struct instance *i, uint32_t context);
/* Adds the contexts in which too few samples came to those of the recording. */
void due_end(struct instance *i);
/* The profile id of the image with this checksum; 0: there is no room for it. */
int stalls_module(struct instance *i, uint32_t api, uint64_t checksum, uint32_t *ret_id);
/* messages.c: the bytes of the next message, 0 at the end, or -1 with errno; *ret_fd: what came
 * with it, or -1. */
ssize_t message_receive(struct instance *i, void *message, size_t size, int *ret_fd);
/* Receives what a library that is live has sent: 0 or -errno, for faults of ours only. */
int messages_receive(struct instance *i);
/* The same, of one that will send no more; messages_done once that is all. */
int messages_receive_rest(struct instance *i);
/* Whether these times are possible in this recording. */
bool record_is_plausible(
	const struct instance *i, uint64_t start_ns, uint64_t end_ns, uint64_t now_ns);
/* The profile id of a thread; 0 when it cannot be found, which is counted. */
int record_find_thread(struct instance *i, uint32_t tid, uint32_t *ret_thread);
void record_count_loss(struct instance *i, enum profile_loss loss, uint64_t count);

/* peers.c: whether whoever connected is the target's user, with room for one more connection of its
 * process; *ret_pid is that. */
bool peer_may_connect(const struct injected *s, int fd, uint32_t *ret_pid);
/* Whether a socket is one that the library in this process has made, with room for it; *ret_uid is
 * the process's user. The socket does not block from here on. */
bool peer_was_joined(struct injected *s, int fd, uint32_t pid, uint32_t *ret_uid);
/* Whether the process that connected still is there, and so has the number it had then. Before
 * Linux 6.5: whether a process with that number is. */
bool peer_is_there(int fd, uint32_t pid);
/* Whether the target's user may look into the process, as it is now. */
bool peer_may_see_memory(const struct instance *i);

/* namespace.c: our tid of the thread that sees itself as `inner`. 0: there is none; -EAGAIN: there
 * was no time to look; -ENOMEM. */
int namespace_outer_tid(
	struct thread_numbers *t, uint32_t pid, uint32_t inner, uint32_t *ret_outer);
void namespace_release(struct thread_numbers *t);
/* How a process sees itself, and whether that is in a namespace inside of ours: false when it is
 * gone. */
bool namespace_inner_pid(uint32_t pid, uint32_t *ret_inner, bool *ret_namespaced);
