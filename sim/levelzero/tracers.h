/* SPDX-License-Identifier: MIT */
/*
 * Callbacks of tracers come as from the real layer: around each call, with the addresses of its
 * arguments, those before it in the order in which tracers were made. A call inside a callback is
 * not traced. Who is called before a call is called after it, also if the tracer was disabled
 * meanwhile; to destroy a tracer is to wait for such calls.
 *
 * The layer is on if its variable is set, or while somebody has switched it on
 * (zelEnableTracingLayer), which loaders before 1.20 cannot ($XPUPROF_SIM_ZE_OLD). Where it is not
 * installed ($XPUPROF_SIM_ZE_NO_LAYER) no tracer can be made, and to switch it on ends the program.
 */
#pragma once

#include <stdbool.h>

#include "levelzero.h"

#define SIM_EXPORT  __attribute__((visibility("default")))
#define TRACERS_MAX 4

/* A call, with what tracers want of it. */
struct sim_traced {
	levelzero_callback *callbacks[TRACERS_MAX][2];
	uint32_t of[TRACERS_MAX][2]; /* the tracers, by their numbers; 0: none */
};

/* One that goes on. */
struct sim_call {
	bool traced[TRACERS_MAX];
	void *instances[TRACERS_MAX];
};

int32_t sim_set_callback(
	void *tracer, struct sim_traced *call, int when, levelzero_callback *callback);
void sim_call_back(const struct sim_traced *of, int when, void **arguments, int32_t result,
	struct sim_call *call);

/* TRACED(name, parameters, addresses of them, what it does): the function, and how tracers ask for
 * its callbacks. */
#define TRACED(name, parameters, addresses, action)                                                \
	static struct sim_traced traced_##name;                                                    \
	SIM_EXPORT int32_t zelTracer##name##RegisterCallback(                                      \
		void *tracer, int when, levelzero_callback *callback);                             \
	int32_t zelTracer##name##RegisterCallback(                                                 \
		void *tracer, int when, levelzero_callback *callback)                              \
	{                                                                                          \
		return sim_set_callback(tracer, &traced_##name, when, callback);                   \
	}                                                                                          \
	SIM_EXPORT int32_t ze##name parameters                                                     \
	{                                                                                          \
		void *arguments[] = {SIM_UNPACK addresses};                                        \
		struct sim_call call = {0};                                                        \
		int32_t result;                                                                    \
                                                                                                   \
		sim_call_back(&traced_##name, 0, arguments, 0, &call);                             \
		result = (action);                                                                 \
		sim_call_back(&traced_##name, 1, arguments, result, &call);                        \
		return result;                                                                     \
	}
#define SIM_UNPACK(...) __VA_ARGS__
