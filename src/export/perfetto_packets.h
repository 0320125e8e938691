/* SPDX-License-Identifier: MIT */
/*
 * Packets of a Perfetto trace: one at a time is put together and written. All are of one sequence,
 * in which names, frames and stacks are sent once and then referred to by number.
 *
 * Format: perfetto.dev, protos/perfetto/trace/. Owned by the caller. Short memory is said by
 * packet_write. One thread at a time.
 */
#pragma once

#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"
#include "export/compressor.h"
#include "export/output.h"
#include "view/tree/tree.h"

/* Categories of events. */
enum packet_category {
	PACKET_CALL = 1,
	PACKET_KERNEL,
	PACKET_COPY,
	PACKET_SET,
	PACKET_WAIT,
	PACKET_DRIVER,
	PACKET_FACTS,
	PACKET_MARKER,
	PACKET_CATEGORIES
};

/* What an event may have besides. */
enum packet_argument {
	PACKET_CORRELATION = 1,
	PACKET_BYTES,
	PACKET_GRAPH_NODE,
	PACKET_GRID,
	PACKET_BLOCK,
	PACKET_RESULT,
	PACKET_WEIGHT,
	PACKET_WAKER,
	PACKET_OTHERS,
	PACKET_OTHERS_NS,
	PACKET_JOB,
	PACKET_COMM,
	PACKET_DOMAIN,
	PACKET_ARGUMENTS
};

struct packets {
	struct output *output;
	const struct tree *tree; /* of the stacks */
	struct buf block;	 /* packets that are written together; the last is put together */
	size_t packet;		 /* mark of that one */
	struct buf interned;	 /* what goes with it */
	struct interner *names, *values;
	struct vec(uint8_t) frames, stacks; /* by id: sent */
	struct buf path;
	struct compressor *compressor;
	struct buf compressed_head; /* of the field before them, compressed */
	size_t event;		    /* mark */
};

/* 0 or -errno with error_text; release it in either case. */
int packets_init(struct packets *p, struct output *o, const struct tree *t);
void packets_release(struct packets *p);
/* The first packets: clocks, what is the same in all others, categories and arguments. */
int packets_begin(struct packets *p, uint64_t start_ns, uint64_t realtime_ns);

/* Numbers of a name of events, a text argument; sent with the packet that is put together. The
 * texts are printable. */
uint32_t packet_name(struct packets *p, const char *name, size_t size);
uint32_t packet_value(struct packets *p, const char *text, size_t size);
/* Those of a stack are its node. */
void packet_need_stack(struct packets *p, uint32_t node);

/* A packet, with or without a time; what is put in between is its fields. */
void packet_open(struct packets *p);
void packet_begin(struct packets *p, uint64_t time_ns);
int packet_write(struct packets *p);
/* After the last one. */
int packets_flush(struct packets *p);

/* Kinds of events. */
enum { EVENT_BEGINS = 1, EVENT_ENDS, EVENT_INSTANT, EVENT_COUNTER };
/* An event inside a packet. */
void packet_event_begin(struct packets *p, unsigned int type, uint64_t track);
void packet_event_end(struct packets *p);
void packet_event_name(struct packets *p, enum packet_category category, uint32_t name);
/* 0: it is not known. */
void packet_event_stack(struct packets *p, uint32_t node);
/* Arrows lead from each event with this number to the next. */
void packet_event_flow(struct packets *p, uint64_t id);
/* These two also for arguments that are put together ahead. */
void packet_argument(struct buf *b, enum packet_argument argument, uint64_t value);
void packet_text_argument(struct buf *b, enum packet_argument argument, uint32_t value);
/* By name, which is sent with the event. */
void packet_fact(struct packets *p, const char *name, const char *value);
