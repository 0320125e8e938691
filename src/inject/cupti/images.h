/* SPDX-License-Identifier: MIT */
/*
 * Images of GPU code on their way to the recorder, which reads functions, source lines and
 * instructions from them: each image once, by its checksum.
 *
 * Threads: modules are loaded in the program's threads, where their images are copied; ours sends
 * them.
 */
#pragma once

#include <stdbool.h>

struct cupti_module_data;

/* Gives CUPTI our checksum of images to name them by; before it sees any. */
void images_init(void);

/* A module was loaded: in the program's thread that did it. */
void images_module_loaded(const struct cupti_module_data *module);
/* Our thread: sends what waits, as far as the recorder accepts it. True when nothing waits any
 * more. */
bool images_send(void);
/* The same, waiting for the recorder for a bounded time; what it has not accepted then is
 * dropped. */
void images_finish(void);
/* Our thread: gives up what waits, and counts it as lost. */
void images_drop(void);
