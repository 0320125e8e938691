/* SPDX-License-Identifier: MIT */
/* What the files of `xpuprof probe` share. */
#pragma once

#include <stdbool.h>

#include "probe/programs.h"
#include "probe/server.h"
#include "probe/tables/table.h"

#define PROBE_ROWS 20 /* of each table */

struct probe_request {
	struct programs programs;
	double seconds, interval; /* 0: none */
	unsigned long rows;
	const char *output; /* NULL: nothing is recorded */
	bool json, kernels, as_root;
	bool sanitizer; /* programs run in machine code, too */
};

/* --list, --check: the exit status. */
int probe_list(void);
int probe_check(const char *what, const struct plan_options *options, bool as_patches);
/* Runs the command with the programs in its kernels; `command` ends with a NULL. The exit status,
 * or it ends like the command. */
int probe_run(struct probe_request *request, char **command);

/* The same in a recording that is not kept, whose times say what the programs cost. */
int probe_cost(const struct probe_request *request, char **command);

/* Records as they come, and what is printed at the end and in between. */
struct probe_output {
	const struct probe_request *request;
	const struct server *server;
	struct tally tally;
	struct buf lines;   /* of records that are printed as they come */
	struct buf records; /* the same as JSON */
	uint64_t left_out;  /* records for which there is no place in it */
	bool failed;	    /* memory was short */
};

void output_record(void *context, const struct server_record *r);
/* Prints the lines that there are: 0 or -errno. */
int output_lines(struct probe_output *o);
/* All tables; `is_last`: and what became of images and kernels, and what was lost. 0 or -errno with
 * error_text. */
int output_tables(struct probe_output *o, bool is_last);
int output_json(struct probe_output *o);
void output_release(struct probe_output *o);
/* What was lost, and what is not probed: one line each, for stderr. */
void output_losses(struct buf *out, const struct probe_output *o);
