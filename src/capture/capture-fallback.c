// SPDX-License-Identifier: MIT
/* The CPU side of a build without clang, bpftool or libbpf: it says so and opens nothing. */
#include "capture/capture.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static int not_built(void)
{
	return error_set(-ENOTSUP,
		"this xpuprof was built without clang, bpftool or libbpf, and cannot "
		"record CPU stacks");
}

int capture_open(struct capture **ret, const struct capture_options *options,
	struct profile_writer *w, struct tasks *tasks, struct gpu_sink sink)
{
	return not_built();
}

int capture_track(struct capture *c, pid_t pid)
{
	return not_built();
}

int capture_track_tree(struct capture *c, pid_t pid)
{
	return not_built();
}

void capture_note_signals(struct capture *c, pid_t pid)
{
}

bool capture_signal_came_to_both(const struct capture *c, int number, uint64_t within_ns)
{
	return false;
}

int capture_start(struct capture *c)
{
	return not_built();
}

int capture_poll_fd(const struct capture *c)
{
	return -1;
}

int capture_drain(struct capture *c, bool *ret_busy)
{
	return not_built();
}

int capture_stop(struct capture *c)
{
	return not_built();
}

void capture_close(struct capture *c)
{
}

int capture_prepare(struct capture *c, uint32_t pid)
{
	return not_built();
}

int capture_take_stack(struct capture *c, const struct gpu_stack *stack, uint32_t *ret_stack,
	uint32_t *ret_incomplete)
{
	return not_built();
}

const struct kept_files *capture_kept_files(const struct capture *c)
{
	return NULL;
}

int capture_check(void)
{
	return not_built();
}

enum launch_marker capture_measure_markers(uint32_t ret_cost_ns[LAUNCH_MARKER_KINDS])
{
	memset(ret_cost_ns, 0, LAUNCH_MARKER_KINDS * sizeof(*ret_cost_ns));
	return LAUNCH_MARKER_NONE;
}

enum launch_marker capture_marker(const struct capture *c)
{
	return LAUNCH_MARKER_NONE;
}

void capture_each_mapping(const struct capture *c, const char *prefix,
	void (*visit)(void *context, uint32_t pid, uint32_t process), void *context)
{
}
