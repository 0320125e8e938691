/* SPDX-License-Identifier: MIT */
/*
 * Programs that use a GPU and were not started by this recording: a library is put into each of
 * them (join/), once, and connects as those do that were there from the start. When it leaves, the
 * program goes on.
 *
 * Those that cannot be joined are observed by the kernel alone, if that is wanted
 * (capture_observe).
 *
 * A program counts as one that uses a GPU when it has mapped the library of a driver, now or later.
 */
#pragma once

#include "base/buf.h"

struct capture;
struct gpu;
struct joins;
struct profile_writer;

/* All is borrowed. `sandbox`: as in join/join.h. `lines` gets one for each program that could not
 * be joined. 0 or -errno with error_text. */
int joins_new(struct joins **ret, struct capture *capture, struct gpu *gpu, const char *sandbox,
	struct buf *lines);
/* Looks for programs, and passes on the connections that have come about: every round. 0 or
 * -errno with error_text. */
int joins_round(struct joins *j);
/* When a round is due at the latest, as a window of observed programs begins or ends. */
uint64_t joins_due_ns(const struct joins *j);
/* Waits for what has begun, a few seconds at most, and begins nothing any more: before the
 * recording stops. */
int joins_finish(struct joins *j);
/* Writes which processes were joined, when the libraries have left them, or said that they
 * cannot, and which were observed, of which the lines get one each, too. `left` gets those joined
 * that go on, and what stays in them: "12, 14: ..."; nothing, if there are none. 0 or -errno with
 * error_text. */
int joins_describe(const struct joins *j, struct profile_writer *w, struct buf *left);
/* NULL is fine. */
void joins_free(struct joins *j);
