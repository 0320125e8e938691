/* SPDX-License-Identifier: MIT */
/*
 * Probes that GPU drivers have in their own code (elf/usdt.h): found when a process maps such a
 * driver, put there in that process alone, and read. For drivers that are patched to say what they
 * do; most have none.
 *
 *	process maps a driver -> the sandbox reads its notes -> probes are attached in that process
 *	a hit: its arguments (BPF_CALL_FACTS), then the stack (BPF_CALL_PROBED) -> driver_news
 *
 * A file that a probe names is what the program says: it is opened by its rights, below its root,
 * and copied, all of that in the sandbox; it stays as it is. Owned by the capture. One thread.
 */
#pragma once

#include "bpf/events.h"
#include "profile/driver_news.h"

struct capture;
struct driver_probes;

/* Where programs can probe drivers: 0 or -ENOMEM with error_text. */
int driver_probes_open(struct driver_probes **ret, struct capture *c, struct driver_news news);
/* No more hits come. */
void driver_probes_stop(struct driver_probes *d);
/* Nor answers: what waits for an image is reported without it. */
int driver_probes_finish(struct driver_probes *d);
void driver_probes_free(struct driver_probes *d);

/* Looks for processes that have mapped a driver: once after each drain. All: 0 or an error that
 * ends the recording. */
int driver_probes_look(struct driver_probes *d);
/* The program of a process is over. */
void driver_probes_leave(struct driver_probes *d, uint32_t pid);
/* What a probe says; `size` bytes are there. */
int driver_probes_facts(struct driver_probes *d, const struct bpf_probe_event *e, size_t size);
/* The stack of that. */
int driver_probes_stack(struct driver_probes *d, const struct bpf_launch_event *e, uint32_t thread,
	uint32_t stack, uint32_t incomplete);
