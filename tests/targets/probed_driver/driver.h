/* SPDX-License-Identifier: MIT */
/*
 * A simulated Level Zero driver that is patched for iaprof: it says what it does by the probes
 * level_zero:compile_kernel and level_zero:launch_kernel. What runs leaves stall records
 * (sim/xe/stalls.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Waits until somebody reads the probes, so many milliseconds at most: whether somebody does. */
int driver_is_probed(int patience_ms);
/* Loads the kernels of a zebin, which replace those that are loaded, and writes the image that
 * debuggers get to this path. */
void driver_load(const uint8_t *zebin, size_t size, const char *path);
/* Says that there is an image, and writes none. */
void driver_lie(const char *path);
/* 0, or -1: there is no such kernel. `oddly`: by a probe whose arguments stand elsewhere. */
int driver_launch(const char *name, int oddly);
/* Says that the first kernel is launched, and does nothing else. */
void driver_say_launch(void);
