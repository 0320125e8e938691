/* SPDX-License-Identifier: MIT */
/*
 * The checks of `xpuprof doctor`: each examines one thing, reports its state in one line, and names
 * the one step that would change it. doctor.c has the table of the machine's checks, and each
 * vendor's folder one of its own: a new check is one function and one row.
 *
 * Checks read, they never change the machine. A check that cannot find something out reports that.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cmd/doctor/library_probe.h"

enum finding_state {
	FINDING_OK = 0,
	FINDING_LIMITED, /* recording works, with less in it */
	FINDING_MISSING, /* this part of a recording does not work */
};

struct finding {
	enum finding_state state;
	struct buf text; /* how it is */
	struct buf step; /* what would change it; empty: nothing to do */
};

#define DOCTOR_VENDORS_MAX 8

/* What several checks need; found out once. */
struct doctor {
	const char *root; /* "" or the folder that stands for / */
	uint32_t uid;
	uint64_t capabilities; /* effective, as bits */
	bool can_bpf;	       /* by capabilities alone */
	bool can_perf;	       /* without these, perf events of one's own programs */
	/* Whose GPUs are here, with or without their drivers, up to NULL. */
	const struct doctor_table *gpus[DOCTOR_VENDORS_MAX + 1];
	/* The library of the GPU driver, once a check of its vendor has looked for it; the version
	 * as the vendor counts. */
	struct library_probe driver;
	bool opencl; /* the loader of OpenCL has drivers, and knows layers: set by its checks */
};

/* The finding's state and text. */
void finding_is(struct finding *f, enum finding_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void finding_step(struct finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

void doctor_gather(struct doctor *d);
/* Reads a small file below the root: 0 or -errno. */
int doctor_read(const struct doctor *d, const char *path, struct buf *ret);
/* A file's one number: 0, or -errno when it is not there or not a number. */
int doctor_read_number(const struct doctor *d, const char *path, long *ret);
bool doctor_exists(const struct doctor *d, const char *path);

/* devices.c: whether a device of a PCI vendor and class, "0x8086" and "0x03", is on the bus */
bool doctor_has_device(const struct doctor *d, const char *vendor, const char *class);
/* whether the kernel's driver made a render node for a GPU of this vendor */
bool doctor_has_render_node(const struct doctor *d, const char *vendor);
/* The step that lets this user open a device's node: to join its group. */
void finding_step_group(struct finding *f, const struct doctor *d, const char *node);

/* Which side of a recording needs what is checked; 0: neither. */
enum {
	SIDE_CPU = 1 << 0,
	SIDE_GPU = 1 << 1, /* of the vendor in whose table the check is; else, of all */
};

struct doctor_check {
	const char *key; /* for machines; NULL ends a table */
	const char *title;
	unsigned int sides;
	void (*run)(struct doctor *d, struct finding *f);
};

struct doctor_table {
	const struct doctor_check *checks; /* up to a row without a key */
	/* whose GPUs it is about; NULL: nobody's, and what is below is not set */
	const char *vendor;
	/* whether there is one, with or without its driver: asked before all checks, of files */
	bool (*has_gpu)(const struct doctor *d);
	const char *const *opencl_drivers; /* words in the names of their files, up to NULL */
	const char *opencl_step;	   /* what brings one */
};

/* A vendor whose GPUs are here; may be added twice. */
void doctor_add_gpu(struct doctor *d, const struct doctor_table *vendor);
bool doctor_has_gpu(const struct doctor *d, const struct doctor_table *vendor);

/* tried.c: what has been tried, as text and as a member of an object */
void tried_text(struct buf *out);
void tried_json(struct buf *out);

/* system.c */
void check_kernel(struct doctor *d, struct finding *f);
void check_btf(struct doctor *d, struct finding *f);
void check_rights(struct doctor *d, struct finding *f);
void check_perf_events(struct doctor *d, struct finding *f);
void check_bpf_setting(struct doctor *d, struct finding *f);
void check_lockdown(struct doctor *d, struct finding *f);
void check_memlock(struct doctor *d, struct finding *f);
void check_programs(struct doctor *d, struct finding *f);
void check_probe(struct doctor *d, struct finding *f);
void check_tracefs(struct doctor *d, struct finding *f);
void check_kernel_symbols(struct doctor *d, struct finding *f);
void check_names(struct doctor *d, struct finding *f);
void check_debug_files(struct doctor *d, struct finding *f);
void check_metrics(struct doctor *d, struct finding *f);
void check_joining(struct doctor *d, struct finding *f);
void check_library(struct doctor *d, struct finding *f);
