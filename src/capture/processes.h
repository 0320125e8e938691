/* SPDX-License-Identifier: MIT */
/*
 * The processes of the recording and their mappings, as of the last change that was
 * applied.
 *
 * Fork gives the child its parent's address space, a new image an empty one, exit drops it.
 * Mappings without events (of processes older than the recording, or dropped by the kernel) are
 * read from /proc/PID/maps.
 */
#pragma once

#include "capture/address_space.h"
#include "capture/changes.h"
#include "capture/interpreters.h"
#include "capture/modules.h"

struct process {
	uint32_t pid;
	bool image_known; /* its mappings are those of the present image */
	bool exec_begun;  /* the old image is gone, the exec event is still to come */
	/* its image mapped the library of a GPU driver (not its parent before fork) */
	bool maps_gpu_driver;
	uint32_t maps_joins; /* libraries by which it can be joined: vendor_joins_of */
	uint32_t maps_apis;  /* others, by their APIs: vendor_apis_of_driver */
	bool maps_probed; /* a driver that may have probes (driver_probes.h), since that looked */
	uint32_t threads; /* that live; only where their ends are reported */
	bool touched;	  /* it is in the list of processes_each_touched */
	struct address_space *space;
	struct interpreter python;
	uint64_t replaced_sent;	 /* of space->replaced, what was sent to the walkers */
	uint64_t mapped_ns;	 /* when it last mapped code, as far as changes were applied */
	uint64_t maps_read_ns;	 /* when /proc/PID/maps was last read; 0: never */
	uint64_t maps_pause_ns;	 /* and how long not to read it again */
	uint64_t probed_read_ns; /* when that was last done for maps_probed; 0: never */
};

struct processes;

/* `maps_reported`: events report new mappings, so what is read from /proc besides was mapped long
 * before. */
int processes_new(struct processes **ret, struct modules *modules, bool maps_reported);
void processes_free(struct processes *p);
/* NULL when it is not one of ours. Valid until the process is dropped. */
struct process *processes_find(const struct processes *p, uint32_t pid);
/* The process, new and without mappings when it was not there; NULL when memory is short. */
struct process *processes_get(struct processes *p, uint32_t pid);
/* Calls visit for every living process. */
void processes_each(const struct processes *p,
	void (*visit)(void *context, struct process *process), void *context);
/* Calls visit for every living process whose mappings or interpreter may have changed since it was
 * called for it last; it is called for it again next time when it returns true. */
void processes_each_touched(
	struct processes *p, bool (*visit)(void *context, struct process *process), void *context);
/* Calls it for this process next time; all of them: when it is NULL. */
void processes_touch(struct processes *p, struct process *process);

/* 0 or -ENOMEM with error_text; changes of processes that are not ours are ignored by map and
 * image. */
int processes_fork(struct processes *p, uint32_t parent, uint32_t pid);
/* Exec has thrown the old image away; what is mapped from now on is of the new one. */
int processes_image(struct processes *p, uint32_t pid);
/* Exec is done. If its beginning was lost on the way, the mappings are read anew. */
int processes_exec(struct processes *p, uint32_t pid, uint64_t now_ns);
int processes_map(struct processes *p, const struct change *change);
void processes_exit(struct processes *p, uint32_t pid);
/* More is known of a module than when it was mapped (modules_next_late). */
void process_module_known(struct processes *p, struct process *process, uint32_t module);
/* Adds the mappings of /proc/PID/maps over those already here; a process that is gone is no
 * error. */
int processes_read_maps(struct processes *p, struct process *process, uint64_t now_ns);
/* As processes_read_maps, unless that was done a moment ago; *ret_read: it was read. The pause
 * doubles each time, so that a program that runs through memory of its own making does not keep us
 * reading. */
int processes_refresh(
	struct processes *p, struct process *process, uint64_t now_ns, bool *ret_read);
/* The kernel dropped mapping events, up to now: all mappings may be out of date. */
void processes_doubt_all(struct processes *p, uint64_t now_ns);
/* Mappings that there was no room for (address_space.h). */
uint64_t processes_mappings_left_out(const struct processes *p);
