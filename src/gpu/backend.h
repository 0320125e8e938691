/* SPDX-License-Identifier: MIT */
/*
 * A GPU vendor, seen from the recorder. One folder under src/gpu/ and one row in src/gpu/backends.c
 * each; docs/howto-add-a-gpu-backend.md.
 *
 * Life: open -> environment (once, before the command starts) -> any number of { snapshot; drain }
 * -> stop -> { snapshot; drain } until nothing is live or patience ends -> finish -> close. One
 * thread.
 *
 * snapshot and drain are two calls because of the order the correlator needs: everything that is in
 * the shared rings at the snapshot had its launch marker fire before, so the recorder takes the
 * snapshot, drains the markers, and only then drains the rings up to the snapshot.
 */
#pragma once

#include "base/buf.h"
#include "profile/gpu_events.h"
#include "profile/tasks.h"

struct gpu_backend; /* each backend's own */

struct kept_images;

/* Samples of GPU instructions. */
enum gpu_stalls {
	GPU_STALLS_NONE = 0,
	GPU_STALLS_CONTINUOUS,
	GPU_STALLS_EXACT, /* kernels run one at a time, and samples name their launch */
};

struct gpu_options {
	const char *runtime_dir; /* private folder of the recording (0700), ours until it is open, then the
				  * target's user's */
	const char *library;     /* path of libxpuprof-inject.so */
	uint32_t target_uid;     /* only this user's processes may connect */
	uint32_t target_gid;
	unsigned int marker; /* enum launch_marker: which entry point the library shall call; 0: none */
	bool queue_times;    /* also ask for queued and submitted times */
	bool syncs;          /* also tell what calls waited for the GPU, and how long */
	size_t ring_bytes;   /* of each process's ring; 0: the default */
	bool walk;           /* libraries are to walk their own stacks (stacks.take is then there); the marker, if
			      * there is one, is for those they cannot. stacks.prepare may be there without. */
	struct gpu_stack_taker stacks;
	enum gpu_stalls stalls;
	unsigned int stall_period;  /* a sample every 2^stall_period cycles of an SM; 0: chosen from the device */
	uint64_t counter_interval_ns; /* samples of hardware counters; 0: none are taken. Not beside stalls */
	char **environment;         /* the program's; used by open only. NULL: ours */
	struct kept_images *images; /* of GPU code go there, by the profile's ids of their modules; NULL: nowhere */
};

struct gpu_stats {
	uint64_t instances;          /* connections so far */
	uint64_t instances_live;     /* that may still send something */
	uint64_t records;            /* taken from rings */
	uint64_t reported_ns;        /* GPU time as the driver reported it, whatever became of it */
	const char *stalls_refused;  /* lines: why some instructions were not sampled, and what helps; valid until
				      * the next call */
	const char *counters_refused; /* the same of hardware counters */
	const char *ended; /* the same: which processes' GPU work is missing from some time on, and why */
};

struct gpu_backend_ops {
	const char *name; /* "nvidia" */
	int (*open)(struct gpu_backend **ret, const struct gpu_options *options, struct profile_writer *w,
		struct tasks *tasks, struct gpu_sink sink);
	/* Environment variables for the command: calls add("NAME", "value") for each. */
	int (*environment)(struct gpu_backend *b, int (*add)(void *, const char *, const char *),
		void *context);
	/* Whether a launch that came through the marker is of an instance that lives in its process; one that is
	 * not is to be dropped. */
	bool (*is_ours)(struct gpu_backend *b, const struct gpu_launch *e);
	/* Code was mapped over other code: stacks from before may be void. */
	void (*code_mapped)(struct gpu_backend *b, const struct gpu_code_change *change);
	/* What walkers inside of processes need, told before libraries connect as well as after: as in
	 * gpu_sink. */
	int (*space)(struct gpu_backend *b, const struct gpu_space *space);
	int (*table_chunk)(struct gpu_backend *b, uint32_t index, int fd);
	/* Takes all that libraries of this process have told: as in gpu_sink. */
	int (*leaves)(struct gpu_backend *b, uint32_t pid);
	/* Readable when a library wants something (connects, closes, or has much in its ring): then
	 * the usual { snapshot; drain } is due. Otherwise rings are polled. */
	int (*poll_fd)(struct gpu_backend *b);
	int (*snapshot)(struct gpu_backend *b);
	/* Hands everything up to the snapshot to the sink. *ret_busy: there was much, come back
	 * soon. */
	int (*drain)(struct gpu_backend *b, bool *ret_busy);
	/* Asks every live library to flush and go quiet. What they flush must be drained as before;
	 * see instances_live. */
	int (*stop)(struct gpu_backend *b);
	/* Drains what is left and ends every instance, whatever its library does. */
	int (*finish)(struct gpu_backend *b);
	/* True when this process image (profile id) has connected. */
	bool (*has_connected)(struct gpu_backend *b, uint32_t process);
	void (*stats)(const struct gpu_backend *b, struct gpu_stats *ret);
	void (*close)(struct gpu_backend *b);
};

/* All backends; NULL-terminated. */
extern const struct gpu_backend_ops *const gpu_backends[];
