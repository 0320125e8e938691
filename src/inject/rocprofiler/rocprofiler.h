/* SPDX-License-Identifier: MIT */
/*
 * AMD's rocprofiler-sdk in the injected library: a tool of it, which it calls back around calls of
 * HIP that are followed, and to which it hands what GPUs have done.
 *
 *	rocprofiler.c  begin and end; what is asked of rocprofiler-sdk
 *	calls.c        calls of HIP: the launch path
 *	streams.c      streams of the program, by their handles
 *	hip_graphs.c   graphs, and which node work is of
 *	tickets.c      nodes, on their way to where the work's end is reported
 *	symbols.c      kernels, from when their code is loaded
 *	agents.c       devices, as they are reported, and their clock
 *	ended.c        what GPUs have done: from rocprofiler-sdk's thread to ours
 *	report.c       that as records: our thread
 *	code.c         functions of a code object
 *	objects.c      code objects that are loaded, where instructions are sampled
 *	locations.c    which part of which file a code object is
 *	samples.c      samples of instructions
 *
 * Work meets its call by an id of ours: rocprofiler-sdk asks for one in the thread that hands work
 * to a GPU, while that is still in the call, and gives it back with the work. Its own ids would be
 * those of the innermost call that anybody traces.
 *
 * `rocprofiler` is constant before the first callback.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/device_clock.h"
#include "inject/launches.h"
#include "inject/library.h"
#include "inject/names.h"
#include "inject/rocprofiler/abi.h"
#include "vendor/amd/calls.h"

extern struct rocprofiler_functions rocprofiler;

/* --- calls.c */

/* The id of work that nobody is to hear of: it was asked for while nothing was recorded. */
#define NOT_RECORDED UINT64_MAX

/* Operations are numbered anew in each. */
enum call_table { CALLS_OF_HIP, CALLS_OF_HSA, CALLS_OF_HSA_EXTENSIONS, CALL_TABLES };

rocprofiler_on_call on_call;
rocprofiler_on_call on_hsa_call; /* data: the table */
rocprofiler_on_call on_dispatch;
rocprofiler_on_request on_request;
/* Finds out which numbers calls have in this version. Gives those that are followed, at most
 * AMD_CALL_NUMBERS. */
size_t calls_find(enum call_table table, int32_t kind, int32_t *ret_operations);
/* Of pieces of work, since the program began: those that calls have asked for. */
uint64_t calls_asked(void);

/* A word of the arguments: false, this version has none there. */
bool calls_argument(const struct rocprofiler_call_data *data, size_t place, void **ret);

#define STREAM_BITS 16
#define TICKET_BITS 16
/* In the place of a stream: work of HSA alone, which is in queues. */
#define STREAM_OF_QUEUE ((1u << STREAM_BITS) - 1)

/* The id of a piece of work is that of its call, and above that the number of its stream and, in a
 * graph, a ticket. */
static inline uint64_t work_id(uint32_t correlation, uint32_t stream, uint32_t ticket)
{
	return correlation | (uint64_t)stream << 32 | (uint64_t)ticket << (32 + STREAM_BITS);
}

static inline uint32_t id_correlation(uint64_t external)
{
	return (uint32_t)external;
}

static inline uint32_t id_stream(uint64_t external)
{
	return (uint32_t)(external >> 32) % (1u << STREAM_BITS);
}

static inline uint32_t id_ticket(uint64_t external)
{
	return (uint32_t)(external >> (32 + STREAM_BITS));
}

/* --- tickets.c */

uint32_t tickets_take(void);
void tickets_fill(uint32_t ticket, uint32_t correlation, uint32_t node);
/* Our thread: 0, none is known. */
uint32_t tickets_node(uint32_t ticket, uint32_t correlation);

/* On the wire, where nodes of all APIs are. */
static inline uint64_t node_id(uint32_t node)
{
	return (uint64_t)AMD_API << 56 | node;
}

/* --- streams.c */

int hip_streams_init(void);
/* The program has got this one. */
void hip_streams_made(const void *handle);
/* Its number; 0: not known. The launch path. */
uint32_t hip_streams_number(const void *handle);
/* Our thread: work of this stream was on a device (index). */
void hip_streams_on_device(uint32_t number, uint32_t device);
/* The context of that device; 0: nothing is known so far, or the stream is each device's own. */
uint32_t hip_streams_context(uint32_t number);

/* --- symbols.c */

struct kernel {
	const char *name; /* NULL: not known */
	uint32_t registers;
	uint32_t group_bytes;
};

int symbols_init(void);
rocprofiler_on_call on_code;
struct kernel symbols_get(uint64_t id);

/* --- agents.c */

#define AGENTS_MAX 64

/* Finds all: false, there is no room, or they cannot be asked for. */
bool agents_find(void);
uint32_t agents_count(void);
uint64_t agents_handle(uint32_t index);
/* Index of a device; -1: it is none. */
int agents_index(uint64_t agent);
/* The context that stands for a device (index). */
uint32_t agents_context(uint32_t index);
/* Our thread: sends it, once, and gives its number. */
uint32_t agents_introduce(uint32_t index);
/* Our thread: asks for the time, now and then. */
void agents_ask(void);
extern struct device_clock agents_clock;

/* --- ended.c  */

/* A piece of work that has ended, as rocprofiler-sdk reported it. */
struct ended {
	uint8_t kind;	   /* enum wire_work_kind */
	uint8_t direction; /* of a copy: an operation */
	uint32_t group_bytes;
	uint64_t external;
	uint64_t start_ns, end_ns; /* of the tracer's clock */
	uint64_t agent;
	uint64_t kernel;
	uint64_t queue;
	uint64_t bytes;
	uint32_t workgroup[3], grid[3];
};

/* The version's numbers of what is in buffers. */
extern struct ended_kinds {
	uint32_t dispatch, copy;
} ended_kinds;

int ended_init(void);
rocprofiler_on_buffer on_buffer;
/* Our thread: all that there are. */
void ended_drain(void (*visit)(const struct ended *p));
/* So many have come so far, and have been lost. */
uint64_t ended_arrived(void);

/* --- objects.c */

struct sampled_function {
	uint64_t address, size;
	uint32_t index; /* of its symbol */
	uint32_t id;	/* on the wire; 0: it was not sent so far */
	const char *name;
};

int objects_reserve(void);
void objects_loaded(const struct rocprofiler_code_object *o);
/* Our thread: what is at a place of an object, and where in it; NULL: no function, or not known.
 * The device is that of the object, -1: that is not known. */
struct sampled_function *objects_function(uint64_t id, uint64_t offset, int *ret_device,
	uint64_t *ret_checksum, uint64_t *ret_offset);

/* --- samples.c */

/* Asks for samples, if they are wanted; else, or if they cannot be had, that is reported. */
void samples_begin(uint64_t context, uint32_t version);
rocprofiler_on_buffer on_samples;
/* Our thread: sends all that there are. */
void samples_drain(void);

/* --- rocprofiler.c */

/* A buffer of its own: 0, or rocprofiler-sdk's status. */
int make_buffer(rocprofiler_on_buffer *callback, uint64_t *ret);
/* The program uses HIP: calls of HSA are those of its runtime. */
void hsa_is_not_alone(void);
/* From now on on_dispatch is called: the program uses graphs. */
void follow_dispatches(void);

/* --- report.c */

void report_ended(const struct ended *p);
void report_ended_round(void);
