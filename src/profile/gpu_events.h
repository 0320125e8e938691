/* SPDX-License-Identifier: MIT */
/*
 * What the sources report before anything is joined: the vocabulary between src/capture/ (stacks at
 * launches), src/gpu/ (calls and work) and src/correlate/ (which joins them).
 *
 * An `instance` is one connection of one injected library, numbered by the recorder from 1; it never
 * comes twice in a recording. A correlation id is unique within an instance (32 bits, may wrap).
 */
#pragma once

#include "profile/model.h"

/* A call that asks for work (or waits for it) began: the calling thread's stack at this moment. */
struct gpu_launch {
	uint32_t instance;
	uint32_t correlation;
	uint64_t time_ns;
	uint32_t pid;
	uint32_t thread; /* profile id */
	uint32_t stack;  /* profile id; 0: could not be taken */
	uint32_t incomplete; /* enum profile_loss: why it does not reach its root; 0: it does */
	enum profile_call_kind kind;
};

/* Code was mapped into a process, at `time_ns` or later. */
struct gpu_code_change {
	uint32_t pid; /* 0: into any */
	uint64_t time_ns;
	bool replaced; /* over other code: what addresses meant is void */
};

struct walk_mapping;
struct walk_python;
struct walk_python_frame;

/*
 * What a walker inside a process needs to know (walk/): told whenever it changed, to the sink that has `space`.
 * Pointers are valid during the call.
 */
struct gpu_space {
	uint32_t pid;
	uint32_t generation; /* changes with it */
	const struct walk_mapping *mappings; /* sorted */
	uint32_t mapping_count; /* 0: the process is gone, or runs another program now */
	const struct walk_python *python; /* NULL: no interpreter */
};

/* A stack that was walked inside a process (walk/frame.h). */
struct gpu_stack {
	uint32_t pid;
	uint32_t walk_end; /* enum walk_end */
	uint32_t generation; /* of the gpu_space that it was walked by; 0: not known */
	uint64_t time_ns;
	const uint64_t *user;
	const struct walk_python_frame *python;
	uint32_t user_depth;
	uint32_t python_depth;
	bool python_incomplete; /* Python's chain was not followed to its end */
	bool doubtful; /* code may have been mapped that the walk did not know of */
	bool unloaded; /* and what it knew may have come and gone */
};

/* Who makes stacks of the profile of those: 0 or -errno. *ret_incomplete: as in gpu_launch; whoever uses the stack
 * counts it, for each use (profile_count_incomplete). */
struct gpu_stack_taker {
	void *context;
	/* The library in this process asks for what its stacks need, as the process maps it now. When it `begins` it is
	 * ready to report calls, and waits for us: tables are to be made ready, as far as that takes no time that a
	 * program would mind. NULL: nothing is. */
	int (*prepare)(void *context, uint32_t pid, bool begins);
	int (*take)(void *context, const struct gpu_stack *s, uint32_t *ret_stack,
		uint32_t *ret_incomplete);
	/* No library is left in this process, unless a new one asks (prepare). NULL: that is of no interest. */
	int (*done)(void *context, uint32_t pid);
};

enum {
	GPU_CALL_CAPTURED = 1 << 0, /* the stream was being captured: it made graph nodes, no work */
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

/* An outermost CUDA call returned. */
struct gpu_call {
	uint32_t instance;
	uint32_t correlation;
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t thread; /* profile id */
	uint32_t api;    /* string id */
	enum profile_call_kind kind;
	int32_t result;
	uint32_t flags;
	struct gpu_wait_target waits_for; /* of kind CALL_SYNC only */
	uint32_t graph_context, graph_stream; /* of kind CALL_GRAPH: what the graph was launched into; 0: not known */
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
	uint32_t op; /* profile id */
};

enum gpu_node_change {
	GPU_NODE_CREATED = 1, /* by the call `correlation` */
	GPU_NODE_CLONED,      /* from `original` (clone, instantiate) */
	GPU_NODE_DESTROYED,
};

/* A node of a CUDA graph came or went. */
struct gpu_node {
	uint32_t instance;
	enum gpu_node_change change;
	uint32_t correlation; /* 0: made outside any call we saw */
	uint64_t node;
	uint64_t original;
};

/* An event was recorded in a stream; told before any call that waits for it. */
struct gpu_event_record {
	uint32_t instance;
	uint32_t device; /* profile id; 0: not known */
	uint32_t context;
	uint32_t stream;
	uint64_t event; /* which; recorded anew it is the same */
	uint64_t time_ns;
};

/* Where a source hands its events; each returns 0 or -errno, which stops the recording. */
struct gpu_sink {
	void *context;
	int (*launch)(void *context, const struct gpu_launch *e);
	int (*call)(void *context, const struct gpu_call *e);
	int (*work)(void *context, const struct gpu_work *e);
	int (*node)(void *context, const struct gpu_node *e);
	/* NULL: the sink does not care. */
	int (*event_record)(void *context, const struct gpu_event_record *e);
	/* NULL: as above. */
	int (*code_mapped)(void *context, const struct gpu_code_change *change);
	/* NULL: as above. A chunk of the unwind tables' words: a descriptor that stays the teller's. */
	int (*space)(void *context, const struct gpu_space *space);
	int (*table_chunk)(void *context, uint32_t index, int fd);
	/* NULL: as above. The program that a process ran is over (exit, exec), and what it mapped is about to be
	 * forgotten: stacks that were walked in it have to be taken now. */
	int (*leaves)(void *context, uint32_t pid);
	/* NULL: as above. The driver stopped telling of this instance before its process was over: what still waits does so
	 * for nothing. Its end follows. */
	int (*instance_broken)(void *context, uint32_t instance);
	/* The instance is over: nothing more will come from it. */
	int (*instance_end)(void *context, uint32_t instance);
};
