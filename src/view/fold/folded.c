// SPDX-License-Identifier: MIT
/*
 * The text is read in large blocks. Each line is compared with the one before. Nodes of the frames
 * that both share, from the root on, are used again; only the rest is looked up in the tree. Sorted
 * files, the usual kind, need about one look-up a line.
 *
 *	previous line   main;solve;gemm;launch      nodes of its frames: 1 2 3 4
 *	this line       main;solve;gather 12        shares two frames; one look-up
 *
 * In other files each look-up reads a node that is in no cache, and has to end before the next one
 * can begin. So lines are gathered in groups, and the tree is asked for the paths of a group
 * beforehand, all at once (tree_prefetch).
 */
#include "view/fold/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/vec.h"
#include "profile/format.h"
#include "vendor/vendor.h"

#define BLOCK_BYTES ((size_t)1 << 20)
/* Of a group, after which its frames are looked up; a line has at most FOLDED_DEPTH_MAX more. */
#define GROUP_FRAMES 1024
/* Lines that share all but so many frames with the one before have their nodes in the caches. */
#define FEW_FRAMES 4

/* A line of the group. */
struct line {
	size_t shared; /* frames that it begins with as the line before does */
	size_t frames;
	uint64_t count;
};

struct folded {
	struct tree *tree;
	const char *name;
	struct folded_stats stats;
	char *block;
	size_t capacity;
	char *previous; /* stack of the previous good line */
	size_t previous_size, previous_capacity;
	struct vec(
		size_t) ends; /* by frame of the previous line: the offset behind its last byte */
	struct line lines[TREE_PATHS_MAX];
	size_t line_count;
	struct vec(struct interner_item) texts; /* frames of the group that are not shared */
	struct vec(
		uint32_t) frames;  /* all of the group, and before them those of the line before */
	struct vec(uint32_t) path; /* nodes of the line that was added last */
	size_t path_frames;	   /* how many of `frames` are that line's */
};

static bool starts(const char *name, size_t size, const char *with)
{
	size_t length = strlen(with);

	return size >= length && !memcmp(name, with, length);
}

static bool ends(const char *name, size_t size, const char *with)
{
	size_t length = strlen(with);

	return size >= length && !memcmp(name + size - length, with, length);
}

/* "[GPU_Kernel]x", "[GPU0_Kernel]x" and the like. */
static enum tree_kind classify_gpu(const char *name, size_t size)
{
	size_t i = strlen("[GPU");

	while (i < size && name[i] >= '0' && name[i] <= '9')
		i++;
	name += i;
	size -= i;
	if (starts(name, size, "_Kernel]"))
		return TREE_GPU_KERNEL;
	if (starts(name, size, "_MemCopy]"))
		return TREE_GPU_COPY;
	if (starts(name, size, "_MemSet]"))
		return TREE_GPU_SET;
	return starts(name, size, "_Launch_") ? TREE_GPU_PENDING : TREE_NOTE;
}

enum tree_kind folded_classify(const char *name, size_t size)
{
	if (starts(name, size, "[GPU"))
		return classify_gpu(name, size);
	if (ends(name, size, "_[k]"))
		return TREE_KERNEL;
	if (ends(name, size, "_[G]"))
		return TREE_GPU_SOURCE;
	if (ends(name, size, "_[g]"))
		return TREE_GPU_CODE;
	if (starts(name, size, "[waiting"))
		return TREE_WAIT;
	if ((size && name[0] == '[' && name[size - 1] == ']') || (size == 1 && name[0] == '-'))
		return TREE_NOTE;
	if (vendor_api_of(name, size))
		return TREE_API;
	if (memmem(name, size, ".py:", 4) || ends(name, size, ".py") || ends(name, size, ".py)") ||
		(memmem(name, size, " (<", 3) && ends(name, size, ")")))
		return TREE_PYTHON; /* the last: "<module> (<string>)" */
	if (memmem(name, size, "::", 2) || memchr(name, '(', size) || starts(name, size, "_Z") ||
		starts(name, size, "_R"))
		return TREE_CXX;
	return TREE_C;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Splits the count off the end of a line: NULL, or why that cannot be done. */
static const char *split_count(const char *line, size_t size, size_t *ret_stack_size, uint64_t *ret)
{
	size_t start = size, stack_size;
	uint64_t count = 0;

	while (start && !is_blank(line[start - 1]))
		start--;
	stack_size = start;
	while (stack_size && is_blank(line[stack_size - 1]))
		stack_size--;
	if (!stack_size || line[start] < '0' || line[start] > '9')
		return "no count at its end";
	for (size_t i = start; i < size; i++) {
		if (line[i] < '0' || line[i] > '9')
			return "its count is not a whole number";
		if (__builtin_mul_overflow(count, (uint64_t)10, &count) ||
			__builtin_add_overflow(count, (uint64_t)(line[i] - '0'), &count))
			return "its count needs more than 64 bits";
	}
	*ret_stack_size = stack_size;
	*ret = count;
	return NULL;
}

static size_t common_prefix(const char *a, const char *b, size_t size)
{
	size_t i = 0;

	for (; i + 8 <= size; i += 8) {
		uint64_t x, y;

		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			break;
	}
	while (i < size && a[i] == b[i])
		i++;
	return i;
}

/* How many frames the new stack shares with the previous one; keeps the new one as previous. */
static int remember(struct folded *f, const char *stack, size_t size, size_t *ret_shared)
{
	size_t least = size < f->previous_size ? size : f->previous_size;
	size_t common = common_prefix(f->previous, stack, least), shared = 0;

	while (shared < f->ends.count && f->ends.items[shared] <= common &&
		(f->ends.items[shared] == size || stack[f->ends.items[shared]] == ';'))
		shared++;
	if (size > f->previous_capacity) {
		char *grown = realloc(f->previous, size * 2);

		if (!grown)
			return error_set(-ENOMEM, "not enough memory to read '%s'", f->name);
		f->previous = grown;
		f->previous_capacity = size * 2;
	}
	memcpy(f->previous + common, stack + common, size - common);
	f->previous_size = size;
	*ret_shared = shared;
	return 0;
}

static size_t count_frames(const char *stack, size_t size)
{
	const char *end = stack + size;
	size_t count = 1;

	while ((stack = memchr(stack, ';', (size_t)(end - stack)))) {
		stack++;
		count++;
	}
	return count;
}

static int no_memory(const struct folded *f)
{
	return error_set(-ENOMEM, "not enough memory to read '%s'", f->name);
}

/* The frames of a stack from `offset` on, and where they end. */
static int split_frames(struct folded *f, const char *stack, size_t size, size_t offset)
{
	const char *semicolon;

	do {
		struct interner_item text = {.data = stack + offset};
		size_t end;

		semicolon = memchr(stack + offset, ';', size - offset);
		end = semicolon ? (size_t)(semicolon - stack) : size;
		text.size = end - offset;
		if (vec_push(&f->ends, end) || vec_push(&f->texts, text))
			return no_memory(f);
		offset = end + 1;
	} while (semicolon);
	return 0;
}

/* The frames of each line of the group from the root on, behind those of the line before. */
static int gather_frames(struct folded *f)
{
	size_t before = 0, text = 0;

	f->frames.count = f->path_frames;
	for (size_t i = 0; i < f->line_count; i++) {
		const struct line *line = &f->lines[i];
		size_t begin = f->frames.count;

		if (vec_reserve(&f->frames, line->frames))
			return no_memory(f);
		for (size_t k = 0; k < line->shared; k++)
			f->frames.items[begin + k] = f->frames.items[before + k];
		for (size_t k = line->shared; k < line->frames; k++)
			f->frames.items[begin + k] = f->texts.items[text++].id;
		f->frames.count += line->frames;
		before = begin;
	}
	return 0;
}

static void prefetch_paths(const struct folded *f)
{
	const uint32_t *frames = f->frames.items + f->path_frames;
	struct tree_path paths[TREE_PATHS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < f->line_count; frames += f->lines[i++].frames)
		if (f->lines[i].frames - f->lines[i].shared > FEW_FRAMES)
			paths[count++] = (struct tree_path){frames, f->lines[i].frames};
	if (count > 1)
		tree_prefetch(f->tree, paths, count);
}

static int add_path(struct folded *f, const struct line *line, const uint32_t *frames)
{
	uint32_t node = line->shared ? f->path.items[line->shared - 1] : TREE_ROOT_NODE;
	int error = 0;

	f->path.count = line->shared;
	for (size_t i = line->shared; !error && i < line->frames; i++) {
		error = tree_add_child(f->tree, node, frames[i], &node);
		if (!error && vec_push(&f->path, node))
			return no_memory(f);
	}
	return error ?: tree_add_time(f->tree, node, line->count);
}

/* Adds the lines of the group, whose text is needed no longer then. */
static int add_group(struct folded *f)
{
	size_t at = f->path_frames, last = 0;
	int error = tree_add_texts(f->tree, f->texts.items, f->texts.count, folded_classify);

	error = error ?: gather_frames(f);
	if (error || !f->line_count)
		return error;
	prefetch_paths(f);
	for (size_t i = 0; !error && i < f->line_count; i++) {
		error = add_path(f, &f->lines[i], f->frames.items + at);
		last = f->lines[i].frames;
		at += last;
	}
	memmove(f->frames.items, f->frames.items + at - last, last * sizeof(*f->frames.items));
	f->path_frames = last;
	f->line_count = f->texts.count = 0;
	return error;
}

static int add_stack(struct folded *f, const char *stack, size_t size, uint64_t count)
{
	size_t shared = 0, offset = 0;
	int error = remember(f, stack, size, &shared);

	if (error)
		return error;
	f->ends.count = shared;
	if (shared)
		offset = f->ends.items[shared - 1] + 1;
	if (offset <= size)
		error = split_frames(f, stack, size, offset);
	if (error)
		return error;
	f->lines[f->line_count++] = (struct line){shared, f->ends.count, count};
	return f->line_count < TREE_PATHS_MAX && f->texts.count < GROUP_FRAMES ? 0 : add_group(f);
}

static int add_line(struct folded *f, const char *line, size_t size)
{
	const char *reason;
	size_t stack_size;
	uint64_t count;

	f->stats.lines++;
	while (size && is_blank(line[size - 1]))
		size--;
	if (!size)
		return 0;
	if (size >= FILE_MAGIC_BYTES && !memcmp(line, FILE_MAGIC, FILE_MAGIC_BYTES))
		return error_set(
			-EINVAL, "'%s' is a profile, which is only read from a file", f->name);
	if (memchr(line, '\0', size))
		return error_set(-EINVAL,
			"'%s' is neither a profile nor folded text: line %llu has a NUL byte",
			f->name, (unsigned long long)f->stats.lines);
	reason = split_count(line, size, &stack_size, &count);
	if (!reason && size > FOLDED_DEPTH_MAX && count_frames(line, stack_size) > FOLDED_DEPTH_MAX)
		reason = "it has more than 65535 frames";
	if (!reason)
		return add_stack(f, line, stack_size, count);
	if (!f->stats.left_out++) {
		f->stats.first_left_out = f->stats.lines;
		f->stats.reason = reason;
	}
	return 0;
}

/* Adds the whole lines at the front of the block; what is left moves to the front. */
static int add_lines(struct folded *f, size_t *filled, size_t scanned)
{
	char *line = f->block, *end = f->block + *filled, *from = f->block + scanned, *newline;

	while ((newline = memchr(from, '\n', (size_t)(end - from)))) {
		int error = add_line(f, line, (size_t)(newline - line));

		if (error)
			return error;
		line = from = newline + 1;
	}
	if (line != f->block) {
		int error = add_group(f);

		if (error)
			return error;
	}
	*filled = (size_t)(end - line);
	if (line != f->block)
		memmove(f->block, line, *filled);
	return 0;
}

static int make_room(struct folded *f, size_t filled)
{
	char *grown;

	if (filled > FOLDED_LINE_MAX)
		return error_set(-EINVAL,
			"'%s' is not folded text: line %llu is longer than %zu MiB", f->name,
			(unsigned long long)f->stats.lines + 1, FOLDED_LINE_MAX >> 20);
	if (f->capacity - filled >= BLOCK_BYTES / 2)
		return 0;
	grown = realloc(f->block, f->capacity + filled + BLOCK_BYTES);
	if (!grown)
		return error_set(-ENOMEM, "not enough memory to read '%s'", f->name);
	f->block = grown;
	f->capacity += filled + BLOCK_BYTES;
	return 0;
}

static int read_all(struct folded *f, int fd)
{
	size_t filled = 0;

	for (;;) {
		size_t scanned = filled;
		ssize_t n;
		int error = make_room(f, filled);

		if (error)
			return error;
		n = read(fd, f->block + filled, f->capacity - filled);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(-errno, "cannot read '%s'", f->name);
		if (!n) {
			error = filled ? add_line(f, f->block, filled) : 0;
			return error ?: add_group(f);
		}
		filled += (size_t)n;
		error = add_lines(f, &filled, scanned);
		if (error)
			return error;
	}
}

static int check_result(const struct folded *f)
{
	if (!f->stats.left_out)
		return tree_node_count(f->tree) > 1 ? 0
						    : error_set(-EINVAL, "'%s' is empty", f->name);
	if (tree_node_count(f->tree) > 1)
		return 0;
	return error_set(-EINVAL, "'%s' is neither a profile nor folded text: line %llu: %s",
		f->name, (unsigned long long)f->stats.first_left_out, f->stats.reason);
}

int folded_read(struct tree *t, int fd, const char *name, struct folded_stats *ret)
{
	struct folded f = {.tree = t, .name = name};
	int error = read_all(&f, fd);

	error = error ?: check_result(&f);
	if (!error)
		*ret = f.stats;
	free(f.block);
	free(f.previous);
	vec_release(&f.ends);
	vec_release(&f.texts);
	vec_release(&f.frames);
	vec_release(&f.path);
	return error;
}
