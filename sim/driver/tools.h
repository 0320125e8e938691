/* SPDX-License-Identifier: MIT */
/*
 * What the simulated driver and runtime report to the simulated CUPTI: the driver exports one
 * sim_tools, and CUPTI fills in what it wants reported. With nothing wanted an API call costs a
 * counter going up and down.
 *
 * An API call is bracketed by sim_api_enter and sim_api_exit. Only the outermost call of a thread
 * gets a correlation id; the calls below it (a runtime call's driver calls) share it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda.h"

#define SIM_EXPORT __attribute__((visibility("default")))

enum sim_domain {
	SIM_DRIVER = 1,
	SIM_RUNTIME,
	SIM_RESOURCE,
	SIM_SYNCHRONIZE,
	SIM_STATE = 6,
	SIM_DOMAINS
};

enum { SIM_CALLBACK_IDS = 1024, SIM_ACTIVITY_KINDS = 64 };

enum sim_resource { /* CUpti_CallbackIdResource */
	SIM_CONTEXT_CREATED = 1,
	SIM_CONTEXT_DESTROY_STARTING,
	SIM_STREAM_CREATED,
	SIM_STREAM_DESTROY_STARTING,
	SIM_INIT_FINISHED,
	SIM_MODULE_LOADED,
	SIM_MODULE_UNLOAD_STARTING,
	SIM_GRAPH_CREATED = 9,
	SIM_GRAPH_DESTROY_STARTING,
	SIM_GRAPH_CLONED,
	SIM_NODE_CREATE_STARTING,
	SIM_NODE_CREATED,
	SIM_NODE_DESTROY_STARTING,
	SIM_DEPENDENCY_CREATED,
	SIM_DEPENDENCY_DESTROY_STARTING,
	SIM_EXEC_CREATE_STARTING,
	SIM_EXEC_CREATED,
	SIM_EXEC_DESTROY_STARTING,
	SIM_NODE_CLONED,
	SIM_NODE_UPDATED = 22,
	SIM_NODE_SET_PARAMS,
};

enum sim_synchronized { SIM_STREAM_SYNCHRONIZED = 1, SIM_CONTEXT_SYNCHRONIZED };

/* An API call on its way; on the caller's stack. */
struct sim_call {
	enum sim_domain domain;
	uint32_t cbid;
	const char *name;
	const void *params;
	const char *symbol;
	int *result;
	uint64_t data; /* CUPTI's correlationData */
	uint64_t start_ns;
	uint32_t correlation;
	uint8_t entered; /* ENTER was reported, so EXIT must be */
};

/* Functions that run before instructions are sampled for the first time, and have no names then. */
enum sim_unsampled {
	SIM_SAMPLED = 0, /* or nobody has subscribed */
	SIM_SUBSCRIBED,	 /* those of graphs */
	SIM_FOLLOWED,	 /* callbacks of resources were switched on: all */
};

struct sim_work;
struct sim_run;

struct sim_tools {
	_Atomic uint8_t
		active; /* some API callback or API activity is on: correlation ids are made */
	_Atomic uint8_t queued;	   /* queued and submitted times are wanted */
	_Atomic uint8_t records;   /* some kind of work is to be recorded */
	_Atomic uint8_t sampled;   /* some context's instructions are sampled */
	_Atomic uint8_t unsampled; /* enum sim_unsampled */
	_Atomic int inside;	   /* threads in calls of the driver */
	/* Callbacks of all the driver's calls are on since they came as a whole; how often they
	 * went so. */
	_Atomic uint8_t whole;
	_Atomic uint32_t cuts;
	_Atomic uint8_t callbacks[SIM_DOMAINS][SIM_CALLBACK_IDS];
	_Atomic uint8_t kinds[SIM_ACTIVITY_KINDS];

	void (*call)(struct sim_call *call, bool exit);
	void (*resource)(enum sim_resource what, CUcontext ctx, CUstream stream, void *descriptor);
	void (*synchronized)(enum sim_synchronized what, CUcontext ctx, CUstream stream);
	void (*work)(CUstream stream, const struct sim_work *work, const struct sim_run *run);
	void (*graph_run)(CUstream stream, CUgraphExec exec, const struct sim_run *run);
	void (*stream_gone)(CUstream stream);
	/* The first launch of the process: where the fault of a later subscriber happens. */
	void (*first_launch)(void);
};

extern SIM_EXPORT struct sim_tools xpuprof_sim_tools;

SIM_EXPORT void xpuprof_sim_enter(struct sim_call *call);
SIM_EXPORT void xpuprof_sim_exit(struct sim_call *call);
/* Whether the calling thread is in a call of the driver, callbacks of its begin and its end left
 * out; and whether other threads are. */
SIM_EXPORT bool xpuprof_sim_is_inside(void);
SIM_EXPORT bool xpuprof_sim_others_are_inside(void);
/* Starts the driver for the runtime; cheap when it runs. */
SIM_EXPORT CUresult xpuprof_sim_start(void);
/* What is current to the calling thread, for CUPTI. */
SIM_EXPORT CUcontext xpuprof_sim_context(void);
SIM_EXPORT CUstream xpuprof_sim_stream(CUstream handle, bool per_thread);
SIM_EXPORT struct sim_driver *xpuprof_sim_driver(void);
/* Starts a thread of the simulator's own, which ends with the process and handles no signal of the
 * program. */
SIM_EXPORT bool xpuprof_sim_start_thread(void *(*run)(void *));
/* The thread is (no longer) inside a subscriber's callback; returns the state before. */
SIM_EXPORT bool xpuprof_sim_in_callback(bool inside);
/* A function by its name in no module, for programs whose kernels came by registration. */
SIM_EXPORT CUfunction xpuprof_sim_function(const char *name);
/* The kernel's name for a handle; NULL when it is none. */
SIM_EXPORT const char *xpuprof_sim_symbol(CUfunction f);
/* The type of the section that text is in, in the second place of an ELF file for the driver. */
#define SIM_CODE_TEXT 0x80000001u
/* The text of an image, where kernels compute: to be freed; or NULL. */
SIM_EXPORT char *xpuprof_sim_code(const void *image);
/* The text of a module whose kernels compute, or NULL; and what they compute from now on, in its
 * place: nothing of the module may run. Its variables begin anew. Until it is unloaded,
 * xpuprof_sim_module_text gives the original. */
SIM_EXPORT const char *xpuprof_sim_module_text(CUmodule module);
SIM_EXPORT CUresult xpuprof_sim_module_replace(CUmodule module, const char *text);
