/* SPDX-License-Identifier: MIT */
/*
 * What is reported of GPUs before anything is joined: the interface between src/capture/ (stacks at
 * launches), src/gpu/ (calls and work) and src/correlate/ (which joins them).
 *
 * An `instance` is one connection of one injected library, numbered by the recorder from 1; it
 * never comes twice in a recording. A correlation id is unique within an instance (32 bits, may
 * wrap).
 */
#pragma once

#include "profile/model.h"

/* A call that asks for work (or waits for it) began: the calling thread's stack at this moment. */
struct gpu_launch {
	uint32_t instance;
	uint32_t correlation;
	uint64_t time_ns;
	uint32_t pid;
	uint32_t thread;     /* profile id */
	uint32_t stack;	     /* profile id; 0: there is none */
	uint32_t incomplete; /* enum profile_loss: why it does not reach its root; 0: it does */
	enum profile_call_kind kind;
};

enum {
	/* the stream was being captured: it made graph nodes, no work */
	GPU_CALL_CAPTURED = 1 << 0,
	GPU_CALL_EMPTY = 1 << 1,    /* it asked for zero bytes or an empty graph */
	GPU_CALL_UNMARKED = 1 << 2, /* its marker was not called (no stacks wanted) */
};

/* What a call waited for. */
struct gpu_wait_target {
	enum profile_sync_kind kind; /* 0: nothing, or it is not known */
	uint32_t device;	     /* profile id; 0: not known */
	uint32_t context;
	uint32_t stream; /* SYNC_STREAM */
	uint64_t event;	 /* SYNC_EVENT: what was recorded last before the call */
};

/* An outermost call of a GPU API returned. */
struct gpu_call {
	uint32_t instance;
	uint32_t correlation;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t thread; /* profile id */
	uint32_t api;	 /* string id */
	enum profile_call_kind kind;
	int32_t result;
	uint32_t flags;
	struct gpu_wait_target waits_for; /* of kind CALL_SYNC only */
	/* of kind CALL_GRAPH: what the graph was launched into; 0: not known */
	uint32_t graph_context, graph_stream;
};

/* A piece of GPU work ended. */
struct gpu_work {
	uint32_t instance;
	uint32_t correlation;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t queued_ns;
	uint64_t submitted_ns;
	uint64_t bytes;
	uint64_t graph_node;
	uint64_t grid;	     /* as in profile_work */
	uint32_t op;	     /* profile id */
	uint32_t stands_for; /* as in profile_work */
	bool not_timed;	     /* its times were not asked for, and another one stands for it */
};

enum gpu_node_change {
	GPU_NODE_CREATED = 1, /* by the call `correlation` */
	GPU_NODE_CLONED,      /* from `original` (clone, instantiate) */
	GPU_NODE_DESTROYED,
};

/* A node of a graph of GPU work came or went. */
struct gpu_node {
	uint32_t instance;
	enum gpu_node_change change;
	uint32_t correlation; /* 0: made outside any call we saw */
	uint64_t node;
	uint64_t original;
};

/* An event was recorded in a stream; reported before any call that waits for it. */
struct gpu_event_record {
	uint32_t instance;
	uint32_t device; /* profile id; 0: not known */
	uint32_t context;
	uint32_t stream;
	uint64_t event; /* which; recorded anew it is the same */
	uint64_t time_ns;
};

/* Who receives events of GPUs. Each function returns 0 or -errno, which stops the recording. */
struct gpu_events {
	void *context;
	int (*launch)(void *context, const struct gpu_launch *e);
	int (*call)(void *context, const struct gpu_call *e);
	int (*work)(void *context, const struct gpu_work *e);
	int (*node)(void *context, const struct gpu_node *e);
	/* NULL: of no interest. */
	int (*event_record)(void *context, const struct gpu_event_record *e);
	/* NULL: of no interest. Nothing more is reported of this instance, before its process is
	 * over: what still waits does so in vain. Its end follows. */
	int (*instance_broken)(void *context, uint32_t instance);
	/* The instance is over: nothing more will come from it. */
	int (*instance_end)(void *context, uint32_t instance);
};
