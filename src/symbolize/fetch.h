/* SPDX-License-Identifier: MIT */
/*
 * Debug files from servers, by build id: fetched by libdebuginfod, which is loaded at run time and
 * caches them for the user. Only when $DEBUGINFOD_URLS names servers.
 */
#pragma once

#include "elf/elf_file.h"
#include "symbolize/worker.h"

#define FETCH_LIBRARY "libdebuginfod.so.1"

struct fetch_item {
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_size;
	bool program; /* the program's file itself, not its debug file */
};

struct fetch_request {
	const struct fetch_item *items;
	size_t count;
	/* For each that was found: the path of the file, somewhere in the cache. 0 or -errno. */
	int (*visit)(void *context, size_t n, const char *path);
	void *context;
	struct worker_limits limits; /* for all of them */
	const struct user *user;     /* whom the files are fetched as and cached for; NULL: us */
};

/* Whether the user named servers. */
bool fetch_wanted(void);
/* As worker_run; -ENOSYS: there is no library. */
int fetch_files(const struct fetch_request *r);
/* worker.handle; its context is the request. For tests. */
long fetch_handle(void *context, const char *data, size_t size);
