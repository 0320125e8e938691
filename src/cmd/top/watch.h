/* SPDX-License-Identifier: MIT */
/*
 * The loop of `xpuprof top`: what the recorder sends is kept for as long as it can be on the
 * screen, and now and then its latest stretch is read and shown.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "top/recorder.h"
#include "top/screen.h"

struct watch_options {
	const struct recorder_options *recorder;
	uint64_t delay_ns, window_ns;
	bool once; /* one screen, as text */
	struct screen_options screen;
};

/* The exit status. */
int watch_run(const struct watch_options *o);
/* The stacks of all threads of a process, as text. */
int watch_threads(const struct recorder_options *recorder);
