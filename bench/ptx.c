// SPDX-License-Identifier: MIT
/*
 * How fast PTX is read and spliced: a file, as a compiler wrote it, its kernels repeated under
 * other names until there are two megabytes. Prints MB of the text that goes in by second of a
 * core, at best: where no kernel is named, where every kernel is probed at its entry and its exit,
 * and at each access.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "ptx/module.h"
#include "ptx/splice.h"

#define BYTES (2u << 20) /* a large module */
#define TURNS 20

#define TIMER "{\n	.reg .b64 %e;\n	mov.u64 %e, %globaltimer;\n	mov.b64 %xpu_cookie, %e;\n}"
#define ADD                                                                                        \
	"{\n	.reg .b64 %e;\n	mov.b64 %e, 1;\n	red.global.add.u64 [%xpu_arena+64], "                \
	"%e;\n}"

static struct ptx_body bodies[] = {
	{PTX_AT_ENTRY, true, 1, "*", TIMER, 0, 0, 0},
	{PTX_AT_EXIT, true, 1, "*", ADD, 0, 0, 0},
	{PTX_AT_ACCESS, true, PTX_NO_PAIR, "*", ADD, 0, 0, 0},
};

/* What the core did for us, whoever else it worked for. */
static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static char *read_file(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	ssize_t size = file ? getdelim(&text, &room, 0, file) : -1;

	if (file)
		fclose(file);
	*ret_size = size > 0 ? (size_t)size : 0;
	return size > 0 ? text : NULL;
}

/* The file, and its kernels again with numbers behind their names. */
static void repeat(const char *text, size_t size, struct buf *b)
{
	struct ptx_module m;

	if (ptx_module_read(text, size, &m)) {
		fprintf(stderr, "bench: %s\n", error_text());
		exit(1);
	}
	buf_append(b, text, size);
	for (unsigned int n = 1; b->size < BYTES && !b->failed; n++)
		vec_foreach (f, &m.functions) {
			const char *behind = f->name.at + f->name.size;

			if (!f->entry || !f->has_body)
				continue;
			buf_puts(b, "\n.visible .entry ");
			buf_append(b, f->name.at, f->name.size);
			buf_printf(b, "_%u", n);
			buf_append(b, behind, (size_t)(f->body.at + f->body.size - behind));
		}
	ptx_module_release(&m);
}

static void measure(
	const struct buf *text, const char *what, const char *glob, size_t first, size_t n)
{
	struct ptx_probes probes = {.bodies = bodies + first, .body_count = n};
	uint64_t best = UINT64_MAX;
	size_t kernels = 0, sites = 0, bytes = 0;

	for (size_t i = first; i < first + n; i++)
		bodies[i].kernels = glob;
	for (int turn = 0; turn < TURNS; turn++) {
		struct ptx_spliced s = {0};
		uint64_t start = now_ns(), took;

		(void)ptx_splice(text->data, text->size, &probes, &s);
		took = now_ns() - start;
		best = took < best ? took : best;
		kernels = s.kernels.count;
		sites = s.lines.count;
		bytes = s.text.size;
		ptx_spliced_release(&s);
	}
	printf("%-24s %7.0f MB/s  %6zu kernels, %7zu accesses, %6.1f MB of text\n", what,
		(double)text->size * 1e3 / (double)best, kernels, sites, (double)bytes / 1e6);
}

int main(int argc, char **argv)
{
	struct buf text = BUF_INIT;
	size_t size = 0;
	char *file = argc > 1 ? read_file(argv[1], &size) : NULL;

	if (!file) {
		fprintf(stderr, "usage: ptx FILE.ptx\n");
		return 2;
	}
	repeat(file, size, &text);
	if (text.failed)
		return 1;
	measure(&text, "no kernel is named", "nothing", 0, 3);
	measure(&text, "entry and exit", "*", 0, 2);
	measure(&text, "one kernel of many", "vector_add_7", 0, 2);
	measure(&text, "each access", "*", 2, 1);
	buf_release(&text);
	free(file);
	return 0;
}
