/* SPDX-License-Identifier: MIT */
/*
 * Mapping events from perf: one dummy event for each CPU reports which files are mapped executable,
 * in every process of the system, with the time and (since Linux 5.12) the build id; and when an
 * exec discards an image. The events stay in our buffers, so that stacks of processes that have
 * ended can still be resolved.
 */
#pragma once

#include "capture/changes.h"

struct perf_maps;

/* Opens; what is mapped from perf_maps_start on is in the buffers, so that the whole system's
 * mappings do not fill them before there is something to record. Both 0 or -errno with
 * error_text. */
int perf_maps_open(struct perf_maps **ret);
int perf_maps_start(struct perf_maps *m);
void perf_maps_close(struct perf_maps *m);
/* Adds what has arrived to `changes`, and to *lost how many events the kernel dropped: 0 or
 * -ENOMEM. */
int perf_maps_read(struct perf_maps *m, struct changes *changes, uint64_t *lost);
/* Calls add for every file descriptor to wait on. */
int perf_maps_each_fd(const struct perf_maps *m, int (*add)(void *context, int fd), void *context);

/* Decodes one record (also for tests): 0, -ENOMEM. Records of other kinds and damaged ones are
 * passed over. */
int perf_maps_decode(const void *record, size_t size, struct changes *changes, uint64_t *lost);
