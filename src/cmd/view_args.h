/* SPDX-License-Identifier: MIT */
/*
 * The options that choose what of a profile is shown, the same for every command that shows one,
 * and the warnings that go with a conversion.
 */
#pragma once

#include "cmd/options.h"
#include "export/exporter.h"

/* Rows for a command's table; `o` is a struct export_options. */
#define VIEW_ARGS(o)                                                                               \
	OPTION_CALL(0, "view", "NAME", view_arg_view, &(o)->view,                                  \
		"merge (CPU and GPU), gpu or cpu"),                                                \
	OPTION_CALL(0, "by", "LIST", view_arg_by, &(o)->view,                                      \
		"group by process, thread, device, stream"),                                       \
	OPTION_CALL(0, "graph-stack", "WHICH", view_arg_graph_stack, &(o)->view,                   \
		"put CUDA graph work at its launch, capture or both"),                             \
	OPTION_FLAG(0, "cuda-frames", &(o)->view.cuda_frames,                                      \
		"keep the frames inside CUDA's own libraries"),                                    \
	OPTION_FLAG(0, "native-python", &(o)->view.native_python,                                  \
		"keep the frames inside Python's interpreter"),                                    \
	OPTION_FLAG(0, "inline", &(o)->view.inlines,                                               \
		"show inlined functions as frames (see record --inline)"),                          \
	OPTION_FLAG(0, "lines", &(o)->view.lines, "tell the lines of a function apart")

int view_arg_view(void *target, const char *value);
int view_arg_by(void *target, const char *value);
int view_arg_graph_stack(void *target, const char *value);

/* The one operand, or profile.xpu; NULL after reporting that there are more. */
const char *view_arg_file(const struct option_usage *usage, int argc, char **argv, int first);
/* Tells what a conversion of `path` could not show. */
void view_warn(const struct exporter *e, const char *path, const struct export_result *r);
