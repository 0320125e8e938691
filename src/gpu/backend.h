/* SPDX-License-Identifier: MIT */
/*
 * A GPU vendor, seen from the recorder. Each has one folder under src/gpu/ and one row in
 * src/gpu/backends.c: docs/howto-add-a-gpu-backend.md. gpu.h gives the order in which the functions
 * are called.
 *
 * If a library inside the program reports the work, the backend uses gpu/injected/. A backend with
 * other sources calls `events` itself.
 */
#pragma once

#include "base/buf.h"
#include "profile/gpu_events.h"
#include "profile/tasks.h"
#include "profile/walker_news.h"

struct driver_image;
struct driver_kernel;
struct gpu_backend; /* each backend's own */

struct code_places;
struct kept_images;
struct user;

/* Where samples of a function are put whose instructions there is no room for: behind its end. */
#define OFFSET_LEFT_OUT (UINT32_MAX - 15)

/* Samples of GPU instructions. */
enum gpu_stalls {
	GPU_STALLS_NONE = 0,
	GPU_STALLS_CONTINUOUS,
	GPU_STALLS_EXACT, /* kernels run one at a time, and samples name their launch */
};

/* All strings and pointers are borrowed for the time of gpu_open, but for `images`, `stacks` and
 * `receiver`. */
struct gpu_options {
	/* The recording's own folder: files are made and removed through the descriptor, and the
	 * program finds them by the path. It is ours, and the target's user can only pass through
	 * it. */
	const char *runtime_dir; /* NULL: no program is started, and none can connect by itself */
	int runtime_fd;
	const char *library; /* path of libxpuprof-inject.so */
	uint32_t target_uid; /* only this user's processes may connect by themselves */
	uint32_t target_gid;
	/* enum launch_marker: which entry point the library shall call; 0: none */
	unsigned int marker;
	bool queue_times;  /* also ask for queued and submitted times */
	bool markers;	   /* also stretches of time that programs give names */
	bool syncs;	   /* also report what calls waited for the GPU, and how long */
	bool grids;	   /* also keep the ids that kernels read themselves */
	size_t ring_bytes; /* of each process's ring; 0: the default */
	/* libraries are to walk their own stacks; the marker, if any, is for those they cannot */
	bool walk;
	struct stack_resolver stacks;
	enum gpu_stalls stalls;
	/* a sample every 2^stall_period cycles of an SM; 0: chosen from the device */
	unsigned int stall_period;
	/* Work is recorded in bursts (profile_burst) that cost a program so many millionths of its
	 * time at most; 0: all is recorded. Not beside stalls. */
	uint32_t overhead;
	/* Of OpenCL's commands one of so many has times, and stands for the others; 0: all have. */
	uint32_t times_one_in;
	/* The vendor's tracer is taken out of programs that go on, where that is safe. */
	bool finalize;
	/* of samples of hardware counters; 0: none. Not beside stalls */
	uint64_t counter_interval_ns;
	char **environment; /* the program's; NULL: ours */
	/* Who has fewer rights than we, and may run what is not trusted; NULL: nobody. */
	const struct user *user;
	/* of GPU code go there, by the profile's ids of their modules; NULL: nowhere */
	struct kept_images *images;
	/* What is executed to receive descriptors of the program's (/proc/self/exe); NULL: they are
	 * received here, by a recorder that has no more rights than the program. */
	const char *receiver;
	struct buf *notes; /* gets lines that the user should read; NULL: nobody does */
};

/* What all backends of a recording share. */
struct gpu_shared {
	struct profile_writer *writer;
	struct tasks *tasks;
	struct gpu_events events;
	/* number of the latest instance; the next is one more (gpu_events.h) */
	uint32_t last_instance;
	/* where libraries report code of kernels to be; NULL: nobody is interested */
	struct code_places *places;
	/* NULL: of no interest. A program uses the device with this UUID, which is `device` of the
	 * profile. */
	int (*device_used)(void *context, const uint8_t uuid[16], uint32_t device);
	void *context; /* of device_used */
};

/* How a program is joined that runs already. */
struct gpu_joining {
	const char *library; /* path of the one that is put into it */
	const char *entry;   /* its function (join/join.h) */
	const char *tracer;  /* the name of the vendor's; valid with `stays` */
	/* what stays in the program when it has left, and what that costs; NULL: nothing */
	const char *stays;
};

/* How long a library took until it recorded nothing any more and all was sent. */
struct gpu_stop_time {
	uint64_t ns;
	uint64_t tracer_ns; /* of these, in the vendor's tracer */
};

struct gpu_stats {
	uint64_t instances_live; /* and other sources, that may still send something */
	uint64_t records;	 /* read so far */
	uint64_t reported_ns;	 /* GPU time as the driver reported it, recorded or lost */
	/* lines: why some instructions were not sampled, and what helps; valid until the next
	 * call */
	const char *stalls_refused;
	const char *counters_refused; /* the same of hardware counters */
	const char *stalls_contested; /* the same: who else claimed to sample, though we did */
	/* the same: how long programs that ran already were held to switch that on and off */
	const char *stalls_held;
	/* the same: which processes' GPU work is missing from some time on, and why */
	const char *ended;
	/* the same: what came of gpu_options.finalize, process by process */
	const char *finalized;
	/* the same: which processes were joined only when another tool had left them, and when */
	const char *late;
};

/* Functions that may be NULL are marked so; then the backend has nothing to do there. */
struct gpu_backend_ops {
	const char *name;
	/* *ret is NULL when nothing can be recorded; options->notes gets the reason. */
	int (*open)(struct gpu_backend **ret, const struct gpu_options *options,
		struct gpu_shared *shared);
	/* NULL. Environment variables for the command: calls add("NAME", "value") for each. */
	int (*environment)(struct gpu_backend *b, int (*add)(void *, const char *, const char *),
		void *context);
	/* NULL: programs that run already cannot be joined. False: those of this API cannot be. */
	bool (*joining)(struct gpu_backend *b, uint8_t api, struct gpu_joining *ret);
	/* NULL. Takes our end of the socket that a library in this process has the other end of:
	 * owned from here on. */
	int (*adopt)(struct gpu_backend *b, int fd, uint32_t pid);
	/* NULL: none came through the marker. False: the instance is this backend's, and lives in
	 * another process than the launch. */
	bool (*is_plausible)(struct gpu_backend *b, const struct gpu_launch *e);
	/* As in walker_news; each may be NULL. Both come before libraries connect as well as
	 * after. */
	int (*code_mapped)(struct gpu_backend *b, const struct code_change *change);
	int (*space)(struct gpu_backend *b, const struct walker_space *space);
	int (*table_chunk)(struct gpu_backend *b, uint32_t index, int fd);
	int (*leaves)(struct gpu_backend *b, uint32_t pid);
	/* NULL. Readable when a library wants something (connects, closes, or has much in its
	 * ring): then the usual { snapshot; drain } is due. Otherwise it is polled. -1: nothing is
	 * to be watched. */
	int (*poll_fd)(struct gpu_backend *b);
	int (*snapshot)(struct gpu_backend *b);
	/* Hands everything up to the snapshot to the events' receiver. Sets *ret_busy when much had
	 * come. */
	int (*drain)(struct gpu_backend *b, bool *ret_busy);
	/* Asks every live library to flush and go quiet. */
	int (*stop)(struct gpu_backend *b);
	/* Drains what is left and ends every instance, whatever its library does. */
	int (*finish)(struct gpu_backend *b);
	/* NULL. A program uses the device with this UUID, which is `device` of the profile. */
	int (*device_used)(struct gpu_backend *b, const uint8_t uuid[16], uint32_t device);
	/* NULL. True when the machine may have a GPU whose driver says itself what it does. Asked
	 * before it is opened. */
	bool (*hears_drivers)(void);
	/* NULL. What drivers say themselves (profile/driver_news.h). `reported`: a library in the
	 * program reports this driver's API, and so all that it does. */
	int (*driver_kernel)(struct gpu_backend *b, const struct driver_kernel *k, bool reported);
	int (*driver_image)(struct gpu_backend *b, const struct driver_image *i, bool reported);
	int (*driver_refused)(struct gpu_backend *b, const char *why);
	/* NULL. True when a driver said itself what this process image (profile id) launches. */
	bool (*is_probed)(const struct gpu_backend *b, uint32_t process);
	/* NULL. True when this process image (profile id) has connected. */
	bool (*has_connected)(const struct gpu_backend *b, uint32_t process);
	/* NULL. True when this API, by its number on the wire, was reported from there. */
	bool (*reports)(const struct gpu_backend *b, uint32_t process, uint32_t api);
	/* NULL. What its first call returned there, if it failed; else 0. */
	int32_t (*failure)(const struct gpu_backend *b, uint32_t process, uint32_t api);
	/* NULL. True when another tool held the vendor's tracer in this process image as it was
	 * joined. */
	bool (*is_taken)(const struct gpu_backend *b, uint32_t process);
	/* NULL. True when the vendor's tracer was taken out of this process image. */
	bool (*is_finalized)(const struct gpu_backend *b, uint32_t process);
	/* NULL. False: it is not known how long it took to stop in this process image. */
	bool (*stop_time)(const struct gpu_backend *b, uint32_t process, struct gpu_stop_time *ret);
	/* Comes zeroed, with texts that are empty. */
	void (*stats)(const struct gpu_backend *b, struct gpu_stats *ret);
	void (*close)(struct gpu_backend *b);
	/* NULL. The main function of a process that the backend executes: xpuprof gpu-helper NAME
	 * ARGUMENT...; gets the arguments. */
	int (*helper)(int argc, char **argv);
};

/* All backends; NULL-terminated. */
extern const struct gpu_backend_ops *const gpu_backends[];
