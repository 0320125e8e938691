// SPDX-License-Identifier: MIT
/* The first words of the first chunk are never handed out: word address 0 means "no table". */
#include "unwind/arena.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "unwind/tables.h"

#define RESERVED_BYTES ((size_t)WALK_CHUNKS_MAX * WALK_CHUNK_BYTES)

static int new_memfd(int *ret_fd)
{
	int fd = memfd_create("xpuprof-unwind", MFD_CLOEXEC | MFD_ALLOW_SEALING), error;

	if (fd < 0)
		return error_errno(-errno, "cannot make room for unwind tables");
	if (ftruncate(fd, WALK_CHUNK_BYTES)) {
		error = -errno;
		close(fd);
		return error_errno(error, "cannot make room for unwind tables");
	}
	*ret_fd = fd;
	return 0;
}

int arena_init(struct arena *a, uint32_t chunks_max, const struct arena_home *home)
{
	void *words = mmap(NULL, RESERVED_BYTES, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*a = (struct arena){
		.chunks_max = chunks_max,
		.home = *home,
	};
	if (words == MAP_FAILED)
		return error_errno(-errno, "cannot reserve addresses for unwind tables");
	a->words = words;
	return 0;
}

void arena_release(struct arena *a)
{
	if (a->words)
		munmap(a->words, RESERVED_BYTES);
	for (uint32_t i = 0; i < a->chunk_count; i++)
		close(a->fds[i]);
	space_release(&a->space);
	vec_release(&a->retired);
	*a = (struct arena){0};
}

int arena_make_chunk(const struct arena *a, uint32_t index, int *ret_fd)
{
	const struct arena_home *home = &a->home;

	return home->new_chunk ? home->new_chunk(home->context, index, ret_fd) : new_memfd(ret_fd);
}

int arena_attach(struct arena *a, int fd)
{
	uint32_t at = a->chunk_count * WALK_CHUNK_WORDS, first = at ? 0 : WALK_TABLE_ALIGN;
	int protection = a->home.write_words ? PROT_READ : PROT_READ | PROT_WRITE, error;

	if (mmap(a->words + at, WALK_CHUNK_BYTES, protection, MAP_SHARED | MAP_FIXED, fd, 0) ==
		MAP_FAILED)
		error = error_errno(-errno, "cannot map a chunk of unwind tables");
	else
		error = space_give(&a->space, at + first, WALK_CHUNK_WORDS - first);
	if (error) {
		close(fd);
		return error;
	}
	/* Whom a memfd is handed to can only read it; our own mapping is there already. BPF maps
	 * are frozen by who made them: one that was opened for reading alone cannot be mapped
	 * (bpf_map_mmap wants VM_SHARED). */
	(void)fcntl(
		fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);
	a->fds[a->chunk_count++] = fd;
	return 0;
}

bool arena_alloc(struct arena *a, uint32_t words, uint32_t *ret_at)
{
	return space_alloc(&a->space, words, ret_at);
}

int arena_write(struct arena *a, uint32_t at, const uint32_t *words, uint32_t count)
{
	if (a->home.write_words)
		return a->home.write_words(a->home.context, at, words, count);
	memcpy(a->words + at, words, count * sizeof(*words));
	return 0;
}

void arena_give(struct arena *a, uint32_t at, uint32_t words)
{
	/* Without memory for the range its words stay taken. */
	(void)space_give(&a->space, at, words);
}

int arena_retire(struct arena *a, uint32_t at, uint32_t words)
{
	return vec_push(&a->retired, (struct retired){.range = {at, words}});
}

void arena_publish(struct arena *a, uint64_t now_ns)
{
	vec_foreach (r, &a->retired)
		if (!r->since_ns)
			r->since_ns = now_ns;
}

uint64_t arena_reclaim(struct arena *a, uint64_t now_ns)
{
	size_t freed = 0;

	while (freed < a->retired.count) {
		const struct retired *r = &a->retired.items[freed];

		if (!r->since_ns || now_ns - r->since_ns < UNWIND_REUSE_NS)
			break;
		arena_give(a, r->range.at, r->range.words);
		freed++;
	}
	a->retired.count -= freed;
	if (!a->retired.count)
		return 0;
	if (freed)
		memmove(a->retired.items, a->retired.items + freed,
			a->retired.count * sizeof(*a->retired.items));
	return a->retired.items[0].since_ns ? a->retired.items[0].since_ns + UNWIND_REUSE_NS
					    : UINT64_MAX;
}
