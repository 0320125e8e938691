// SPDX-License-Identifier: MIT
/* In place of programs.c and what belongs to it in builds without clang, bpftool or libbpf: there
 * are no programs. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "bpfload/refusal.h"
#include "capture/programs.h"

static int not_built(void)
{
	return error_set(-ENOTSUP,
		"this xpuprof was built without clang, bpftool or libbpf, and has no BPF programs");
}

bool capture_is_built(void)
{
	return false;
}

int programs_open(struct programs **ret, const struct capture_options *options,
	const struct marker_costs *markers)
{
	return not_built();
}

int programs_can_record_waits(void)
{
	return 0;
}

int programs_check(const struct capture_options *options, bool multi)
{
	return not_built();
}

int programs_track(struct programs *p, pid_t pid)
{
	return not_built();
}

void programs_note_signals(struct programs *p, pid_t pid)
{
}

bool programs_signal_came_to_both(const struct programs *p, int number, uint64_t within_ns)
{
	return false;
}

int programs_start(struct programs *p)
{
	return not_built();
}

void programs_note_clock(struct programs *p)
{
}

int programs_stop(struct programs *p)
{
	return not_built();
}

void programs_close(struct programs *p)
{
}

int programs_new_chunk(struct programs *p, uint32_t index, int *ret_fd)
{
	return not_built();
}

int programs_write_words(struct programs *p, uint32_t at, const uint32_t *words, uint32_t count)
{
	return not_built();
}

bool programs_can_share_chunks(const struct programs *p)
{
	return false;
}

bool programs_see_maps(const struct programs *p)
{
	return false;
}

struct walk_mapping *programs_mappings(struct programs *p)
{
	return NULL;
}

int programs_put_space(struct programs *p, uint32_t pid, const struct bpf_space *space)
{
	return not_built();
}

int programs_put_python(struct programs *p, uint32_t pid, const struct walk_python *python)
{
	return not_built();
}

void programs_drop_space(struct programs *p, uint32_t pid)
{
}

struct ring *programs_samples(struct programs *p)
{
	return NULL;
}

struct ring *programs_launches(struct programs *p)
{
	return NULL;
}

struct ring *programs_tasks(struct programs *p)
{
	return NULL;
}

struct ring *programs_waits(struct programs *p)
{
	return NULL;
}

struct bpf_losses programs_losses(struct programs *p, bool last)
{
	return (struct bpf_losses){0};
}

int programs_each_fd(const struct programs *p, int (*add)(void *context, int fd), void *context)
{
	return not_built();
}

struct marker_costs marker_costs_measure(void)
{
	return (struct marker_costs){0};
}

enum launch_marker capture_measure_markers(uint32_t ret_cost_ns[LAUNCH_MARKER_KINDS])
{
	memset(ret_cost_ns, 0, LAUNCH_MARKER_KINDS * sizeof(*ret_cost_ns));
	return LAUNCH_MARKER_NONE;
}

bool programs_can_probe_drivers(const struct programs *p)
{
	return false;
}

int programs_put_probe_sites(
	struct programs *p, uint32_t first, const struct bpf_probe_site *sites, size_t count)
{
	return not_built();
}

int programs_probe_driver(struct programs *p, const struct uprobe_places *places)
{
	return not_built();
}

struct bpf_observed *programs_observed(struct programs *p)
{
	return NULL;
}

int programs_observe(struct programs *p, const struct uprobe_places *places)
{
	return not_built();
}

int refusal_explain(int error, const char *what)
{
	return not_built();
}
