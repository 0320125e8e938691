/* SPDX-License-Identifier: MIT */
/*
 * CPU samples without rights for BPF: by perf events that are bound to the program and to what it
 * starts, which the kernel allows whoever may look into the program, at a
 * kernel.perf_event_paranoid of 2 and less.
 *
 * A sample has the registers of the program and a copy of its stack; the recorder walks it
 * (raw_walk.h). Time in the kernel gives no sample. The same events report what the processes
 * start, execute and map, so that addresses are looked up as of the sample's time.
 *
 * Each CPU has a ring. A drain is: snapshot, gather the changes, then the samples up to the
 * snapshot in order of time; what a sample depends on is among the changes then. One thread.
 */
#pragma once

#include <sys/types.h>

#include "capture/changes.h"

struct perf_samples;

struct perf_sample {
	uint64_t time_ns;
	uint32_t pid, tid, cpu;
	struct bpf_raw_stack start;
	const uint8_t *memory; /* of the stack, from start.sp on */
	size_t memory_size;
	bool cut; /* the stack goes on behind that */
};

/* -EACCES, -EPERM, -ENOSYS and others: such events are refused; error_text is then what to do about
 * it. Nothing is sampled yet. */
int perf_samples_open(struct perf_samples **ret, unsigned int hz);
void perf_samples_close(struct perf_samples *s);
/* Follows the process and what it starts from now on: from its next exec on, or, if it `runs`, from
 * perf_samples_start on. *ret_threads: how many it has. 0 or -errno with error_text; -ESRCH: it is
 * gone. */
int perf_samples_track(struct perf_samples *s, pid_t pid, bool runs, uint32_t *ret_threads);
int perf_samples_start(struct perf_samples *s);
int perf_samples_stop(struct perf_samples *s);
/* The CPU time that a sample stands for. */
uint64_t perf_samples_period_ns(const struct perf_samples *s);

/* How long all that is followed has run. */
uint64_t perf_samples_run_ns(const struct perf_samples *s);

/* Notes how far samples go at this moment. */
void perf_samples_snapshot(struct perf_samples *s);
/* Adds what else has come to `changes`, and to *lost how many records the kernel dropped: 0 or
 * -ENOMEM with error_text. */
int perf_samples_gather(struct perf_samples *s, struct changes *changes, uint64_t *lost);
/* The earliest sample before the snapshot that is left; false: there is none. Valid until the
 * next call. */
bool perf_samples_next(struct perf_samples *s, struct perf_sample *ret);
/* Calls add for every file descriptor to wait on. */
int perf_samples_each_fd(
	const struct perf_samples *s, int (*add)(void *context, int fd), void *context);

/* Decode one record (also for tests). False: it is no sample, or makes no sense. */
bool perf_samples_decode(const void *record, size_t size, struct perf_sample *ret);
/* 0 or -ENOMEM. */
int perf_samples_decode_change(
	const void *record, size_t size, struct changes *changes, uint64_t *lost);
