/* SPDX-License-Identifier: MIT */
/* Source lines and inlined functions of many addresses of one file, read by a worker. */
#pragma once

#include "elf/dwarf.h"
#include "symbolize/worker.h"

struct inlines_request {
	int fd;			/* of the file that has the DWARF */
	const uint64_t *vaddrs; /* rising */
	size_t count;
	/* For each address something is known of: its functions, the one that was not inlined
	 * first. 0 or -errno, which ends the reading. */
	int (*visit)(void *context, size_t n, const struct dwarf_frame *frames, size_t count);
	void *context;
	struct worker_limits limits;
};

/* As worker_run. */
int inlines_read(const struct inlines_request *r);
/* worker.handle; its context is the request. For tests. */
long inlines_handle(void *context, const char *data, size_t size);
