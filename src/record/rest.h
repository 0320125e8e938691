/* SPDX-License-Identifier: MIT */
/*
 * What still runs of a recording's command when the command itself has ended: a program that went
 * into the background, say. It is recorded for a while longer (session_options.wait_ns), and named
 * when the recording ends before it.
 *
 * The BPF side follows each fork, whoever becomes the parent then. Without it only GPU work is
 * recorded, and it can only come from processes that have the recorder's name in their environment:
 * these are searched for.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct session;

/* How many processes run, up to the latest drain. Names them in `names`: "sleep (12), cat (13)";
 * NULL: nobody asks, and it ends with the first. */
size_t rest_count(const struct session *s, struct buf *names);
/* The command has ended: whether the recording goes on for what still runs. */
bool rest_is_awaited(struct session *s);
/* Names in the notes for the user, and counts, what runs on: 0 or -errno. To be called when the
 * sources have stopped. */
int rest_report(struct session *s);
