// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/proc_text.h"
#include "join/join.h"
#include "join/wake.h"

#define MAPS_BYTES_MAX ((size_t)64 << 20)

/* 0: any. */
static bool is_mapped(const struct buf *maps, uint64_t copy)
{
	static const char name[] = "/memfd:xpuprof ";
	const char *line = maps->data, *end;

	for (; line < maps->data + maps->size &&
		(end = memchr(line, '\n', (size_t)(maps->data + maps->size - line)));
		line = end + 1) {
		struct proc_mapping m;

		if (proc_mapping_parse(line, (size_t)(end - line), &m) &&
			(!copy || m.inode == copy) && m.path_size >= sizeof(name) - 1 &&
			!memcmp(m.path, name, sizeof(name) - 1))
			return true;
	}
	return false;
}

enum join_leave join_has_left(uint32_t pid, uint64_t copy)
{
	struct buf maps = BUF_INIT;
	char path[32];
	bool any, there;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	any = !io_read_file(path, MAPS_BYTES_MAX, &maps) && is_mapped(&maps, 0);
	there = any && is_mapped(&maps, copy);
	buf_release(&maps);
	if (!there)
		return any ? JOIN_OTHERS : JOIN_LEFT;
	return wake_finds_copy(pid) ? JOIN_STAYS : JOIN_NOT_LEFT;
}
