// SPDX-License-Identifier: MIT
/* The table of views, and how an input file becomes a result. */
#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "view/calls.h"
#include "view/flame.h"
#include "view/fold/command_title.h"
#include "view/waits/off_cpu.h"
#include "view/tree/reverse.h"
#include "view/unsampled.h"
#include "view/wall/wall.h"

// clang-format off
static const struct view views[] = {
	{"merge", "CPU time, and GPU work above the code that asked for it",
		VIEW_SHOWS_CPU | VIEW_SHOWS_GPU, flame_build},
	{"gpu", "GPU work above the code that asked for it", VIEW_SHOWS_GPU, flame_build},
	{"cpu", "CPU time", VIEW_SHOWS_CPU, flame_build},
	{"stall", "GPU work, and below it source, instructions and why they wait",
		VIEW_SHOWS_GPU | VIEW_SHOWS_STALLS, stall_build},
	{"off-cpu", "time that threads did not run, by where and why they waited", VIEW_SHOWS_WAITS, off_cpu_build},
	{"calls", "calls that ask for GPU work, counted, by the code that made them", VIEW_SHOWS_CALLS, calls_build},
	{"wall", "all time of each thread: running, waiting, and waiting for GPU work",
		VIEW_SHOWS_CPU | VIEW_SHOWS_GPU | VIEW_SHOWS_WAITS, wall_build},
};
// clang-format on

#define VIEWS (sizeof(views) / sizeof(views[0]))

static const struct {
	const char *name;
	unsigned int bit;
} groupings[] = {
	{"process", VIEW_BY_PROCESS},
	{"thread", VIEW_BY_THREAD},
	{"device", VIEW_BY_DEVICE},
	{"stream", VIEW_BY_STREAM},
};

#define GROUPINGS (sizeof(groupings) / sizeof(groupings[0]))

const struct view *view_at(size_t n)
{
	return n < VIEWS ? &views[n] : NULL;
}

const struct view *view_by_name(const char *name)
{
	for (size_t i = 0; i < VIEWS; i++)
		if (!strcmp(views[i].name, name))
			return &views[i];
	return NULL;
}

const struct view *view_of(const struct view_options *o)
{
	return o->view ? o->view : &views[0];
}

bool view_options_any(const struct view_options *o)
{
	return o->by || o->graph_stack || o->api_frames || o->native_python || o->lines ||
	       o->inlines || o->weight || o->latency;
}

static unsigned int grouping_bit(const char *name, size_t size)
{
	for (size_t i = 0; i < GROUPINGS; i++)
		if (strlen(groupings[i].name) == size && !memcmp(groupings[i].name, name, size))
			return groupings[i].bit;
	return 0;
}

int view_parse_by(const char *text, unsigned int *ret_by)
{
	unsigned int by = 0;

	for (;;) {
		size_t size = strcspn(text, ",");
		unsigned int bit = grouping_bit(text, size);

		if (!bit)
			return error_set(-EINVAL,
				"takes process, thread, device and stream, joined by commas, not "
				"'%.*s'",
				(int)(size < 100 ? size : 100), text);
		by |= bit;
		if (!text[size])
			break;
		text += size + 1;
	}
	*ret_by = by;
	return 0;
}

int view_parse_graph_stack(const char *text, enum view_graph_stack *ret)
{
	static const char *const names[] = {
		[VIEW_GRAPH_LAUNCH] = "launch",
		[VIEW_GRAPH_CAPTURE] = "capture",
		[VIEW_GRAPH_BOTH] = "both",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], text)) {
			*ret = (enum view_graph_stack)i;
			return 0;
		}
	return error_set(-EINVAL, "takes launch, capture or both, not '%s'", text);
}

bool view_is_simulated(const struct profile_reader *r)
{
	const char *simulated = profile_meta(r, META_SIMULATED);

	return simulated && !strcmp(simulated, "1");
}

static int copy_text(const char *text, char **ret)
{
	if (!text)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : error_memory("a title");
}

static int make_title(const struct profile_reader *r, char **ret)
{
	const char *command = profile_meta(r, META_COMMAND);
	struct buf title = BUF_INIT;
	int error;

	if (!command)
		return 0;
	command_title(command, &title);
	error = title.failed ? error_memory("a title") : copy_text(buf_text(&title), ret);
	buf_release(&title);
	return error;
}

/* Names of threads may have any characters, which facts must not. */
static int describe_range(const struct range *range, struct view_result *v)
{
	int error = view_fact(v, "range", "%s", range->times);

	v->elapsed_ns = range->elapsed_ns;
	error = error ?: copy_text(range->text, &v->range);
	if (!error && (range->threads || range->devices))
		error = view_remark(v, "only a part is shown: %s", range->text);
	return error;
}

/* OpenCL's drivers for CPUs have devices, whose names end so (inject/opencl/devices.c). */
static int describe_cpus(const struct profile_reader *r, struct view_result *v)
{
	static const char mark[] = " (CPU)";
	uint32_t count = profile_counts(r).devices;

	for (uint32_t id = 1; id <= count; id++) {
		const struct profile_device *d = profile_device(r, id);
		size_t size = 0;
		const char *name = d ? profile_string(r, d->name, &size) : NULL;

		if (name && size >= sizeof(mark) - 1 &&
			!strcmp(name + size - (sizeof(mark) - 1), mark))
			return view_remark(v, "a device is no GPU: %.*s", (int)size, name);
	}
	return 0;
}

static int describe(
	const struct profile_reader *r, const struct range *range, struct view_result *v)
{
	uint64_t start_ns = profile_meta_number(r, META_START_NS, 0);
	uint64_t end_ns = profile_meta_number(r, META_END_NS, 0);
	int error;

	if (end_ns > start_ns)
		v->elapsed_ns = end_ns - start_ns;
	v->simulated = view_is_simulated(r);
	error = make_title(r, &v->title);
	if (!error && range)
		error = describe_range(range, v);
	error = error ?: describe_cpus(r, v);
	return error ?: copy_text(profile_reader_incomplete(r), &v->incomplete);
}

static int read_profile(struct profile_reader *r, const struct range *range,
	const struct view_options *o, struct view_result *v)
{
	struct view_options whole = *o;
	int error;

	if (o->weight == VIEW_WEIGHT_BLOCKS) {
		if (view_of(o)->shows != VIEW_SHOWS_GPU)
			return error_set(-EINVAL, "the view '%s' does not show kernels alone",
				view_of(o)->name);
		if (range_is_wanted(&o->range))
			return error_set(-EINVAL, "blocks are those of the whole recording");
	} else if ((o->weight || o->latency) && !(view_of(o)->shows & VIEW_SHOWS_STALLS))
		return error_set(-EINVAL, "the view '%s' has no instruction samples to count",
			view_of(o)->name);
	/* what is too little from the root may be much from the leaves */
	if (o->reverse) {
		whole.node_max = 0;
		whole.loose = true;
	}
	error = view_of(o)->build(r, &whole, v);
	return error ?: describe(r, range, v);
}

static int read_folded(const char *path, const struct view_options *o, struct view_result *v)
{
	bool standard = !strcmp(path, "-");
	int error, fd;

	if (view_of(o) != &views[0] || view_options_any(o) || range_is_wanted(&o->range))
		return error_set(-EINVAL,
			"'%s' is no recording, and folded text has no views, groups and times",
			standard ? "standard input" : path);
	fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(-errno, "cannot open '%s'", path);
	v->unit = VIEW_COUNT;
	v->shows = VIEW_SHOWS_CPU | VIEW_SHOWS_GPU;
	error = folded_read(v->tree, fd, standard ? "standard input" : path, &v->folded);
	close(fd);
	if (!error && v->folded.left_out)
		error = view_remark(v, "%llu of %llu lines of the text left out",
			(unsigned long long)v->folded.left_out,
			(unsigned long long)v->folded.lines);
	return error;
}

/* Profiles are regular files; anything else can only be read once, as text. */
static bool may_be_profile(const char *path)
{
	struct stat st;

	return strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode);
}

/* What a profile reader refused is text when its beginning has no NUL byte. */
static bool may_be_text(const char *path)
{
	char begin[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return true; /* opening it again will report why */
	n = read(fd, begin, sizeof(begin));
	close(fd);
	return n >= 0 && !memchr(begin, '\0', (size_t)n);
}

static int reverse(struct view_result *v, size_t node_max)
{
	struct tree_reversed reversed;
	int error = tree_reverse(v->tree, node_max, &reversed);

	if (error)
		return error;
	tree_free(v->tree);
	v->tree = reversed.tree;
	v->least = reversed.least > 1 ? reversed.least : 0;
	v->left_out = reversed.left_out;
	return 0;
}

int view_read(const char *path, const struct view_options *o, struct view_result *ret)
{
	struct view_result v = {.shows = view_of(o)->shows};
	struct profile_reader *r = NULL;
	struct range *range = NULL;
	int error = tree_new(&v.tree);

	if (error)
		return error;
	error = may_be_profile(path) ? range_open(&range, &r, path, &o->range) : -EINVAL;
	if (!error)
		error = read_profile(r, range, o, &v);
	else if (error == -EINVAL && (!may_be_profile(path) || may_be_text(path)))
		error = read_folded(path, o, &v);
	profile_reader_close(r);
	range_free(range);
	if (!error && o->reverse)
		error = reverse(&v, o->node_max);
	error = error ?: tree_sort(v.tree);
	if (error) {
		view_result_release(&v);
		return error;
	}
	*ret = v;
	return 0;
}
