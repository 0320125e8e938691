/* SPDX-License-Identifier: MIT */
/*
 * Graphs of HIP: which node a piece of a graph's work is of, so that it has the stack at which that
 * was made, too.
 *
 * rocprofiler-sdk does not know nodes. It says, of each kernel that a thread hands over inside of a
 * launch of a graph, which kernel that is; and the calls that make graphs say what is in them:
 *
 *	capture         hipStreamBeginCapture .. hipStreamEndCapture: calls that ask for no work
 *	by hand         hipGraphAddKernelNode, ...
 *	copies of it    hipGraphInstantiate, hipGraphClone, hipGraphExecUpdate: nodes of their own
 *
 * A node is given only where there is no other that it could be:
 *
 *	a chain         each node depends on the one before: kernels come in the order in which they
 *	                were made, and each has to be the next one
 *	other graphs    kernels that the graph has once
 *	fills, copies   where the graph has one; they may be kernels of the runtime's
 *
 * Where something does not fit, or a node was changed in a way that is not followed, no work of the
 * graph has a node from then on. Memory is bounded: what finds no room has none, either.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inject/launches.h"

struct rocprofiler_call_data;

int hip_graphs_init(void);

/* What functions of the program are called on devices; the name stays. */
void hip_graphs_know_function(const void *function, const char *name);

/* A call of the table of changes to graphs (vendor/amd/calls.h) has ended. */
void hip_graphs_change(uint8_t number, const struct rocprofiler_call_data *data, bool failed);
/* An event was recorded in a stream. */
void hip_graphs_event(const void *event, const void *stream);
/* One of the table of nodes has ended, with success; open: that call, NULL: it is not reported.
 * True: its node is reported. */
bool hip_graphs_add(
	uint8_t number, const struct rocprofiler_call_data *data, const struct open_call *open);

/* Whether any stream is captured. */
bool hip_graphs_captures(void);
/* A call that asked for no work has ended, with success: true, its node is reported. */
bool hip_graphs_captured(const void *stream, uint8_t number, uint8_t kind,
	const struct rocprofiler_call_data *data, const struct open_call *open);
/* One that is not reported has ended. */
void hip_graphs_missed(const void *stream);

/* A launch of a graph begins: its number, for the call below; 0: nothing is known of it. */
uint32_t hip_graphs_launch(const void *exec);
/* It hands over a kernel, or a copy (kernel NULL): the node's number; 0: not known. */
uint32_t hip_graphs_node(uint32_t launched, const char *kernel);
