// SPDX-License-Identifier: MIT
/* `xpuprof annotate`: one kernel, its source and its instructions, with the samples of each. */
#include "report/annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/io.h"
#include "cmd/cmd.h"
#include "cmd/kernel_match.h"
#include "cmd/options.h"
#include "cmd/view_args.h"
#include "report/stall_text.h"
#include "base/text.h"
#include "export/annotate_html.h"
#include "export/exporter.h"
#include "view/stalls/lost.h"

#define DEFAULT_FILE "profile.xpu"
#define OTHERS_TOLD  4
#define NAME_COLUMNS 100 /* of names in messages */
#define PIPE_COLUMNS 160 /* of lines where there is no terminal */

static const struct option_usage usage = {
	.command = "annotate",
	.operands = "FILE",
	.synopsis = "[options] KERNEL [FILE]",
	.summary =
		"Shows a kernel's source and instructions with where and why its threads waited.\n"
		"KERNEL is its name or part of it; FILE is " DEFAULT_FILE
		" unless given, recorded\n"
		"with 'xpuprof record --stalls'.",
};

struct wanted {
	const char *kernel, *path, *output;
	bool source, instructions, all, wide;
	unsigned long image;
	struct source_map map;
	struct range_wanted range;
};

struct annotating {
	const struct wanted *wanted;
	const struct user *user; /* who we are */
	struct profile_reader *reader;
	struct range *range; /* NULL: the whole recording is shown */
	struct kernel_stalls stalls;
	struct annotation annotation;
	struct kernel_accesses accesses;
	struct source_text *sources; /* by file of the annotation */
};

static int add_map(void *target, const char *value)
{
	return source_map_add(target, value) ? -1 : 0;
}

static int add_dir(void *target, const char *value)
{
	return source_dir_add(target, value) ? -1 : 0;
}

/* What people read of a kernel in a message. */
static void put_name(struct annotating *t, const struct kernel_sum *kernel, struct buf *b)
{
	struct buf readable = BUF_INIT;

	kernel_readable(t->reader, kernel->name, &readable);
	buf_putc(b, '\'');
	text_fit(b, buf_text(&readable), NAME_COLUMNS);
	buf_putc(b, '\'');
	b->failed |= readable.failed;
	buf_release(&readable);
}

static int add_lost(void *reasons, const char *sentence)
{
	struct buf *b = reasons;

	buf_printf(b, "%s%s", b->size ? "; " : "none are in it: ", sentence);
	return 0;
}

static int none_taken(struct annotating *t)
{
	struct buf reasons = BUF_INIT;
	int error;

	stalls_each_lost(t->reader, add_lost, &reasons);
	error = error_set(-ENOENT, "no samples of instructions in '%s': %s", t->wanted->path,
		reasons.size ? buf_text(&reasons) : "none were taken");
	buf_release(&reasons);
	return error;
}

static int no_samples(struct annotating *t)
{
	const char *refused = profile_meta(t->reader, META_STALLS_REFUSED);

	if (t->range && profile_meta(t->reader, META_STALLS))
		return error_set(-ENOENT, "no samples of instructions in this part of '%s': %s",
			t->wanted->path, t->range->text);
	if (refused && *refused)
		return error_set(-ENOENT,
			"no samples of instructions in '%s': there are none, or they were refused: "
			"%s",
			t->wanted->path, refused);
	if (profile_meta(t->reader, META_STALLS))
		return none_taken(t);
	return error_set(-ENOENT,
		"no samples of instructions in '%s': 'xpuprof record --stalls' records them",
		t->wanted->path);
}

/* It may have run without being sampled, or be mistyped. */
static int not_found(struct annotating *t)
{
	const struct kernel_stalls *k = &t->stalls;
	uint32_t *found = calloc(k->not_sampled.count + 1, sizeof(*found));
	ssize_t count = found ? kernel_match(t->reader, k->not_sampled.items, k->not_sampled.count,
					t->wanted->kernel, found)
			      : 0;
	struct buf names = BUF_INIT;
	char time[TEXT_CELL];

	if (count > 0) {
		const struct kernel_sum *kernel = &k->not_sampled.items[found[0]];

		put_name(t, kernel, &names);
		error_set(-ENOENT, "kernel %s has no samples: it ran for %s in all",
			buf_text(&names), text_duration(time, kernel->time_ns));
	} else {
		kernel_match_near(
			t->reader, k->kernels.items, k->kernels.count, t->wanted->kernel, &names);
		if (names.size)
			error_set(-ENOENT, "no kernel '%s' in '%s'; near it: %s", t->wanted->kernel,
				t->wanted->path, buf_text(&names));
		else
			error_set(-ENOENT,
				"no kernel '%s' in '%s' ('xpuprof report --stalls' names them)",
				t->wanted->kernel, t->wanted->path);
	}
	free(found);
	buf_release(&names);
	return -ENOENT;
}

/* Says what else fits. */
static void tell_others(struct annotating *t, const uint32_t *found, size_t count)
{
	struct buf b = BUF_INIT;

	buf_printf(&b, "%zu kernels fit '", count);
	text_fit(&b, t->wanted->kernel, NAME_COLUMNS);
	buf_puts(&b, "'; this is the hottest, ");
	put_name(t, &t->stalls.kernels.items[found[0]], &b);
	buf_puts(&b, "; not ");
	for (size_t i = 1; i < count && i <= OTHERS_TOLD; i++) {
		buf_puts(&b, i > 1 ? ", " : "");
		put_name(t, &t->stalls.kernels.items[found[i]], &b);
	}
	if (count > OTHERS_TOLD + 1)
		buf_printf(&b, " and %zu more", count - OTHERS_TOLD - 1);
	cmd_error("%s", buf_text(&b));
	buf_release(&b);
}

/* The kernel that was asked for: the hottest of those that fit. */
static int find_kernel(struct annotating *t, size_t *ret)
{
	const struct kernel_stalls *k = &t->stalls;
	uint32_t *found;
	ssize_t count;

	if (!k->kernels.count)
		return no_samples(t);
	found = calloc(k->kernels.count, sizeof(*found));
	count = found ? kernel_match(t->reader, k->kernels.items, k->kernels.count,
				t->wanted->kernel, found)
		      : -1;
	if (count > 0)
		*ret = found[0];
	if (count > 1)
		tell_others(t, found, (size_t)count);
	free(found);
	if (count < 0)
		return error_errno(-ENOMEM, "cannot look for a kernel");
	return count ? 0 : not_found(t);
}

/* A mistyped folder would have no effect, like one without the sources. */
static void check_folders(const struct source_map *m)
{
	for (size_t i = 0; i < m->folders.count; i++) {
		struct stat st;
		int error = stat(m->folders.items[i], &st) ? errno
			    : S_ISDIR(st.st_mode)	   ? 0
							   : ENOTDIR;

		if (error)
			cmd_error("warning: no sources below '%s' (--source-dir): %s",
				m->folders.items[i], strerror(error));
	}
}

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

static int print(struct annotating *t)
{
	const struct wanted *w = t->wanted;
	struct annotate page = {
		.path = w->path,
		.range = t->range ? t->range->text : NULL,
		.annotation = &t->annotation,
		.sources = t->sources,
		.accesses = &t->accesses,
		.source = w->source || !w->instructions,
		.instructions = w->instructions || !w->source,
		.all = w->all,
		.colour = wants_colour(),
		.width = w->wide ? 0 : text_width(STDOUT_FILENO, PIPE_COLUMNS),
	};
	struct buf out = BUF_INIT;
	int error;

	annotate_text(&page, &out);
	error = out.failed ? -ENOMEM : io_write_all(STDOUT_FILENO, out.data, out.size);
	buf_release(&out);
	return error ? error_errno(error, "cannot print the kernel") : 0;
}

static int write_page(struct annotating *t)
{
	struct stall_remarks remarks;
	const struct annotate_page page = {
		.annotation = &t->annotation,
		.sources = t->sources,
		.all = t->wanted->all,
		.remarks = (const char *const *)remarks.items,
	};
	struct output *o;
	int error = output_not_source(t->wanted->output, t->wanted->path);

	error = error ?: output_open(&o, t->user, t->wanted->output);
	if (error)
		return error;
	stall_remarks_keep(&remarks, &t->stalls, t->range ? t->range->text : NULL);
	error = annotate_html(&page, o);
	if (error)
		output_abort(o);
	else
		error = output_commit(o);
	stall_remarks_release(&remarks);
	return error;
}

static int annotate(struct annotating *t)
{
	const char *incomplete;
	size_t kernel = 0;
	int error = kernel_stalls_read(&t->stalls, t->reader);

	if (error)
		return error;
	incomplete = profile_reader_incomplete(t->reader);
	if (incomplete)
		cmd_error("warning: '%s' is not whole (it %s); what is there was used, maybe "
			  "without names, which 'xpuprof symbolize' finds",
			t->wanted->path, incomplete);
	check_folders(&t->wanted->map);
	error = find_kernel(t, &kernel);
	error = error
			?: annotation_make(&t->annotation, &t->stalls, kernel,
				   t->wanted->image ? (uint32_t)t->wanted->image - 1 : 0);
	if (!error)
		error = kernel_accesses_read(&t->accesses, t->reader,
			profile_string(t->reader, t->stalls.kernels.items[kernel].name, NULL));
	error = error ?: source_texts_find(&t->sources, &t->annotation, t->reader, &t->wanted->map);
	error = error ?: t->wanted->output ? write_page(t) : print(t);
	return error;
}

static int read_and_show(const struct wanted *w, const struct user *user)
{
	struct annotating t = {.wanted = w, .user = user};
	int error = range_open(&t.range, &t.reader, w->path, &w->range);

	if (error)
		return error;
	error = annotate(&t);
	source_texts_release(t.sources, &t.annotation);
	annotation_release(&t.annotation);
	kernel_accesses_release(&t.accesses);
	kernel_stalls_release(&t.stalls);
	profile_reader_close(t.reader);
	range_free(t.range);
	return error;
}

/* A profile names files, and only those that whoever called may read are shown. */
static int run(struct wanted *w)
{
	struct user user;
	int error = cmd_become_caller(&user, w->path);

	error = error ?: read_and_show(w, &user);
	user_release(&user);
	return error;
}

/* By its name, which no kernel has. */
static bool is_recording(const char *operand)
{
	size_t length = strlen(operand);

	return length > 4 && !strcmp(operand + length - 4, ".xpu");
}

static int parse_operands(struct wanted *w, int argc, char **argv, int first)
{
	if (first == argc)
		return options_wrong(&usage, "which kernel? 'xpuprof report --stalls' names them");
	if (argc - first > 2)
		return options_wrong(&usage, "more than one file: '%s'", argv[first + 2]);
	if (!*argv[first])
		return options_wrong(&usage, "the name of the kernel is empty");
	if (argc - first == 1 && is_recording(argv[first]))
		return options_wrong(&usage,
			"which kernel of '%s'? 'xpuprof report --stalls' names them", argv[first]);
	if (w->output && (w->source || w->instructions || w->wide))
		return options_wrong(&usage, "a page has source and instructions, and whole lines: "
					     "--source, --sass and --wide mean nothing to -o");
	if (w->output && export_check_suffix(w->output, ".html", "the page is HTML"))
		return options_wrong(&usage, "%s", error_text());
	w->kernel = argv[first];
	w->path = argc - first > 1 ? argv[first + 1] : DEFAULT_FILE;
	return EXIT_OK;
}

int cmd_annotate(int argc, char **argv)
{
	struct wanted w = {0};
	const struct option_spec specs[] = {
		OPTION_STRING('o', "output", "FILE", &w.output,
			"write a page (HTML) to FILE ('-': standard output)"),
		OPTION_FLAG(0, "source", &w.source, "only source lines"),
		OPTION_FLAG(0, "instructions", &w.instructions,
			"only instructions, in their order, with the line of each"),
		OPTION_FLAG(0, "sass", &w.instructions, "the same"),
		OPTION_FLAG(0, "all", &w.all, "lines and instructions without samples, too"),
		OPTION_CALL(0, "source-dir", "DIR", add_dir, &w.map,
			"look for source files below DIR, too"),
		OPTION_CALL(0, "source-map", "OLD=NEW", add_map, &w.map,
			"source files that were below OLD are below NEW"),
		OPTION_NUMBER(0, "image", "N", &w.image, 1, 1000000000,
			"the N-th image with a kernel of this name (1: the hottest)"),
		RANGE_ARGS(&w.range),
		RANGE_ARG_TO(&w.range),
		OPTION_FLAG('w', "wide", &w.wide, "print lines whole, however long"),
		OPTION_END,
	};
	int first = options_parse(&usage, specs, argc, argv);
	int status = first < 0 ? options_status(first) : parse_operands(&w, argc, argv, first);

	if (first >= 0 && status == EXIT_OK && run(&w))
		status = cmd_failed();
	source_map_release(&w.map);
	return status;
}
