// SPDX-License-Identifier: MIT
/* Unwind tables, mappings and Pythons, in maps of the programs that walk stacks. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "capture/programs_internal.h"

#define STRANGERS_PATH "/proc/sys/kernel/unprivileged_bpf_disabled"

int programs_new_chunk(struct programs *p, uint32_t index, int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int error = 0, fd;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "table_chunk", sizeof(uint32_t), LINE_BYTES,
		WALK_CHUNK_BYTES / LINE_BYTES, &options);
	if (fd < 0)
		return error_errno(-errno, "cannot make room for unwind tables");
	if (bpf_map_freeze(fd) ||
		bpf_map_update_elem(bpf_map__fd(p->bpf->maps.table_chunks), &index, &fd, BPF_ANY))
		error = error_errno(-errno, "cannot make room for unwind tables");
	if (error)
		close(fd);
	else
		*ret_fd = fd;
	return error;
}

/* Lines of one chunk. */
static int write_lines(struct programs *p, uint32_t first, const uint32_t *words, uint32_t count)
{
	uint64_t arguments[] = {first, count};
	LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = arguments, .ctx_size_in = sizeof(arguments));
	int error;

	pthread_mutex_lock(&p->writing);
	memcpy(p->staged, words, count * LINE_BYTES);
	error = bpf_prog_test_run_opts(bpf_program__fd(p->bpf->progs.write_lines), &run);
	pthread_mutex_unlock(&p->writing);
	if (!error && run.retval != count)
		error = -EIO;
	return error ? error_errno(error, "cannot write an unwind table") : 0;
}

int programs_write_words(struct programs *p, uint32_t at, const uint32_t *words, uint32_t count)
{
	const uint32_t per_chunk = WALK_CHUNK_WORDS / WALK_TABLE_ALIGN;
	uint32_t first = at / WALK_TABLE_ALIGN, left = count / WALK_TABLE_ALIGN;
	int error = 0;

	while (!error && left) {
		uint32_t room = per_chunk - first % per_chunk, now = left;

		if (now > room)
			now = room;
		if (now > BPF_STAGED_LINES)
			now = BPF_STAGED_LINES;
		error = write_lines(p, first, words, now);
		words += now * WALK_TABLE_ALIGN;
		first += now;
		left -= now;
	}
	return error;
}

/* Such a program may write to any map whose descriptor its maker has. */
bool programs_can_share_chunks(const struct programs *p)
{
	char allowed = '0';
	int fd = open(STRANGERS_PATH, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)io_read_full(fd, &allowed, 1);
		close(fd);
	}
	return allowed != '0';
}

bool programs_see_maps(const struct programs *p)
{
	return p->sees_maps;
}

struct walk_mapping *programs_mappings(struct programs *p)
{
	return p->mappings;
}

int programs_put_space(struct programs *p, uint32_t pid, const struct bpf_space *space)
{
	if (bpf_map_update_elem(bpf_map__fd(p->bpf->maps.spaces), &pid, space, BPF_ANY))
		return error_errno(-errno, "cannot publish the mappings of process %u", pid);
	return 0;
}

int programs_put_python(struct programs *p, uint32_t pid, const struct walk_python *python)
{
	if (bpf_map_update_elem(bpf_map__fd(p->bpf->maps.pythons), &pid, python, BPF_ANY))
		return error_errno(-errno, "cannot publish the Python in process %u", pid);
	return 0;
}

void programs_drop_space(struct programs *p, uint32_t pid)
{
	/* it need not be there */
	(void)bpf_map_delete_elem(bpf_map__fd(p->bpf->maps.spaces), &pid);
	(void)bpf_map_delete_elem(bpf_map__fd(p->bpf->maps.pythons), &pid);
}
