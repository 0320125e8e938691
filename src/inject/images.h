/* SPDX-License-Identifier: MIT */
/*
 * Images of GPU code on their way to the recorder, which reads functions, source lines and
 * instructions from them: each image once, by its checksum.
 *
 * Threads: code is loaded in the program's threads, where images are copied; ours sends them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In our thread: false, there is none. */
typedef bool images_find_checksum(const void *image, size_t size, uint64_t *ret);

/* Of all bytes: two images that differ anywhere have two. Not 0. */
uint64_t images_checksum(const void *image, size_t size);

/* Code was loaded, by the thread of the program that is in this: what cannot be kept is counted.
 * `checksum`: what samples name the image by; 0: it is found later. */
void images_keep(uint32_t api, const void *image, size_t size, uint64_t checksum,
	images_find_checksum *find);
/* Our thread: sends what waits, as far as the recorder accepts it. True when nothing waits any
 * more. */
bool images_send(void);
/* The same, waiting for the recorder for a bounded time; what it has not accepted then is
 * dropped. */
void images_finish(void);
/* Our thread: gives up what waits, and counts it as lost. */
void images_drop(void);
