/* SPDX-License-Identifier: MIT */
/* What the files of `xpuprof record` share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/place.h"
#include "base/vec.h"
#include "cmd/status.h"
#include "export/exporter.h"
#include "export/output_claim.h"
#include "probe/programs.h"
#include "record/session.h"

struct output {
	const char *path;
	const struct exporter *exporter; /* NULL: the profile itself */
	struct output_claim claim;
	bool made;
};

struct record {
	struct vec(struct output) outputs;
	struct buf temporary; /* path of the profile nobody asked for, or empty */
	const char *profile_path;
	struct place profile; /* where it is, from when the recording was opened */
	unsigned long hz;
	unsigned long pid;
	double seconds;
	enum session_stacks stacks;
	enum gpu_stalls stalls;
	unsigned int stall_period;
	double overhead;   /* percent; 0: all GPU work is recorded; negative: not said */
	long times_one_in; /* of OpenCL's commands; 0: all have times */
	uint64_t counter_interval_ns, wait_min_ns;
	double wait_seconds;
	double probe_seconds; /* of --probe-interval; 0: none */
	bool sanitizer;	      /* which is refused */
	const char *drivers;  /* NULL: not wanted; "": all */
	bool off_cpu;
	bool whole_system, observes, cpu_only, gpu_only, as_root, queue_times, markers, finalize,
		inlines, quiet, wants_status;
	const char *metrics;
	struct programs programs; /* of --probe */
	int *ret_wait_status;	  /* NULL: we end as the command ended */
	struct status status;
};

/* arguments.c: the index of the command in argv, or the negative result of options_parse. */
int record_parse(struct record *r, int argc, char **argv);
/* Whether what was asked for can be had together: an exit status. */
int record_check(const struct record *r, char **command);
/* -o, of "[FORM:]FILE": 0 or negative, with error_text. */
int record_add_output(void *record, const char *value);
/* What --overhead says, in the unit of session_options. */
uint32_t record_overhead(const struct record *r);

/* outputs.c: where the recording itself is written. 0 or -errno with error_text. */
int record_choose_profile(struct record *r);
/* Finds out now, and not after a long run, that an output cannot be written, or is to be another
 * recorder's. 0 or -errno with error_text. */
int record_claim_outputs(const struct record *r, const struct target_user *u);
void record_release_outputs(const struct record *r);
/* All forms but the recording itself, made from it: an exit status. */
int record_make_outputs(struct record *r, const struct target_user *u, const struct session *s);
/* Says what there is of a recording that could not be written to its end. */
void record_print_rest(const struct record *r);

/* run.c: records the command, or what runs already, and makes the outputs: an exit status, or it
 * ends as the command ended. */
int record_prepare_and_run(struct record *r, char **command);
