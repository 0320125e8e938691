/* SPDX-License-Identifier: MIT */
/*
 * The options that choose what of a profile is shown, the same for every command that shows one,
 * and the warnings that go with a conversion.
 */
#pragma once

#include "cmd/options.h"
#include "export/exporter.h"
#include "view/range/range.h"

/* Rows for a command's table, of a struct range_wanted: which part of the recording is shown. */
#define RANGE_ARGS(w)                                                                              \
	OPTION_CALL(0, "from", "TIME", view_arg_from, (w),                                         \
		"leave out what was before TIME: 12.5s, 200ms (from the start), 14:03:20"),        \
		OPTION_STRING(0, "thread", "NAME", &(w)->thread,                                   \
			"only what threads of this name, or with this id, did or asked for"),      \
		OPTION_STRING(0, "device", "NUMBER", &(w)->device,                                 \
			"only what ran on this GPU (its number, or its name)"),                    \
		OPTION_STRING(0, "marker", "NAME[#N]", &(w)->marker,                               \
			"only the time of markers of this name, or of the N-th of them")
#define RANGE_ARG_TO(w)                                                                            \
	OPTION_CALL(0, "to", "TIME", view_arg_to, (w),                                             \
		"leave out what was after TIME, so too; +200ms: so long after --from")

int view_arg_from(void *target, const char *value);
int view_arg_to(void *target, const char *value);
/* Whether --device has something to choose from in this view: else EXIT_USAGE after reporting. */
int view_check_range(const struct option_usage *usage, const struct view_options *o);

/* Rows for a command's table; `o` is a struct export_options. */
#define VIEW_ARGS(o)                                                                               \
	OPTION_WORD(0, "view", "NAME", "merge gpu cpu stall off-cpu calls wall", view_arg_view,    \
		&(o)->view,                                                                        \
		"merge (CPU and GPU), gpu, cpu, stall (why the GPU waits), off-cpu, calls, wall"), \
		OPTION_WORD(0, "by", "LIST", "process thread device stream", view_arg_by,          \
			&(o)->view, "group by process, thread, device, stream"),                   \
		OPTION_WORD(0, "graph-stack", "WHICH", "launch capture both",                      \
			view_arg_graph_stack, &(o)->view,                                          \
			"put work of graphs at its launch, capture or both"),                      \
		OPTION_FLAG(0, "gpu-api-frames", &(o)->view.api_frames,                            \
			"keep the frames inside the GPU vendor's own libraries"),                  \
		OPTION_FLAG(0, "cuda-frames", &(o)->view.api_frames, "the same"),                  \
		OPTION_FLAG(0, "native-python", &(o)->view.native_python,                          \
			"keep the frames inside Python's interpreter"),                            \
		OPTION_FLAG(0, "inline", &(o)->view.inlines,                                       \
			"show inlined functions as frames (see record --inline)"),                 \
		OPTION_FLAG(0, "lines", &(o)->view.lines, "distinguish the lines of a function"),  \
		OPTION_WORD(0, "weight", "WHAT", "time samples block-time", view_arg_weight,       \
			&(o)->view,                                                                \
			"time; samples: of instructions, with --view stall; block-time: of "       \
			"blocks, with --view gpu (see record --probe blocks)"),                    \
		OPTION_FLAG(0, "latency", &(o)->view.latency,                                      \
			"only samples of cycles without any issue, with --view stall"),            \
		RANGE_ARGS(&(o)->view.range),                                                      \
		OPTION_FLAG(0, "reverse", &(o)->view.reverse, "merge stacks from the leaf"),       \
		OPTION_FLAG(0, "inverted", &(o)->inverted, "draw the root on top")

int view_arg_view(void *target, const char *value);
int view_arg_by(void *target, const char *value);
int view_arg_graph_stack(void *target, const char *value);
int view_arg_weight(void *target, const char *value);

/* Options that do nothing together are a wrong use: EXIT_USAGE after reporting it. */
int view_args_check(const struct option_usage *usage, const struct view_options *o);

/* The one operand, or profile.xpu; NULL after reporting that there are more. */
const char *view_arg_file(const struct option_usage *usage, int argc, char **argv, int first);
/* The first of two operands, and the second; NULL after reporting that there are others. */
const char *view_arg_files(const struct option_usage *usage, int argc, char **argv, int first,
	const char **ret_second);
int view_arg_scale(void *target, const char *value);
/* Whether the file's name suits a picture: EXIT_USAGE after reporting that it does not. */
int view_check_picture(const struct option_usage *usage, const char *path);
/* export_file() with the rights of whoever called sudo. */
int view_export(const struct exporter *e, const char *path, const char *out_path,
	const struct export_options *options, struct export_result *ret);
/* Reports what a conversion of `path` could not show. */
void view_warn(const struct exporter *e, const char *path, const struct export_result *r);
