/* SPDX-License-Identifier: MIT */
/*
 * Libraries inside of programs, as the recorder sees them: a socket that they connect to, a ring of
 * shared memory for each, and what its records mean in the profile. What differs between APIs is a
 * table (struct injected_api) in the folder of its vendor. A program may use several: its library
 * connects once, so all of them are one backend (backend.c), and the functions below are those of
 * gpu_backend_ops.
 *
 *	program ---- connects ---->  injected.c   the socket, and all connections
 *	             ring       ---->  instance.c   one connection's life, its ring
 *	                                 |-> records.c        calls, work, names, devices
 *	                                 |-> walked_stacks.c  launches and the stacks they name
 *	                                 |-> stalls.c         samples of instructions
 *	                                 '-> due.c            how many there should be
 *	             messages   ---->  messages.c   images of GPU code
 *	        <--- what is mapped --  spaces.c
 *
 * One thread. Functions return 0 or -errno with error_text, unless noted
 * otherwise.
 */
#pragma once

#include "gpu/backend.h"
#include "wire/wire.h"

struct injected;

/* A vendor's API, whose library inside of programs reports through the ring. Texts and tables are
 * constant. */
struct injected_api {
	const char *tracer;	 /* the name of the vendor's own library that reports GPU work */
	const char *code_format; /* of images of GPU code, as src/gpucode/ calls it */
	/* Names of followed calls, `call_count` of them; call_index gives the index of the API's
	 * own number of a call. Past the end, or NULL at that index: the call has no name. */
	const char *const *call_names;
	uint32_t call_count;
	uint32_t (*call_index)(uint32_t call);
	/* Appends the tracer's version and the driver's, and a space. */
	void (*describe_tracer)(const struct wire_tracer *t, struct buf *b);
	/* By enum wire_stalls_refusal from 1 on: why instructions were not sampled, and what
	 * helps. */
	const char *const *stalls_refusals;
	const char *no_stalls; /* what is said where it has none; NULL: it has some */
	/* The same where the tracer just hands over fewer than it should. */
	const char *stalls_behind;
	/* NULL: programs that run already cannot be joined. Else the function of the library that
	 * joins them (join/join.h), and what stays in a program when it has left. */
	const char *entry;
	const char *stays;
};

/* By the number of the API, which is that of the wire (wire/wire.h): gpu/apis.c. Samples
 * of instructions are of the first. */
extern const struct injected_api *const injected_apis[WIRE_APIS];

/* Listens in options->runtime_dir, if there is one. */
int injected_open(
	struct injected **ret, const struct gpu_options *options, struct gpu_shared *shared);
/* NULL is fine. */
void injected_close(struct injected *s);
/* Takes a socket whose other end a library has that was put into this process: owned from here
 * on. */
int injected_adopt(struct injected *s, int fd, uint32_t pid);
/* The socket's path; "": nothing listens. */
const char *injected_address(const struct injected *s);
bool injected_is_plausible(const struct injected *s, const struct gpu_launch *e);
int injected_code_mapped(struct injected *s, const struct code_change *change);
int injected_space(struct injected *s, const struct walker_space *space);
int injected_table_chunk(struct injected *s, uint32_t index, int fd);
int injected_leaves(struct injected *s, uint32_t pid);
int injected_poll_fd(const struct injected *s);
int injected_snapshot(struct injected *s);
int injected_drain(struct injected *s, bool *ret_busy);
void injected_stop(struct injected *s);
int injected_finish(struct injected *s);
bool injected_has_connected(const struct injected *s, uint32_t process);
/* Whether it has reported this API, by its number on the wire. */
bool injected_reports(const struct injected *s, uint32_t process, uint32_t api);
/* What this API's first call there returned, if it failed; else 0. */
int32_t injected_failure(const struct injected *s, uint32_t process, uint32_t api);
/* Whether another tool held the tracer of this process image when it was joined last. */
bool injected_is_taken(const struct injected *s, uint32_t process);
/* Whether the tracer was taken out of this process image when it was left last. */
bool injected_is_finalized(const struct injected *s, uint32_t process);
/* How long the library took to stop in it when it was left last. False: it did not say so. */
bool injected_stop_time(const struct injected *s, uint32_t process, struct gpu_stop_time *ret);
/* Adds to *ret. */
void injected_stats(const struct injected *s, struct gpu_stats *ret);
