/* SPDX-License-Identifier: MIT */
/* What all connections of a recording share. For the files of gpu/injected/ alone. */
#pragma once

#include <sys/un.h>

#include "base/map.h"
#include "base/vec.h"
#include "gpu/injected/budgets.h"
#include "gpu/injected/injected.h"

struct instance;

/* Bits, of a process that has connected. */
enum process_state {
	PROCESS_CONNECTED = 1,
	PROCESS_TAKEN = 2, /* another tool held the tracer when it was joined last */
	PROCESS_COUNTED_TAKEN = 4,
	PROCESS_FINALIZED = 8, /* the tracer is out of it */
	PROCESS_REPORTS = 256, /* the first API was reported; that of each other is a bit above */
};

struct injected {
	const struct injected_api *const *apis; /* WIRE_APIS of them */
	struct gpu_shared *shared;
	struct gpu_options options;
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)]; /* of the socket */
	int listener;
	int epoll;
	struct vec(struct instance *) instances;
	uint64_t start_ns; /* of the recording */
	uint64_t records;
	uint64_t reported_ns; /* time of all work, added up by the libraries */
	uint64_t clock_error_ns;
	bool simulated;
	bool stopped;		  /* libraries that come now are to stop at once */
	struct buf tracer_lines;  /* of META_TRACER */
	struct buf refusal_lines; /* of META_STALLS_REFUSED */
	struct buf held_lines;	  /* of META_STALLS_HELD */
	uint32_t held_count;
	struct buf contest_lines;    /* of META_STALLS_CONTESTED */
	uint32_t refused[WIRE_APIS]; /* bits: enum wire_stalls_refusal */
	/* due.c: samples in contexts in which too few came */
	struct {
		uint64_t due, came;
		uint8_t safe_period; /* of those contexts, the longest */
	} shortfalls[WIRE_APIS];
	struct buf ended_lines;	   /* of META_TRACER_ENDED */
	struct buf finalize_lines; /* gpu_stats.finalized */
	uint32_t finalize_count;   /* of them, told or not */
	struct buf late_lines;	   /* of META_JOINED_LATE */
	uint32_t late_count;	   /* of them, told or not */
	uint32_t ended;		   /* instances in which the tracer ended */
	struct map connected;	   /* processes (profile ids) that have: enum process_state */
	struct map failures;	   /* process << 8 | API that could not begin: its result */
	struct map stop_times;	   /* processes that went on: microseconds, the tracer's below */
	struct map by_number;	   /* instances: number -> struct instance * */
	struct map of_process;	   /* pid -> how many instances it has; none: not there */
	/* string ids by call_index of each API; 0: not used so far */
	uint32_t *call_names[WIRE_APIS];
	struct map spaces;	     /* what processes map: pid -> struct kept_space * */
	int chunks[WALK_CHUNKS_MAX]; /* of the unwind tables: descriptors of our own */
	uint32_t chunk_count;
	uint64_t charged[BUDGETS];  /* of all instances, ended ones too */
	uint64_t ring_bytes;	    /* of all instances */
	uint32_t latest_device;	    /* the greatest id of the profile that one has got */
	unsigned int messages_left; /* in this round */
	uint64_t deadline_ns;	    /* of this drain */
	struct child *receiver;	    /* of descriptors; NULL: they are received here */
	uint32_t held_up;	    /* how often it was */
	uint32_t unclosed;	    /* connections that stay open until we exit */
	size_t first; /* instance that is drained first the next time, modulo their number */
};

/* A copy of a walker_space. */
struct kept_space {
	struct walk_python python;
	uint32_t generation;
	uint32_t count;
	uint32_t pending;
	struct walk_mapping mappings[];
};

/* Whose tracer may end in a program, or be taken out of it. */
static inline const struct injected_api *injected_sampled(const struct injected *s)
{
	return s->apis[0];
}

/* How many connections a process has, those that are about to end, too. */
uint64_t injected_count_of(const struct injected *s, uint32_t pid);

/* spaces.c: keeps what a process maps, for the libraries in it that are connected or will be. 0 or
 * -ENOMEM with error_text. */
int spaces_keep(struct injected *s, const struct walker_space *space);
/* NULL: none was reported. */
const struct kept_space *spaces_of(const struct injected *s, uint32_t pid);
void spaces_release(struct injected *s);

/* due.c: reports what due_end found, where no refusal did. 0 or -errno. */
int due_report(struct injected *s);
