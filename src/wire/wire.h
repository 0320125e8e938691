/* SPDX-License-Identifier: MIT */
/*
 * The protocol of the injected library and the recorder. Of each other's headers, both sides
 * include only those of this folder and of walk/.
 *
 * Connecting, over a SOCK_SEQPACKET socket whose path is in $XPUPROF_SOCKET:
 *
 *	library                                recorder
 *	   | ---- wire_hello ------------------> |  each checks the other's credentials
 *	   | <--- wire_welcome + memfd --------- |  or a refusal, without a memfd
 *	   |      ... recording ...              |
 *	   | <--- wire_chunk + descriptor ------ |  a chunk of the unwind tables (walk/table.h)
 *	   | ---- wire_image + descriptor -----> |  an image of GPU code (a memfd), when instructions are sampled
 *	   | ---- wire_sent -------------------> |  how much was written to the ring
 *	   | ---- one byte: "look at me" ------> |  the ring fills, or the library waits for an answer; at most
 *	                                            one until the recorder has looked
 *
 * Everything else goes through the memfd. The socket is kept for chunks and images, for what the
 * ring cannot say of itself, and to notice that the other side is gone. The memfd is sealed against
 * changes of its size, so neither side can make the other fault:
 *
 *	0        control page: struct wire_control
 *	4096     what is mapped where: struct wire_space, written by the recorder
 *	         slot 0 | slot 1 | ... | slot N-1       64 bytes each, N a power of two
 *
 * ring.h describes how records lie in the slots. What they mean is below. The program that the
 * library lives in may write over the library's memory, so the recorder checks everything it reads.
 * The library trusts the recorder.
 *
 * The *tracer* is the vendor's own library that reports GPU work inside a process.
 *
 * Numbers are in the machine's own byte order: both sides run on one machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "walk/python.h"

#define WIRE_MAGIC	0x5558504cu /* "LPXU" in memory */
#define WIRE_VERSION	21u
#define WIRE_ENV_SOCKET "XPUPROF_SOCKET"

#define WIRE_CONTROL_BYTES 4096u
#define WIRE_SPACE_BYTES   (65u * 4096u)
#define WIRE_MAPPINGS	   8192u
#define WIRE_SLOT_BYTES	   64u
#define WIRE_PAYLOAD_BYTES 56u	 /* of a slot: the rest is its commit word */
#define WIRE_RECORD_SLOTS  1024u /* the longest record */
#define WIRE_MIN_SLOTS	   4096u
#define WIRE_MAX_SLOTS	   (1u << 24)

/* Numbers a library may give out; ids beyond them are an error. */
#define WIRE_STRINGS	   16384u
#define WIRE_OPS	   65536u
#define WIRE_DEVICES	   1024u /* of all APIs */
#define WIRE_STACKS	   32768u
#define WIRE_FUNCTIONS	   65536u /* of GPU code */
#define WIRE_STALL_REASONS 256u
#define WIRE_SAMPLES_MAX   (1ull << 48) /* of instructions: no GPU has more in a window */

/*
 * APIs of GPUs that a library reports, numbered for good. The number is in the upper byte of each
 * call's own number. A device is number * WIRE_API_DEVICES + its ordinal. Contexts and correlation
 * ids of two APIs are never the same.
 */
#define WIRE_APIS	 4u
#define WIRE_API_DEVICES 256u
#define WIRE_API_SHIFT	 24 /* of its number in wire_call.api, and in contexts */
#define WIRE_ID_BITS	 29 /* of ids, of all but the first API */

/* The correlation id of an API other than the first one, whose ids are its tracer's: the upper half
 * is divided among these. */
#define WIRE_ID(api, n) (((api) + 3u) << WIRE_ID_BITS | ((n) & ((1u << WIRE_ID_BITS) - 1)))

struct wire_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t pid; /* as the process sees itself */
	uint32_t reserved;
};

struct wire_welcome {
	uint32_t magic;
	uint32_t version; /* the recorder's; when it is not the library's, no memfd comes */
};

/*
 * With the chunk's descriptor. Walkers of other users' processes read the chunk too, so whoever
 * gets it can only read it: a BPF map is frozen, a memfd sealed against writing.
 */
struct wire_chunk {
	uint32_t magic;
	uint32_t index;
};

/* With the descriptor of an image of GPU code. */
struct wire_image {
	uint32_t magic;
	uint32_t api; /* its number: images of each are of a format of their own */
	uint64_t size;
	uint64_t checksum; /* what wire_function and wire_code name images by */
};

/*
 * What the library has written, before it ends, and at once when the ring is found to be another:
 * the program may map other memory over it. Then records go nowhere, the counts of what was lost
 * too, and nothing in the real ring shows it.
 */
struct wire_sent {
	uint32_t magic;
	uint32_t pad;
	uint64_t sent;	  /* slots of the real ring: its head, as the library sees it */
	uint64_t missing; /* slots of what took its place, and records lost there */
	uint64_t pad2;
};

enum wire_stalls {
	WIRE_STALLS_NONE = 0,
	WIRE_STALLS_CONTINUOUS,
	WIRE_STALLS_EXACT, /* kernels run one at a time, and samples name their launch */
};

enum wire_command {
	WIRE_COMMAND_NONE = 0,
	WIRE_COMMAND_STOP, /* flush, disable everything, report WIRE_DONE */
};

enum wire_state {
	WIRE_STARTING = 0,
	WIRE_RUNNING, /* subscribed and recording */
	WIRE_DONE,    /* flushed; nothing more will come (stop, or the end of the process) */
	WIRE_QUIET,   /* gave up, for `reason` */
};

enum wire_reason {
	WIRE_REASON_NONE = 0,
	WIRE_REASON_IN_USE,    /* another profiler holds the tracer */
	WIRE_REASON_NO_TRACER, /* none that fits the driver */
	WIRE_REASON_REFUSED,   /* the tracer refused */
	WIRE_REASON_MEMORY,    /* memory or threads were short */
	WIRE_REASON_OVERHEAD,  /* it costs more than it may */
	WIRE_REASONS
};

/* What came of `finalize`. */
enum wire_finalized {
	WIRE_FINALIZE_NONE = 0, /* it did not come to that */
	WIRE_FINALIZED,		/* the tracer is out of the program */
	WIRE_FINALIZE_LATE,	/* the program used the API before the library came */
	WIRE_FINALIZE_GRAPHS,	/* graphs were made */
	WIRE_FINALIZE_FAILED,	/* the tracer did not let itself be ended */
	WIRE_FINALIZE_RESULTS
};

/* What the library counts instead of sending. Only ever grows. */
enum wire_count {
	WIRE_LOST_CALLS,	 /* the ring was full: calls */
	WIRE_LOST_WORK,		 /* the ring was full: work */
	WIRE_LOST_NODES,	 /* the ring was full: graph nodes */
	WIRE_DROPPED_BY_TRACER,	 /* the tracer had no room for these */
	WIRE_UNKNOWN,		 /* activity records of kinds or sizes we do not understand */
	WIRE_LOST_STALLS,	 /* the ring was full: instruction samples */
	WIRE_LOST_IMAGES,	 /* images of GPU code that could not be handed over */
	WIRE_LOST_EVENT_RECORDS, /* the ring was full: records of events that may be waited for */
	WIRE_UNTIMED,		 /* work whose times are not known, or make no sense */
	WIRE_LOST_MARKERS,	 /* the ring was full: markers */
	WIRE_UNKNOWN_LISTS,	 /* executions of command lists whose commands are not known */
	WIRE_COUNTS
};

/* One cache line for each writer, so that they do not fight over it. */
struct wire_control {
	/* Written by the recorder before the library sees it. */
	uint32_t magic;
	uint32_t version;
	uint32_t slots;
	uint32_t instance;
	uint32_t marker; /* enum launch_marker */
	uint32_t queue_times;
	/* the library walks its stacks itself; the marker is for those that it cannot */
	uint32_t walk;
	uint32_t stalls; /* enum wire_stalls */
	/* a sample every 2^stall_period cycles of an SM; 0: chosen from the device */
	uint32_t stall_period;
	/* what calls wait for is to be reported (wire_call, WIRE_EVENT_RECORD) */
	uint32_t syncs;
	/* work is recorded in bursts (wire_burst) that cost so many millionths of the time at
	 * most; 0: all is recorded */
	uint32_t overhead;
	/* at the end of a recording the tracer is taken out of a program that goes on, where that
	 * is safe */
	uint32_t finalize;
	uint32_t markers; /* stretches of time that the program names (wire_marker) */
	/* where times cost much, one of so many pieces of work has some; 0: all have */
	uint32_t times_one_in;
	uint8_t pad0[8];
	/* The writers' side of the ring: slots ever reserved. */
	uint64_t head;
	uint8_t pad1[56];
	/* The reader's side: slots ever released. */
	uint64_t tail;
	uint8_t pad2[56];
	/* Recorder to library. */
	uint32_t command;   /* enum wire_command */
	uint32_t heartbeat; /* changes while the recorder lives */
	/* changes when code was mapped over other code: stacks from before are void */
	uint32_t code_epoch;
	/* the greatest space_asked whose answer is in wire_space; a futex */
	uint32_t space_answered;
	uint8_t pad3[48];
	/* Library to recorder. */
	uint32_t state;	 /* enum wire_state */
	uint32_t reason; /* enum wire_reason */
	uint32_t fills;	 /* set by the library with its "look at me", cleared by the recorder */
	uint32_t wake;	 /* futex: the recorder adds one and wakes the library's thread */
	uint32_t echo;	 /* the heartbeat as the library last saw it: it lives too */
	uint32_t space_asked; /* added to when the library wants to know what is mapped now */
	uint32_t finalized;   /* enum wire_finalized */
	/* how long it took to stop in a program that goes on, until nothing calls back and all was
	 * sent, and how much of that the tracer took; 0: not known */
	uint32_t stop_us;
	uint32_t stop_tracer_us;
	uint8_t pad4[28];
	uint64_t counts[WIRE_COUNTS];
	/* The time of all work that the tracer reported, added up before anything else is done with
	 * it. The profile's GPU time is compared with it. */
	uint64_t reported_ns;
};

/* What a walker needs of this process. The library copies it, and uses a copy during which
 * `sequence` was even and stayed the same. */
struct wire_space {
	uint32_t sequence; /* odd while the recorder writes; 0: nothing was written so far */
	uint32_t count;
	uint32_t pending;    /* of the mappings: those whose table is being made */
	uint32_t generation; /* of the code: comes back with stacks */
	/* layout WALK_PYTHON_NONE: no interpreter, or none that can be walked */
	struct walk_python python;
	struct walk_mapping mappings[WIRE_MAPPINGS];
};

enum wire_type {
	WIRE_CALL = 1,
	WIRE_WORK,
	WIRE_NODE,
	WIRE_STRING,
	WIRE_OP,
	WIRE_DEVICE,
	WIRE_FORGET, /* all string and op ids are void; the numbering begins anew */
	WIRE_TRACER,
	WIRE_CLOCK,
	WIRE_LAUNCH,
	WIRE_STACK,
	WIRE_STALL_REASON,
	WIRE_FUNCTION,
	WIRE_WINDOW,
	WIRE_STALLS,
	WIRE_STALLS_REFUSED,
	WIRE_TRACER_ENDED,
	WIRE_EVENT_RECORD,
	WIRE_THREAD,
	WIRE_BURST,
	WIRE_MARKER,
	WIRE_CODE,
	WIRE_STALLS_HELD,
	WIRE_TYPES
};

/* Kinds of calls of a GPU API, numbered as enum profile_call_kind. */
enum wire_call_kind {
	WIRE_CALL_LAUNCH = 1,
	WIRE_CALL_COPY,
	WIRE_CALL_SET,
	WIRE_CALL_GRAPH,
	WIRE_CALL_SYNC,
	WIRE_CALL_NODE,
	/* records an event: the library follows it where it reports what calls wait for; never
	 * sent */
	WIRE_CALL_EVENT,
};

/* Flags of a call, the bits of GPU_CALL_*. */
enum wire_call_flag {
	/* the stream was being captured: it made graph nodes, no work */
	WIRE_FLAG_CAPTURED = 1 << 0,
	WIRE_FLAG_EMPTY = 1 << 1,    /* it asked for zero bytes or an empty graph */
	WIRE_FLAG_UNMARKED = 1 << 2, /* its marker was not called (no stacks wanted) */
};

/* What a call waits for, numbered as enum profile_sync_kind. */
enum wire_sync_kind {
	WIRE_SYNC_STREAM = 1,
	WIRE_SYNC_EVENT,
	WIRE_SYNC_CONTEXT,
};

/* An outermost call of the GPU API returned. */
struct wire_call {
	uint8_t type;
	uint8_t kind;	/* enum wire_call_kind */
	uint16_t flags; /* enum wire_call_flag */
	uint32_t tid;	/* as the process sees it */
	uint32_t correlation;
	int32_t result;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t api; /* the API's own number of the call */
	/* from here on: of a call that waits for the GPU (copies may) or launches a graph, if
	 * `syncs` is set */
	uint32_t context;
	uint64_t event;	   /* its handle, of WIRE_SYNC_EVENT only */
	uint32_t stream;   /* of WIRE_SYNC_STREAM, and of launches of graphs; 0: unknown */
	uint8_t waits_for; /* enum wire_sync_kind; 0: nothing, or unknown */
	uint8_t pad[3];
};

/* A call begins whose stack was sent before: this replaces the launch marker. */
struct wire_launch {
	uint8_t type;
	uint8_t kind; /* enum wire_call_kind */
	uint16_t pad;
	uint32_t tid; /* as the process sees it */
	uint32_t correlation;
	uint32_t stack; /* its number; 0: it has none */
	uint64_t time_ns;
	uint8_t pad2[32];
};

enum {
	WIRE_STACK_PYTHON_INCOMPLETE = 1 << 0,
	/* code was mapped since we got the list of mappings (space.h) */
	WIRE_STACK_DOUBTFUL = 1 << 1,
	WIRE_STACK_UNLOADED = 1 << 2, /* and some was unmapped */
};

/*
 * A stack, as the library walked it: once for each number, before any launch that names it. With
 * number 0 it is that of one launch alone, and stands for the wire_launch as well. The frames
 * follow, leaf first: user_depth words, then python_depth pairs of words (walk/frame.h). The first
 * is the caller of the library.
 */
struct wire_stack {
	uint8_t type;
	uint8_t kind;	      /* with number 0 */
	uint8_t walk_end;     /* enum walk_end */
	uint8_t flags;	      /* WIRE_STACK_* */
	uint32_t tid;	      /* with number 0 */
	uint32_t correlation; /* with number 0 */
	uint32_t number;
	uint32_t generation; /* of the wire_space that it was walked by */
	uint16_t user_depth;
	uint16_t python_depth;
	uint64_t time_ns;
};

enum wire_marker_kind {
	WIRE_MARKER_MOMENT = 1,
	WIRE_MARKER_BEGIN,
	WIRE_MARKER_END, /* has no name */
};

/* The program marked a moment, or the begin or the end of a stretch of time. The two of a
 * stretch have the same number; they may come in either order. */
struct wire_marker {
	uint8_t type;
	uint8_t kind; /* enum wire_marker_kind */
	uint16_t pad;
	uint32_t number;
	uint32_t tid;  /* as the process sees it; 0: not known */
	uint32_t name; /* string ids; 0: none */
	uint32_t domain;
	uint32_t pad2;
	uint64_t time_ns;
	uint8_t pad3[24];
};

/* What happened to a node of a graph, numbered as enum gpu_node_change. */
enum wire_node_change {
	WIRE_NODE_CREATED = 1, /* by the call `correlation` */
	WIRE_NODE_CLONED,      /* from `original` (clone, instantiate) */
	WIRE_NODE_DESTROYED,
};

/* Kinds of GPU work, numbered as enum profile_op_kind. */
enum wire_work_kind {
	WIRE_WORK_KERNEL = 1,
	WIRE_WORK_COPY,
	WIRE_WORK_SET,
};

enum wire_work_flag {
	/* its times were not asked for (times_one_in): others stand for it */
	WIRE_WORK_NOT_TIMED = 1 << 0,
	WIRE_WORK_HAS_GRID = 1 << 1,
};

#define WIRE_WORK_GRID_SHIFT 4

/* A piece of GPU work ended. */
struct wire_work {
	uint8_t type;
	uint8_t kind; /* enum wire_work_kind */
	/* enum wire_work_flag; above them, of a kernel with a grid, bits 32 to 43 of that */
	uint16_t flags;
	uint32_t op;
	uint32_t correlation;
	union {
		uint32_t stands_for; /* so many, itself included; 0: itself */
		uint32_t grid;	     /* the id that a kernel reads itself, if the flag says so */
	};
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t graph_node;
	union {
		uint64_t bytes; /* copies and sets */
		uint64_t queued_ns;
	};
	uint64_t submitted_ns;
};

struct wire_node {
	uint8_t type;
	uint8_t change; /* enum wire_node_change */
	uint16_t pad;
	uint32_t correlation;
	uint64_t node;
	uint64_t original;
	uint8_t pad2[32];
};

/* Ids are counted from 1 up, in this order. `size` bytes of text follow; no NUL. */
struct wire_string {
	uint8_t type;
	uint8_t pad[3];
	uint32_t id;
	uint32_t size;
	uint32_t pad2;
};

struct wire_op {
	uint8_t type;
	uint8_t kind;	   /* enum wire_work_kind */
	uint8_t copy_kind; /* enum profile_copy_kind */
	uint8_t source_memory;
	uint8_t target_memory;
	uint8_t pad[3];
	uint32_t id;
	uint32_t device; /* number in this process */
	uint32_t context;
	uint32_t stream;
	uint32_t name; /* string id */
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t registers;
	uint32_t shared_static_bytes;
	uint32_t shared_dynamic_bytes;
};

/* Followed by `name_size` bytes of its name. */
struct wire_device {
	uint8_t type;
	uint8_t pad[3];
	uint32_t number; /* in this process */
	uint32_t sm_count;
	uint32_t name_size;
	uint64_t memory_bytes;
	uint8_t uuid[16];
	uint32_t clock_khz; /* of the multiprocessors, at most; 0: not known */
	uint32_t pad2;
};

/* Which tracer is in use. Followed by `path_size` bytes of its path. */
enum wire_tracer_state {
	WIRE_TRACER_REPORTS,
	WIRE_TRACER_FAILED, /* the API could not begin, so there is nothing to report */
	WIRE_TRACER_UNUSED, /* nothing was asked for that is recorded */
};

struct wire_tracer {
	uint8_t type;
	uint8_t api; /* number of the API */
	uint8_t state;
	uint8_t pad;
	uint32_t api_version;	 /* the tracer's */
	uint32_t driver_version; /* the GPU driver's */
	uint32_t path_size;
	int32_t result; /* WIRE_TRACER_FAILED: of the API's first call */
	uint32_t pad2;
};

enum wire_clock_method {
	WIRE_CLOCK_OURS = 1,   /* the tracer calls our clock: CLOCK_MONOTONIC */
	WIRE_CLOCK_CALIBRATED, /* it has its own, converted by a measured offset */
};

struct wire_clock {
	uint8_t type;
	uint8_t method; /* enum wire_clock_method */
	uint16_t pad;
	uint32_t pad2;
	uint64_t error_ns; /* bound on the conversion */
	int64_t offset_ns; /* what was subtracted from the tracer's times */
	uint8_t pad3[32];
};

/* A reason for warps to wait, by the tracer's index, which may differ between devices: each
 * device's are sent. Followed by `name_size` bytes of its name. */
struct wire_stall_reason {
	uint8_t type;
	uint8_t pad[3];
	uint32_t device; /* ordinal in this process */
	uint32_t index;	 /* below WIRE_STALL_REASONS */
	uint32_t name_size;
};

/* A function of GPU code. Ids are counted from 1 up, in this order, and stay valid after
 * WIRE_FORGET. Followed by `name_size` bytes of its mangled name. */
struct wire_function {
	uint8_t type;
	uint8_t api; /* number of the API: one of a process at most */
	uint8_t pad[2];
	uint32_t id;
	uint64_t checksum; /* of its image */
	uint32_t index;	   /* of its symbol in the image */
	uint32_t name_size;
};

/* Code of a kernel is in a GPU's memory, for whoever samples instructions by their addresses; or is
 * not there any more. Followed by `name_size` bytes of the kernel's linker name. */
struct wire_code {
	uint8_t type;
	uint8_t api;
	uint8_t gone; /* of all fields only api, device, address and time mean something */
	uint8_t pad;
	uint32_t device; /* ordinal in this process, sent before */
	uint64_t address;
	uint64_t size;
	uint64_t time_ns;
	uint64_t checksum; /* of its image; 0: there is none */
	uint32_t context;
	uint32_t name_size;
};

/* A window (profile_window) of one context is over. What was seen in it follows in WIRE_STALLS,
 * before the next window. */
struct wire_window {
	uint8_t type;
	uint8_t exact;
	uint8_t period;	     /* 2^period cycles */
	uint8_t safe_period; /* with which the tracer does not fall behind; 0: not known */
	uint32_t device;     /* ordinal in this process */
	uint32_t context;
	uint32_t pad2;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t samples;
	uint64_t dropped;
	uint64_t without_code;
};

/* A burst (profile_burst) is over, with the period that it stands for: that ends at until_ns, or
 * earlier with the next one's since_ns. Its calls came before it. */
struct wire_burst {
	uint8_t type;
	uint8_t pad[7];
	uint64_t since_ns; /* the period */
	uint64_t until_ns;
	uint64_t start_ns; /* the burst: end_ns, if there was none */
	uint64_t end_ns;
	uint64_t pad2[2];
};

/* `count` wire_stall rows follow, of the latest window. */
struct wire_stalls_head {
	uint8_t type;
	uint8_t pad[3];
	uint32_t count;
};

struct wire_stall {
	uint32_t function;
	uint32_t offset;
	uint32_t reason; /* index */
	uint32_t samples;
	uint32_t correlation; /* in exact windows; else 0 */
	uint32_t pad;
};

enum wire_stalls_refusal {
	WIRE_STALLS_RIGHTS = 1,	 /* the driver lets only administrators sample */
	WIRE_STALLS_DEVICE,	 /* the device or driver cannot */
	WIRE_STALLS_BUSY,	 /* something else in this or another process samples */
	WIRE_STALLS_MEMORY,	 /* no room on the device */
	WIRE_STALLS_NO_FUNCTION, /* this tracer lacks what is needed */
	WIRE_STALLS_OTHER,
	WIRE_STALLS_DISPLACED, /* another process has begun to sample the device, which ends ours */
	WIRE_STALLS_CONTEXTS,  /* more contexts than we have slots for */
	WIRE_STALLS_LATE,      /* a context ended, and its last samples could not be waited for */
	WIRE_STALLS_CONTEXT,   /* another context of the process on this device is sampled */
	WIRE_STALLS_PROCESS,   /* another process of the user, or of root, samples this device */
	WIRE_STALLS_STRANGER,  /* no refusal: another user claims the device, which is sampled */
	WIRE_STALLS_OVERRUN, /* the tracer's memory for samples was full, and nothing came later */
	WIRE_STALLS_UNFETCHED, /* it ended while the tracer still had samples to hand over */
	WIRE_STALLS_SEVERAL,   /* a program that was joined uses several contexts */
	WIRE_STALLS_EARLIER,   /* a call may go on there that began before the library came */
	WIRE_STALLS_INSIDE,    /* some thread of it always was in a call */
	/* no refusal: the tracer does not know the code that was loaded before it sampled */
	WIRE_STALLS_NAMELESS,
	WIRE_STALLS_REFUSALS
};

/* A context is not sampled, or not any longer. */
struct wire_stalls_refused {
	uint8_t type;
	uint8_t refusal; /* enum wire_stalls_refusal */
	/* where samples came too fast: 2^period cycles are slow enough; 0: not known */
	uint8_t period;
	uint8_t api; /* number of the API */
	uint32_t device;
	uint32_t context;
	int32_t result;	     /* the tracer's */
	uint32_t holder_pid; /* who has the device, as the process sees it; 0: not known */
	uint32_t holder_uid; /* UINT32_MAX: not known */
	uint8_t pad2[32];
};

enum wire_stalls_switch {
	WIRE_STALLS_ON = 1,
	WIRE_STALLS_OFF,
	WIRE_STALLS_KEPT, /* it could not be switched off so far */
	/* a program was armed (inject/api.h, `arm`), and is no more; or it still is, and so was
	 * not recorded */
	WIRE_STALLS_DISARMED,
	WIRE_STALLS_ARMED,
	WIRE_STALLS_SWITCHES
};

/* Sampling was switched in a program that was joined: for that its calls were held. */
struct wire_stalls_held {
	uint8_t type;
	uint8_t what; /* enum wire_stalls_switch */
	uint8_t pad[2];
	uint32_t tries;
	uint64_t held_ns; /* so long a thread waited at most */
	/* enabling, configuring and starting; stopping, fetching and disabling */
	uint64_t steps_ns[3];
	uint64_t pad2[2];
};

/*
 * The tracer has stopped working in this process. Nothing that happens from now on will be
 * reported, and some of what was launched shortly before is lost. Followed by `message_size` bytes
 * of the tracer's message.
 */
struct wire_tracer_ended {
	uint8_t type;
	uint8_t pad[3];
	int32_t result;	   /* the tracer's */
	uint64_t since_ns; /* until then it worked */
	uint32_t message_size;
	uint32_t pad2;
};

/* An event is recorded in a stream, whether or not anybody will wait for it. Sent before the call
 * that records it returns, and so before any call that waits for it. */
struct wire_event_record {
	uint8_t type;
	uint8_t pad[3];
	uint32_t context;
	uint32_t stream;
	uint32_t pad2;
	uint64_t event; /* its handle */
	uint64_t time_ns;
	uint8_t pad3[24];
};

/* The library's own thread has begun: once. */
struct wire_thread {
	uint8_t type;
	uint8_t pad[3];
	uint32_t tid; /* as the process sees it */
	uint8_t pad2[48];
};

_Static_assert(sizeof(struct wire_control) <= WIRE_CONTROL_BYTES, "control page");
_Static_assert(sizeof(struct wire_call) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_launch) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_work) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_node) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_clock) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_window) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_stalls_refused) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_stalls_held) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_event_record) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_thread) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_space) <= WIRE_SPACE_BYTES, "space");
_Static_assert(sizeof(struct wire_stack) % 8 == 0, "words follow");
_Static_assert(sizeof(struct wire_stack) + WALK_FRAMES_MAX * 8 + WALK_PYTHON_FRAMES_MAX * 16 <=
		       WIRE_RECORD_SLOTS * WIRE_PAYLOAD_BYTES,
	"the longest stack fits into a record");
