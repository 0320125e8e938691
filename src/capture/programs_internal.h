/* SPDX-License-Identifier: MIT */
/*
 * What the files of the BPF programs share: programs_load.c loads them, programs.c attaches and
 * asks them, programs_walk.c gives them what they need to walk stacks.
 */
#pragma once

#include "capture/programs.h"

#include <pthread.h>

#include "base/vec.h"
#include "bpf/capture.skel.h"
#include "capture/uprobe.h"

/* Tables are written in lines, as many words as one has to be aligned to. */
#define LINE_BYTES     (WALK_TABLE_ALIGN * sizeof(uint32_t))
#define MAPPINGS_BYTES (BPF_MAPPINGS_MAX * sizeof(struct walk_mapping))
#define OBSERVED_BYTES (BPF_OBSERVED_MAX * sizeof(struct bpf_observed))
#define STAGED_BYTES   (BPF_STAGED_LINES * LINE_BYTES)

/* Of wait_programs.h, but for each_thread, which is run and not attached. */
#define WAIT_PROGRAMS 4

struct programs {
	struct capture_bpf *bpf;
	unsigned int sample_hz;
	bool launches;
	bool waits;
	bool observes;
	bool probes_drivers;
	bool pid_namespace; /* we are in one, and count pids as it does */
	bool sees_maps;	    /* the programs see when code is mapped */
	char *library;
	uint64_t marker_offset; /* in the library's file */
	struct ring samples;
	struct ring launch_ring;
	struct ring tasks;
	struct ring wait_ring;
	struct walk_mapping *mappings;
	struct bpf_observed *observed; /* NULL: no calls are observed */
	pthread_mutex_t writing;       /* guards `staged` */
	void *staged;
	struct uprobe launch_probe;
	struct vec(struct bpf_link *) sample_links;
	struct bpf_link *wait_links[WAIT_PROGRAMS];
	uint64_t passed_over;	 /* as of when it was last looked at, */
	uint64_t passed_over_ns; /* which is then */
};

static inline void wait_programs(const struct programs *p, struct bpf_program *ret[WAIT_PROGRAMS])
{
	ret[0] = p->bpf->progs.on_new_thread;
	ret[1] = p->bpf->progs.on_exec_waits;
	ret[2] = p->bpf->progs.on_switch;
	ret[3] = p->bpf->progs.on_waking;
}
