/* SPDX-License-Identifier: MIT */
/* Keeps what is needed to name the code of a module later, from when it gets into the profile. */
#pragma once

#include "capture/modules.h"
#include "elf/kept_files.h"

/* Asks for it, and does not wait: 0 or an error that ends the recording. What cannot be kept is
 * not. */
int keep_module(struct kept_files *k, struct files *files, const struct module *module);
/* So too: the jitdump that the process of `made`, code made at run time, has mapped. */
int keep_dump(struct kept_files *k, struct files *files, const struct module *made,
	const struct module *dump);
