// SPDX-License-Identifier: MIT
#include "page/kernel_page.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/printable.h"
#include "export/annotate_html.h"
#include "page/pictures.h"
#include "report/stall_text.h"
#include "view/names/kernel_name.h"

struct kernel_view {
	struct profile_reader *reader;
	struct range *range;
	struct kernel_stalls stalls;
	struct annotation annotation;
	struct source_text *sources;
	struct stall_remarks remarks;
};

static void release(struct kernel_view *v)
{
	source_texts_release(v->sources, &v->annotation);
	stall_remarks_release(&v->remarks);
	annotation_release(&v->annotation);
	kernel_stalls_release(&v->stalls);
	profile_reader_close(v->reader);
	range_free(v->range);
}

/* Frames are called as all outputs call them. */
static bool is_called(
	const struct kernel_view *v, const struct kernel_sum *kernel, const char *name)
{
	struct buf readable = BUF_INIT, printable = BUF_INIT;
	bool same;

	kernel_readable(v->reader, kernel->name, &readable);
	printable_put(&printable, buf_text(&readable), readable.size);
	same = !printable.failed && !strcmp(buf_text(&printable), name);
	buf_release(&readable);
	buf_release(&printable);
	return same;
}

static int find(const struct kernel_view *v, const char *name, size_t *ret)
{
	const struct kernel_stalls *k = &v->stalls;

	for (size_t i = 0; i < k->kernels.count; i++)
		if (is_called(v, &k->kernels.items[i], name)) {
			*ret = i;
			return 0;
		}
	return error_set(-ENOENT,
		k->kernels.count ? "there are no samples of instructions of this kernel here"
				 : "there are no samples of instructions here: 'xpuprof record "
				   "--stalls' records them");
}

static int write(void *view, struct output *o)
{
	const struct kernel_view *v = view;
	const struct annotate_page page = {
		.annotation = &v->annotation,
		.sources = v->sources,
		.remarks = (const char *const *)v->remarks.items,
	};

	return annotate_html(&page, o);
}

static int make(struct kernel_view *v, const char *name, struct http_answer *ret)
{
	static const struct source_map none;
	size_t kernel = 0;
	int error = kernel_stalls_read(&v->stalls, v->reader);

	error = error ?: find(v, name, &kernel);
	error = error ?: annotation_make(&v->annotation, &v->stalls, kernel, 0);
	error = error ?: source_texts_find(&v->sources, &v->annotation, v->reader, &none);
	if (error)
		return error;
	stall_remarks_keep(&v->remarks, &v->stalls, v->range ? v->range->text : NULL);
	ret->type = "text/html; charset=utf-8";
	return picture_write(write, v, &ret->text);
}

int kernel_page(const char *path, const struct range_wanted *range, const char *name,
	struct http_answer *ret)
{
	struct kernel_view v = {0};
	int error = range_open(&v.range, &v.reader, path, range);

	if (error)
		return error;
	error = make(&v, name, ret);
	release(&v);
	return error;
}
