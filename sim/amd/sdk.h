/* SPDX-License-Identifier: MIT */
/* The parts of the simulated rocprofiler-sdk. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "inject/rocprofiler/abi.h"
#include "tracer.h"

/* $SIM_ROCPROFILER_FAULTS: NAME=N, with commas between; each is described in sim/README.md. */
struct sim_faults {
	uint64_t version, clock;
	uint64_t drop, small, zero_time, reversed_time, far_time, no_agent, no_kernel, short_call;
	uint64_t refuse;
};

extern struct sim_faults faults;

/* Whether a fault that happens at each nth time does so now: the same in every run. */
bool fault_is_due(uint64_t every, uint64_t *so_far);
uint64_t sim_amd_now(void);

/* Numbers of kinds and operations differ from version to version. */
uint32_t kind_number(const char *name);

/* --- delivery.c */

/* Records of what ends in the future come into the buffer when that has come. */
void deliver(const struct sim_amd_work *work, uint64_t external);
bool delivery_wants(uint32_t kind);
void delivery_end(void);
