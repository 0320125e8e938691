/* SPDX-License-Identifier: MIT */
/*
 * What the injected library and the recorder say to each other. Standalone: both sides include it
 * and nothing else of each other's (ring.h, calls.h and marker.h belong to it).
 *
 * Connecting, over a SOCK_SEQPACKET socket whose path is in $XPUPROF_SOCKET:
 *
 *	library                                recorder
 *	   | ---- wire_hello ------------------> |  peer credentials checked
 *	   | <--- wire_welcome + memfd --------- |  or a refusal, without a memfd
 *	   |      ... recording ...              |
 *	   | ---- one byte: "the ring fills" --> |  at most one until the ring is drained again
 *
 * From then on everything goes through the memfd; the socket is kept to notice that the other side
 * is gone. The memfd is sealed against changes of its size, so neither side can make the other
 * fault:
 *
 *	0        control page: struct wire_control
 *	4096     slot 0 | slot 1 | ... | slot N-1       64 bytes each, N a power of two
 *
 * How records lie in the slots is ring.h. What a record says is below. The library may be scribbled
 * over by the program it lives in, so the recorder checks everything it reads; the library trusts
 * the recorder.
 *
 * Numbers are the machine's own byte order: both sides run on one machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WIRE_MAGIC      0x5558504cu /* "LPXU" in memory */
#define WIRE_VERSION    1u
#define WIRE_ENV_SOCKET "XPUPROF_SOCKET"

#define WIRE_CONTROL_BYTES 4096u
#define WIRE_SLOT_BYTES    64u
#define WIRE_PAYLOAD_BYTES 56u   /* of a slot: the rest is its commit word */
#define WIRE_RECORD_SLOTS  1024u /* the longest record */
#define WIRE_MIN_SLOTS     4096u
#define WIRE_MAX_SLOTS     (1u << 24)

/* Numbers a library may give out; ids beyond them are an error. */
#define WIRE_STRINGS 16384u
#define WIRE_OPS     65536u
#define WIRE_DEVICES 256u
#define WIRE_STACKS  16384u

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

enum wire_command {
	WIRE_COMMAND_NONE = 0,
	WIRE_COMMAND_STOP, /* flush, disable everything, say WIRE_DONE */
};

enum wire_state {
	WIRE_STARTING = 0,
	WIRE_RUNNING, /* subscribed and recording */
	WIRE_DONE,    /* flushed; nothing more will come (stop, or the end of the process) */
	WIRE_QUIET,   /* gave up; `reason` says why */
};

enum wire_reason {
	WIRE_REASON_NONE = 0,
	WIRE_REASON_TAKEN,    /* another profiler holds CUPTI */
	WIRE_REASON_NO_CUPTI, /* no libcupti that fits the driver */
	WIRE_REASON_CUPTI,    /* CUPTI refused; `detail` is its result code */
	WIRE_REASON_MEMORY,   /* memory or threads were short */
	WIRE_REASONS
};

/* What the library counts instead of sending. Only ever grows. */
enum wire_count {
	WIRE_LOST_CALLS,       /* the ring was full: calls */
	WIRE_LOST_WORK,        /* the ring was full: work */
	WIRE_LOST_NODES,       /* the ring was full: graph nodes */
	WIRE_DROPPED_BY_CUPTI, /* CUPTI had no room for these */
	WIRE_UNKNOWN,          /* activity records of kinds or sizes we do not understand */
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
	uint8_t pad0[40];
	/* The writers' side of the ring: slots ever reserved. */
	uint64_t head;
	uint8_t pad1[56];
	/* The reader's side: slots ever released. */
	uint64_t tail;
	uint8_t pad2[56];
	/* Recorder to library. */
	uint32_t command;   /* enum wire_command */
	uint32_t heartbeat; /* changes while the recorder lives */
	uint32_t code_generation; /* changes when code was mapped into this process */
	uint32_t code_epoch;      /* and this when it was mapped over other code; it changes first */
	uint8_t pad3[48];
	/* Library to recorder. */
	uint32_t state;  /* enum wire_state */
	uint32_t reason; /* enum wire_reason */
	uint32_t detail;
	uint32_t fills; /* set by the library with its "the ring fills", cleared by the recorder */
	uint32_t wake;  /* futex: the recorder adds one and wakes the library's thread */
	uint32_t echo;  /* the heartbeat as the library last saw it: it lives too */
	uint8_t pad4[40];
	uint64_t counts[WIRE_COUNTS];
	/* The time of all work that CUPTI told of, added up before anything else is done with it:
	 * what the profile's GPU time is compared with. */
	uint64_t reported_ns;
	/* Recorder to library: a bit for each stack number whose stack it has, never taken back.
	 * Number n is bit n - 1. */
	uint8_t known_stacks[WIRE_STACKS / 8];
};

enum wire_type {
	WIRE_CALL = 1,
	WIRE_WORK,
	WIRE_NODE,
	WIRE_STRING,
	WIRE_OP,
	WIRE_DEVICE,
	WIRE_FORGET,  /* all string and op ids are void; the numbering begins anew */
	WIRE_CUPTI,
	WIRE_CLOCK,
	WIRE_LAUNCH,
	WIRE_TYPES
};

/* An outermost CUDA call returned. */
struct wire_call {
	uint8_t type;
	uint8_t kind;    /* enum profile_call_kind */
	uint16_t flags;  /* GPU_CALL_* */
	uint32_t tid;    /* as the process sees it */
	uint32_t correlation;
	int32_t result;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t api; /* CUDA_CALL_ID of calls.h */
	uint8_t pad[20];
};

/* A call begins whose stack the recorder knows: said instead of firing the launch marker. */
struct wire_launch {
	uint8_t type;
	uint8_t kind; /* enum profile_call_kind */
	uint16_t pad;
	uint32_t tid; /* as the process sees it */
	uint32_t correlation;
	uint32_t stack;
	uint64_t time_ns;
	uint8_t pad2[32];
};

/* A piece of GPU work ended. */
struct wire_work {
	uint8_t type;
	uint8_t kind; /* enum profile_op_kind */
	uint16_t pad;
	uint32_t op;
	uint32_t correlation;
	uint32_t pad2;
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
	uint8_t change; /* enum gpu_node_change */
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
	uint8_t kind;      /* enum profile_op_kind */
	uint8_t copy_kind; /* enum profile_copy_kind */
	uint8_t source_memory;
	uint8_t target_memory;
	uint8_t pad[3];
	uint32_t id;
	uint32_t device; /* ordinal in this process */
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
	uint32_t ordinal;
	uint32_t sm_count;
	uint32_t name_size;
	uint64_t memory_bytes;
	uint8_t uuid[16];
};

/* Which CUPTI is in use. Followed by `path_size` bytes of its path. */
struct wire_cupti {
	uint8_t type;
	uint8_t pad[3];
	uint32_t api_version;    /* cuptiGetVersion */
	uint32_t driver_version; /* cuDriverGetVersion */
	uint32_t path_size;
};

enum wire_clock_method {
	WIRE_CLOCK_OURS = 1,   /* CUPTI calls our clock: CLOCK_MONOTONIC */
	WIRE_CLOCK_CALIBRATED, /* CUPTI has its own, converted by a measured offset */
};

struct wire_clock {
	uint8_t type;
	uint8_t method; /* enum wire_clock_method */
	uint16_t pad;
	uint32_t pad2;
	uint64_t error_ns; /* bound on the conversion */
	int64_t offset_ns; /* what was subtracted from CUPTI's times */
	uint8_t pad3[32];
};

_Static_assert(sizeof(struct wire_control) <= WIRE_CONTROL_BYTES, "control page");
_Static_assert(sizeof(struct wire_call) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_launch) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_work) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_node) == WIRE_PAYLOAD_BYTES, "one slot");
_Static_assert(sizeof(struct wire_clock) == WIRE_PAYLOAD_BYTES, "one slot");

/*
 * The marker's third argument, from which the recorder learns what a number stands for:
 *
 *	  63        40 39   32 31      8 7    0
 *	 +------------+-------+---------+------+
 *	 | generation | depth | number  | kind |    number 0: none
 *	 +------------+-------+---------+------+
 *
 * The number stands for the `depth` innermost return addresses above the caller of the marker, and is to be
 * learnt only if the library saw the code as the recorder does: by the lowest bits of code_generation.
 */
#define WIRE_GENERATION_MASK 0xffffffu

static inline uint64_t wire_marker_argument(
	uint32_t kind, uint32_t number, uint32_t depth, uint32_t generation)
{
	return kind | (uint64_t)number << 8 | (uint64_t)depth << 32 | (uint64_t)generation << 40;
}

static inline bool wire_stack_known(const struct wire_control *c, uint32_t number)
{
	uint8_t byte = __atomic_load_n(&c->known_stacks[(number - 1) / 8], __ATOMIC_ACQUIRE);

	return byte >> (number - 1) % 8 & 1;
}
