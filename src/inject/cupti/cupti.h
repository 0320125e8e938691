/* SPDX-License-Identifier: MIT */
/*
 * CUPTI in the injected library: what its parts share.
 *
 *	cupti.c       begin and end; our thread's rounds
 *	find_cupti.c  which libcupti
 *	launch.c      callbacks in the program's threads: the launch path
 *	graphs.c      nodes of graphs, and graphs that do nothing: the launch path
 *	syncs.c       what calls wait for, and into which streams graphs are launched: the launch path
 *	streams.c     which context a stream is of, and its number: the launch path, and where streams are made
 *	probes.c      the library that is preloaded for probes: what it does is left out
 *	buffers.c     CUPTI's activity buffers: the pool, and the queue to our thread
 *	activity.c    activity records to ring records: our thread
 *	sampling.c    samples of GPU instructions: our thread, and where contexts are made and destroyed;
 *	              sampling_setup.c: how they are taken; sampling_window.c: how they are sent
 *	              sampling_late.c: where sampling begins and ends in a program that runs
 *	inside.c      threads that are in calls of the driver, and that are held: the launch path, then;
 *	              earlier.c: calls that began before they were counted
 *	armed.c       for samples that a later recording takes: where the first context is made
 *	claims.c      which process and context may sample a device: where contexts are made and destroyed
 *	checksums.c   by what samples name images of GPU code
 *	nvtx.c        the program's first call of NVTX
 *	health.c      whether CUPTI still works: our thread, and where CUPTI reports that it does not
 *
 * CUPTI's buffer and clock callbacks carry no user data, so `cupti` and `cuda_driver` are global.
 * They are filled before the first callback can come and are constant from then on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/cupti/abi.h"

#define FUNCTION(name, parameters) int(*name) parameters;
struct cupti {
	void *subscriber; /* first, as bench/gpu/launch_parts.py expects */
	void *handle;
	char path[4096];
	uint32_t api_version;
	int64_t clock_offset_ns; /* subtract from CUPTI's times */
	bool was_there;		 /* it was in the program before us */
	bool may_call;		 /* it has functions of ours and nothing in place of them */
	CUPTI_FUNCTIONS(FUNCTION, FUNCTION)
};

struct cuda_driver {
	uint32_t version; /* cuDriverGetVersion; 0: unknown */
	void *handle;
	CUDA_FUNCTIONS(FUNCTION)
};
#undef FUNCTION

extern struct cupti cupti;
extern struct cuda_driver cuda_driver;

/* Finds and opens the libcupti that fits this process: 0, or -ENOENT. */
int find_cupti(struct cupti *ret, struct cuda_driver *ret_driver);

/* CUPTI's callback, given to cuptiSubscribe. */
void on_callback(void *userdata, uint32_t domain, uint32_t id, const void *data);
/* Switches the callbacks we want on: how many CUPTI accepted. */
unsigned int enable_callbacks(void);
/* And off. */
void disable_callbacks(void);
/* So that threads count themselves in all calls (inside.h), until we unsubscribe. */
void count_all_calls(void);
/* We have unsubscribed. */
void callbacks_are_over(void);
/* The same of calls alone. */
unsigned int enable_call_callbacks(void);
void disable_call_callbacks(void);

/* The pool of activity buffers: 0 or -errno. */
int buffers_init(void);
/* Gives back those that CUPTI does not hold. */
void buffers_release(void);
void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void buffer_completed(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);
/* Hands every completed buffer to `visit`, oldest first, and puts it back into the pool. */
void buffers_drain(void (*visit)(uint8_t *buffer, size_t valid_size));

/* Switches the kinds of activity records we want on: 0 or CUPTI's result. */
int enable_records(void);
void disable_records(void);
/* So too those of markers, where they are wanted. */
void enable_markers(void);
void disable_markers(void);
/* Reports a device, if that was not done. Any thread of ours or the program's. */
void introduce_device(uint32_t ordinal);
/* All zero when it is unknown. */
void device_uuid(uint32_t ordinal, uint8_t ret[16]);
/* Sends the records of one buffer. */
void convert_buffer(uint8_t *buffer, size_t valid_size);
