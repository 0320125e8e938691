// SPDX-License-Identifier: MIT
/* Replaces watch.c and its parts in builds without clang, bpftool or libbpf: there is no program to
 * watch with. */
#include "monitor/watch.h"

#include <errno.h>

#include "base/error.h"

static int not_built(void)
{
	return error_set(-ENOTSUP,
		"this xpuprof was built without clang, bpftool or libbpf, and has no BPF programs");
}

int watch_open(const struct watch_options *options, const struct monitor_kernel *kernel,
	struct watch **ret)
{
	return not_built();
}

int watch_open_plans(const struct watch_options *options, const struct monitor_event_plan *plans,
	const char *root, struct watch **ret)
{
	return not_built();
}

void watch_close(struct watch *w)
{
}

void watch_stop(struct watch *w)
{
}

int watch_fd(const struct watch *w)
{
	return -1;
}

int watch_read(struct watch *w, const struct watch_sink *sink)
{
	return not_built();
}

int watch_status(struct watch *w, size_t event, struct watch_event_status *ret)
{
	return not_built();
}

int watch_cells(struct watch *w,
	int (*visit)(
		void *context, const struct monitor_cell_key *key, const struct monitor_cell *cell),
	void *context)
{
	return not_built();
}

int watch_objects(struct watch *w, uint8_t kind,
	int (*visit)(void *context, const struct monitor_object_key *key,
		const struct monitor_object *object),
	void *context)
{
	return not_built();
}

int watch_forget(struct watch *w, const struct monitor_cell_key *key, struct monitor_cell *ret_last)
{
	return not_built();
}

size_t watch_stack(struct watch *w, int32_t id, uint64_t ret_addresses[MONITOR_STACK_DEPTH])
{
	return 0;
}
