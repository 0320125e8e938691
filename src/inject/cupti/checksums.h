/* SPDX-License-Identifier: MIT */
/* By what samples of instructions name images of code: a checksum of ours, of all bytes, where
 * CUPTI accepts it, else its own. */
#pragma once

struct cupti_module_data;

/* Gives CUPTI our checksum; before it sees any image. */
void checksums_init(void);
/* A module was loaded, in the program's thread that did it: its image is kept. */
void checksums_module_loaded(const struct cupti_module_data *module);
