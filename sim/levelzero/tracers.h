/* SPDX-License-Identifier: MIT */
/*
 * Callbacks of tracers come as from the real layer: around each call, with the addresses of its
 * arguments, those before it in the order in which tracers were made. A call inside a callback is
 * not traced.
 */
#pragma once

#include "levelzero.h"

#define SIM_EXPORT  __attribute__((visibility("default")))
#define TRACERS_MAX 4

/* A call, with what tracers want of it. */
struct sim_traced {
	levelzero_callback *callbacks[TRACERS_MAX][2];
};

int32_t sim_set_callback(
	void *tracer, struct sim_traced *call, int when, levelzero_callback *callback);
void sim_call_back(const struct sim_traced *call, int when, void **arguments, int32_t result,
	void **instances);

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
		void *arguments[] = {SIM_UNPACK addresses}, *instances[TRACERS_MAX] = {NULL};      \
		int32_t result;                                                                    \
                                                                                                   \
		sim_call_back(&traced_##name, 0, arguments, 0, instances);                         \
		result = (action);                                                                 \
		sim_call_back(&traced_##name, 1, arguments, result, instances);                    \
		return result;                                                                     \
	}
#define SIM_UNPACK(...) __VA_ARGS__
