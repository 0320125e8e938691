/* SPDX-License-Identifier: MIT */
/*
 * The library that is preloaded so that eBPF programs run inside GPU kernels (wire/probe.h), and
 * its connection to xpuprof. A folder for each vendor gets at the images that programs load.
 *
 * The library lives in somebody else's program. It never exits, aborts or prints, and what it
 * cannot do it leaves: then the program's own images are loaded. Nothing happens before the program
 * loads its first image, or begins with the GPU API where machine code is to get programs. Where
 * memory is short, or nobody listens, that stays so.
 *
 * A child that is forked behind that has no connection: the GPU API is dead there, too. One that is
 * forked before begins for itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "guest/socket.h"
#include "wire/probe.h"

struct link {
	struct own_socket socket;
	struct probe_control *control;
	const struct probe_plan *plan; /* checked; it does not change */
	enum probe_role role;	       /* before link_open */
};

extern struct link link_to_xpuprof;

/* Connects at the first call. Whether programs are to run in what is loaded now. Any thread. */
bool link_open(void);
/* Whether this process is connected, and has not ended. */
bool link_is_alive(void);
/* From now on it is not. */
void link_end(void);
/* Whether xpuprof is gone. One thread. */
bool link_is_lost(void);
/* What the plan has at an offset, as link_open has checked it. */
const void *link_in_plan(uint64_t at);

/* A message, for which it waits a moment where there is no room, and counts it when that is in
 * vain. */
void link_send(const void *message, size_t size);
/* Its memory, mapped: 0 or -errno. One thread at a time. */
int link_ask_memory(const struct probe_arena *arena, void **ret);
/* The next of the arrays that follow the memory, mapped: so too. */
int link_receive_map(uint64_t bytes, void **ret);
/* The text may be long, or NULL. */
void link_send_fate(enum probe_fate fate, uint64_t amount, const char *text);
/* Of a module, however often that is loaded. */
void link_send_module_fate(enum probe_fate fate, uint64_t amount, uint64_t module);
