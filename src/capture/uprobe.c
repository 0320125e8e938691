// SPDX-License-Identifier: MIT
#include "capture/uprobe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* enum bpf_attach_type and union bpf_attr as of Linux 6.6; the headers of libbpf 1.1 are older. */
#define ATTACH_UPROBE_MULTI ((enum bpf_attach_type)48)

#define UPROBE_MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

struct link_create_uprobe_multi {
	uint32_t program_fd;
	uint32_t target_fd;
	uint32_t attach_type;
	uint32_t flags;
	uint64_t path;
	uint64_t offsets;
	uint64_t reference_counter_offsets;
	uint64_t cookies;
	uint32_t count;
	uint32_t multi_flags;
	uint32_t pid; /* 0: every process */
	uint32_t padding;
};

void uprobe_prepare_multi(struct bpf_program *program)
{
	bpf_program__set_expected_attach_type(program, ATTACH_UPROBE_MULTI);
}

static bool is_multi(const struct bpf_program *program)
{
	return bpf_program__expected_attach_type(program) == ATTACH_UPROBE_MULTI;
}

int uprobe_attach_within(const struct bpf_program *program, const struct uprobe_places *places)
{
	struct link_create_uprobe_multi attr = {
		.program_fd = (uint32_t)bpf_program__fd(program),
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uintptr_t)places->path,
		.offsets = (uintptr_t)places->offsets,
		.cookies = (uintptr_t)places->cookies,
		.reference_counter_offsets = (uintptr_t)places->counters,
		.count = (uint32_t)places->count,
		.multi_flags = places->at_return ? UPROBE_MULTI_RETURN : 0,
		.pid = places->pid,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	return fd < 0 ? -errno : fd;
}

static int create_multi(
	const struct bpf_program *program, const char *path, const uint64_t *offsets, size_t count)
{
	const struct uprobe_places everywhere = {.path = path, .offsets = offsets, .count = count};

	return uprobe_attach_within(program, &everywhere);
}

/* A kernel that knows such links gets as far as finding that a directory is no file to probe. */
bool uprobe_has_multi(const struct bpf_program *program)
{
	const uint64_t offset = 0;
	int fd = create_multi(program, "/", &offset, 1);

	if (fd >= 0)
		close(fd);
	return fd == -EBADF;
}

int uprobe_attach(struct uprobe *u, const struct bpf_program *program, const char *path,
	const uint64_t *offsets, size_t count)
{
	int error;

	*u = UPROBE_INIT;
	if (count > UPROBE_SITES_MAX)
		return -E2BIG;
	if (is_multi(program)) {
		u->multi_fd = create_multi(program, path, offsets, count);
		return u->multi_fd < 0 ? u->multi_fd : 0;
	}
	for (size_t i = 0; i < count; i++) {
		u->links[i] = bpf_program__attach_uprobe(program, false, -1, path, offsets[i]);
		if (u->links[i])
			continue;
		error = -errno;
		(void)uprobe_detach(u); /* the first error is the one that matters */
		return error;
	}
	return 0;
}

int uprobe_detach(struct uprobe *u)
{
	int error = 0;

	if (u->multi_fd >= 0 && close(u->multi_fd))
		error = -errno;
	for (size_t i = 0; i < UPROBE_SITES_MAX; i++) {
		int failed = bpf_link__destroy(u->links[i]);

		error = error ?: failed;
	}
	*u = UPROBE_INIT;
	return error;
}
