// SPDX-License-Identifier: MIT
#include "export/folded_frame.h"

#include <string.h>

#include "export/text.h"

static void put_name(struct buf *b, const struct tree_frame *f)
{
	text_folded(b, f->name, f->size);
}

/* Frames that came from folded text carry the mark already. */
static void put_gpu(struct buf *b, const struct tree_frame *f, uint32_t device, const char *what)
{
	if (!strncmp(f->name, "[GPU", 4)) {
		put_name(b, f);
		return;
	}
	buf_puts(b, "[GPU");
	if (device != FOLDED_NO_DEVICE)
		buf_printf(b, "%u", device);
	buf_puts(b, what);
	if (f->kind == TREE_GPU_KERNEL || f->kind == TREE_GPU_COPY)
		put_name(b, f);
}

static void put_numbered(struct buf *b, const struct tree_frame *f)
{
	text_folded_word(b, f->name, f->size);
	buf_printf(b, "-%u", f->number);
}

/* With a mark behind the name. */
static void put_marked(struct buf *b, const struct tree_frame *f, const char *mark)
{
	size_t size = strlen(mark);

	put_name(b, f);
	if (f->size < size || memcmp(f->name + f->size - size, mark, size))
		buf_puts(b, mark);
}

void folded_frame(struct buf *b, const struct tree_frame *f, uint32_t device)
{
	switch (f->kind) {
	case TREE_PROCESS:
	case TREE_THREAD:
		put_numbered(b, f);
		break;
	case TREE_STREAM:
		buf_printf(b, "stream %u", f->number);
		break;
	case TREE_KERNEL:
		put_marked(b, f, "_[k]");
		break;
	case TREE_GPU_SOURCE:
		put_marked(b, f, "_[G]");
		break;
	case TREE_GPU_CODE:
		put_marked(b, f, "_[g]");
		break;
	case TREE_GPU_KERNEL:
		put_gpu(b, f, device, "_Kernel]");
		break;
	case TREE_GPU_COPY:
		put_gpu(b, f, device, "_MemCopy]");
		break;
	case TREE_GPU_SET:
		put_gpu(b, f, device, "_MemSet]");
		break;
	case TREE_GPU_PENDING:
		put_gpu(b, f, FOLDED_NO_DEVICE, "_Launch_");
		if (strncmp(f->name, "[GPU", 4))
			buf_printf(b, "%s]", f->name);
		break;
	default:
		put_name(b, f);
		break;
	}
}
