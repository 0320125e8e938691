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

int32_t sim_set_callback(
	void *tracer, const char *name, int when, levelzero_callback *callback);
void sim_call_back(
	const char *name, int when, void **arguments, int32_t result, void **instances);

/* TRACED(name, parameters, addresses of them, what it does): the function, and how tracers ask for
 * its callbacks. */
#define TRACED(name, parameters, addresses, action)                                                \
	SIM_EXPORT int32_t zelTracer##name##RegisterCallback(                                      \
		void *tracer, int when, levelzero_callback *callback);                             \
	int32_t zelTracer##name##RegisterCallback(                                                 \
		void *tracer, int when, levelzero_callback *callback)                              \
	{                                                                                          \
		return sim_set_callback(tracer, #name, when, callback);                            \
	}                                                                                          \
	SIM_EXPORT int32_t ze##name parameters                                                     \
	{                                                                                          \
		void *arguments[] = {SIM_UNPACK addresses}, *instances[TRACERS_MAX] = {NULL};      \
		int32_t result;                                                                    \
                                                                                                   \
		sim_call_back(#name, 0, arguments, 0, instances);                                  \
		result = (action);                                                                 \
		sim_call_back(#name, 1, arguments, result, instances);                             \
		return result;                                                                     \
	}
#define SIM_UNPACK(...) __VA_ARGS__
