// SPDX-License-Identifier: MIT
/* xpuprof record, and the recordings of `xpuprof probe`. */
#include "base/error.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "cmd/record/record.h"

#define RECORD_INIT                                                                                \
	{                                                                                          \
		.hz = 99, .overhead = -1, .wait_seconds = 1, .profile = PLACE_NONE,                \
		.programs.plan = PLAN_OPTIONS_INIT                                                 \
	}

int cmd_record_probes(const struct programs *p, const struct record_probes *how, char **command)
{
	struct record r = RECORD_INIT;
	int status;

	r.programs = *p;
	r.seconds = how->seconds;
	r.as_root = how->as_root;
	r.probe_seconds = how->interval;
	r.ret_wait_status = how->ret_wait_status;
	if (how->only_times) {
		r.gpu_only = r.quiet = true;
		r.stacks = SESSION_STACKS_NONE;
	}
	if (record_add_output(&r, how->output)) {
		cmd_error("-o %s", error_text());
		status = EXIT_USAGE;
	} else {
		status = record_check(&r, command) ?: record_prepare_and_run(&r, command);
	}
	vec_release(&r.outputs);
	buf_release(&r.temporary);
	return status;
}

int cmd_record(int argc, char **argv)
{
	struct record r = RECORD_INIT;
	int first = record_parse(&r, argc, argv);
	int status = first < 0 ? options_status(first) : record_check(&r, argv + first);

	if (first >= 0 && !status)
		status = record_prepare_and_run(&r, argv + first);
	programs_release(&r.programs);
	vec_release(&r.outputs);
	buf_release(&r.temporary);
	return status;
}
