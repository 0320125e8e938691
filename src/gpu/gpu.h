/* SPDX-License-Identifier: MIT */
/*
 * The GPU side of a recording: all backends, as one.
 *
 *	                 news (what walkers need)
 *	  capture ----------------------------------------->  gpu  ---> every backend
 *	          -- launches that came through the marker ->   |
 *	                                                        | events: launches, calls, work
 *	                                                        v
 *	                                                    correlate
 *
 * Life: new -> open -> environment (once, before the command starts) -> any number of { snapshot;
 * drain }
 * -> stop -> { snapshot; drain } until nothing is live or patience ends -> finish -> free. One
 * thread.
 *
 * snapshot and drain are two calls because the correlator needs an order. Everything that is in the
 * shared rings at the snapshot had its launch marker fire before. So the recorder makes the
 * snapshot, drains the markers, and only then drains the rings up to the snapshot.
 *
 * Functions return 0 or -errno with error_text, unless noted otherwise.
 */
#pragma once

#include "gpu/backend.h"
#include "profile/driver_news.h"
#include "profile/walker_news.h"

struct gpu;

/* Without backends at first: until gpu_open all calls do nothing. Events go to `events`. */
int gpu_new(
	struct gpu **ret, struct profile_writer *w, struct tasks *tasks, struct gpu_events events);
void gpu_free(struct gpu *g);

/* Opens every backend of gpu_backends. A backend that cannot work on this machine or for this
 * program adds a line to options->notes, and stays out. */
int gpu_open(struct gpu *g, const struct gpu_options *options);
/* The main function of a process that a backend has executed: argv is the backend's name and what
 * follows. Its exit status. */
int gpu_helper(int argc, char **argv);
/* Whether any backend is open. */
bool gpu_is_open(const struct gpu *g);
/* Environment variables for the command: calls add("NAME", "value") for each. */
int gpu_environment(struct gpu *g, int (*add)(void *, const char *, const char *), void *context);
/* How programs that use this API (its number on the wire) are joined that run already; false: they
 * cannot be. */
bool gpu_joining(struct gpu *g, uint8_t api, struct gpu_joining *ret);
/* Takes a connection to a library that was put into this process. The socket is owned from here
 * on. */
int gpu_adopt(struct gpu *g, int fd, uint32_t pid);
/* Calls watch for every descriptor that is readable when a round of { snapshot; drain } is due
 * early. */
int gpu_each_poll_fd(struct gpu *g, int (*watch)(void *context, int fd), void *context);

/* For capture: the receiver of launches that came through the marker (it has `launch` only), and of
 * what walkers need. Both may be used before gpu_open, and as long as `g`. A launch of an instance
 * that does not live in its process is counted and dropped. */
struct gpu_events gpu_marker_launches(struct gpu *g);
struct walker_news gpu_walker_news(struct gpu *g);

/* So too, of what drivers say; with all NULL where no GPU is whose driver may. */
struct driver_news gpu_driver_news(struct gpu *g);

/* The number of an instance that is no backend's. */
uint32_t gpu_new_instance(struct gpu *g);

int gpu_snapshot(struct gpu *g);
/* Hands everything up to the snapshot to `events`. *ret_busy: much had come, drain again soon. */
int gpu_drain(struct gpu *g, bool *ret_busy);
/* Asks everything that is live to flush and go quiet. What it flushes must be drained as before. */
int gpu_stop(struct gpu *g);
/* Whether something may still come. */
bool gpu_is_live(const struct gpu *g);
/* Drains what is left and ends every instance. */
int gpu_finish(struct gpu *g);

/* Whether a library of this process image (profile id) has connected. */
bool gpu_has_connected(const struct gpu *g, uint32_t process);
/* Whether this API, by its number on the wire, was reported from there. */
bool gpu_reports(const struct gpu *g, uint32_t process, uint32_t api);
/* What this API's first call returned there, if it failed, so that there is no work; else 0. */
int32_t gpu_failure(const struct gpu *g, uint32_t process, uint32_t api);
/* Whether its driver says itself what is launched there. */
bool gpu_is_probed(const struct gpu *g, uint32_t process);
/* Whether another tool was in this process image when it was joined: it may be tried again. */
bool gpu_is_taken(const struct gpu *g, uint32_t process);
/* Whether the vendor's tracer was taken out of this process image when it was left. */
bool gpu_is_finalized(const struct gpu *g, uint32_t process);
/* How long it took to stop in this process image when it was left. False: that is not known. */
bool gpu_stop_time(const struct gpu *g, uint32_t process, struct gpu_stop_time *ret);
/* GPU time as all drivers reported it, in nanoseconds, recorded or lost. */
uint64_t gpu_reported_ns(const struct gpu *g);
/* What a backend's lines report as missing. */
enum gpu_missing {
	GPU_MISSING_NOTHING,
	GPU_MISSING_SAMPLES,
	GPU_MISSING_WORK, /* from some time on */
};

/* Calls visit for each text (lines) of what the backends refused or lost, what was in doubt,
 * what came of gpu_options.finalize, or what was joined late. */
void gpu_each_refusal(const struct gpu *g,
	void (*visit)(void *context, const char *lines, enum gpu_missing what), void *context);
