/* SPDX-License-Identifier: MIT */
/*
 * The plan: eBPF objects whose programs are to run inside GPU kernels, translated once, and what
 * all processes get of that (wire/probe.h). The programs of all objects share one arena; the
 * maps of each are its own.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "ebpf/nvidia/bodies.h"
#include "wire/probe.h"

/* How a program is launched that is a kernel. */
struct plan_launch {
	uint32_t grid[3], block[3];
};

/* One of the objects. It owns what it was made of. */
struct plan_object {
	char *name;		      /* of the tool, or the path */
	const struct ebpf_tool *tool; /* NULL: not one of ours */
	struct ebpf_object *object;
	struct bodies bodies;
	uint32_t first_program;
	struct plan_launch launches[EBPF_PROGRAMS_MAX]; /* by program */
};

/* A ring or map in the memory of the host. */
struct plan_outside {
	const struct map_place *place;
	uint32_t object, map; /* map PLAN_PRINTS: texts that programs print */
	uint64_t at, bytes;
	uint32_t tails;
	bool is_ring;
	/* It is an array of the kernel's, not in the memory that is shared with processes. */
	bool is_shared;
	int fd;		 /* -1: not open (kernel_programs.h) */
	uint8_t *memory; /* so: NULL */
};

/* A number that an array of the kernel's begins with, in the value of a key. */
struct plan_kernel_value {
	uint32_t object, map, key;
	uint64_t offset, bytes, number;
};

#define PLAN_KEY_MAX 512u

/* An entry that a hash begins with. */
struct plan_hash_entry {
	uint32_t object, map;
	uint32_t place; /* which of the hash's */
	uint8_t key[PLAN_KEY_MAX];
};

/* The programs as functions for machine code, for one kind of GPU. */
struct plan_patches {
	uint32_t sm; /* the compute capability times 10 */
	struct buf code;
};

#define PLAN_PRINTS UINT32_MAX

struct plan {
	struct vec(struct plan_object) objects;
	struct vec(struct plan_outside) outsides;
	uint32_t ring_count, shared_count;
	uint64_t arena_bytes, shared_bytes, snapshot_at, outside_at;
	struct buf initials; /* struct probe_initial, whose data is in `data` */
	struct buf data;
	uint32_t initial_count;
	struct vec(struct plan_kernel_value) kernel_values;
	struct vec(struct plan_hash_entry) hash_entries;
	struct buf notes;			 /* lines about what was set */
	struct vec(struct plan_patches) patches; /* none: kernels of machine code run without */
	int fd; /* the plan as processes get it; -1: not made yet */
	uint64_t hash;
};

struct plan_options {
	struct bodies_options bodies;
	int per_thread;	  /* programs run in: 1 all threads, 0 one of each warp, -1 as written */
	const char *only; /* kernels: globs, one a line; NULL: all that the programs name */
	bool measures;	  /* what kernels take without programs, too */
	/* Programs are switched off and on in turns of so long in the mean; 0: they run all the
	 * time. */
	uint64_t turn_ns;
	uint64_t snapshot_ns; /* in recordings: what changes in maps is written so often; 0: once */
};

#define PLAN_OPTIONS_INIT                                                                          \
	{                                                                                          \
		.bodies.layout = {.threads = LAYOUT_THREADS,                                       \
			.map_bytes = LAYOUT_MAP_BYTES,                                             \
			.accesses = LAYOUT_ACCESSES},                                              \
		.per_thread = -1                                                                   \
	}

/* Programs that the command line wants in all threads, or in one of each warp: 0, or -EINVAL with
 * error_text where the tool's figures would mean something else then. */
int plan_choose_threads(struct ebpf_object *o, const struct ebpf_tool *tool, int per_thread);
void plan_init(struct plan *p);
void plan_release(struct plan *p);
/* Adds an object, which becomes the plan's in any case. 0 or -errno with error_text. */
int plan_add(struct plan *p, struct ebpf_object *o, const char *name, const struct ebpf_tool *tool,
	const struct plan_options *options);
/* "NAME[KEY]=VALUE": numbers in an array, a hash, or a variable of a section, of each object that
 * has it. 0 or -errno with error_text. Behind the last object. */
int plan_set(struct plan *p, const char *setting);
/* "PROGRAM=BLOCKS:THREADS", each up to three numbers: how a program is launched that is a kernel. So
 * too. */
int plan_set_launch(struct plan *p, const char *text);
/* Lines about what programs will cost more than they need to. */
void plan_warn(const struct plan *p, struct buf *out);
/* Lines about programs that cannot run in kernels of which there is machine code only. */
void plan_warn_patches(const struct plan *p, struct buf *out);
/* Makes `fd`, and its hash: 0 or -errno with error_text. */
int plan_seal(struct plan *p, const struct plan_options *options);
