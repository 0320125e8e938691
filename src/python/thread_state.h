/* SPDX-License-Identifier: MIT */
/*
 * How a thread's PyThreadState is found from its thread pointer: under the key of
 * PyGILState_Ensure, or in a thread-local variable. Both are checked against what the process's
 * threads hold there, so that no layout of a C library is trusted.
 */
#pragma once

#include "python/interpreter.h"
#include "python/layout.h"

#define PYTHON_STATES_MAX 32

/* A thread that the interpreter lists. */
struct python_state {
	uint64_t address;	 /* of its PyThreadState */
	uint64_t thread_pointer; /* of the thread that made it; on x86-64 glibc and musl,
				    pthread_self() is that */
};

struct python_states {
	struct python_state items[PYTHON_STATES_MAX];
	uint32_t count;
};

/* Fills what the walkers need (tss_* and tsd_*, or state_tls and tls_module) into *p: true when a
 * listed thread is found by it. */
bool python_find_key(struct walk_python *p, const struct python_memory *m,
	const struct python_layout *l, uint64_t runtime_bytes, const struct python_states *states);
bool python_find_variable(struct walk_python *p, const struct python_memory *m, uint64_t get_state,
	const struct python_states *states);
