/* SPDX-License-Identifier: MIT */
/*
 * Kernels of programs without our library, as Intel's driver says by probes of its own
 * (profile/driver_news.h): launches with their stacks, places of code for samples of instructions,
 * and images of code.
 *
 * What the GPU did, and when, is not said. So each launch has a piece of GPU work at its own time
 * and of no length, counted as one without times; samples are divided among the launches of their
 * kernel by number. Which GPU it is is not said either: where there are several, they are one
 * device to these programs.
 *
 * All of it is what a program says: names and numbers are bounded. Functions return 0 or -errno
 * with error_text. One thread.
 */
#pragma once

#include "gpu/backend.h"
#include "profile/driver_news.h"

struct probed;

/* NULL: out of memory. */
struct probed *probed_new(struct gpu_shared *shared, struct kept_images *images);
void probed_free(struct probed *p);

/* `device`: of the profile. */
int probed_kernel(struct probed *p, const struct driver_kernel *k, uint32_t device);
int probed_image(struct probed *p, const struct driver_image *i);
/* Whether a process image (profile id) has launched anything, as its driver says. */
bool probed_has(const struct probed *p, uint32_t process);
/* The program of a process is over; of all processes. */
int probed_leave(struct probed *p, uint32_t pid);
int probed_leave_all(struct probed *p);
