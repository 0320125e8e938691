// SPDX-License-Identifier: MIT
/* Folded text of any kind: read into a tree, whose totals must agree with what was read. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/io.h"
#include "view/fold/folded.h"
#include "view/names/label.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct tree *t)
{
	struct tree_time total = tree_total(t);
	struct tree_totals totals;
	struct tree_walk w = tree_walk_begin(t);
	struct buf label = BUF_INIT;
	size_t nodes = 1;

	if (tree_totals_init(&totals, t))
		abort();
	if (tree_totals_of(&totals, 0).cpu != total.cpu ||
		tree_totals_of(&totals, 0).gpu != total.gpu)
		abort();
	tree_totals_release(&totals);
	while (tree_walk_next(&w))
		nodes++;
	if (nodes != tree_node_count(t))
		abort();
	for (size_t i = 0; i < tree_frame_count(t); i++) {
		buf_reset(&label);
		tree_label(&tree_frames(t)[i], &label);
		if (!label.size)
			abort();
	}
	buf_release(&label);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct folded_stats stats;
	struct tree *t;

	if (fd < 0)
		fd = memfd_create("folded", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) || lseek(fd, 0, SEEK_SET) || io_write_all(fd, data, size) ||
		lseek(fd, 0, SEEK_SET))
		abort();
	if (tree_new(&t))
		abort();
	if (!folded_read(t, fd, "input", &stats)) {
		if (tree_sort(t))
			abort();
		check(t);
	}
	tree_free(t);
	return 0;
}
