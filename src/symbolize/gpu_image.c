// SPDX-License-Identifier: MIT
/*
 * The reader gets a descriptor of the image, which was mapped when it came and has none here any
 * more: that of the mapping, where we have the right to open it, or of a copy in memory. It is
 * closed when the image rests, so that there are never many copies.
 */
#include "symbolize/gpu_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/intern.h"
#include "base/io.h"
#include "gpucode/answers.h"
#include "sandbox/limits.h"
#include "sandbox/reader.h"

struct gpu_image {
	struct name_files *files;
	const struct gpucode_format *format;
	char *module;
	const uint8_t *data;
	size_t size;
	struct gpucode here; /* open where there is no reader */
	int fd;		     /* -1: not open */
	bool failed;
	struct gpu_image_function *functions;
	size_t count;
	struct {
		size_t first; /* of the functions */
		size_t count;
		struct asked {
			struct gpucode_part part;
			uint32_t at; /* its first instruction is that one of all */
		} parts[GPUCODE_ASK_MAX];
	} asked; /* of functions that follow each other, what was asked about last */
	struct gpucode_sources sources;
	struct interner *texts;
};

int gpu_image_open(struct gpu_image **ret, struct name_files *files, const char *module,
	const void *data, size_t size)
{
	struct gpu_image *i = calloc(1, sizeof(*i));
	int error = i ? interner_new(&i->texts) : -ENOMEM;

	if (error) {
		free(i);
		return error;
	}
	i->files = files;
	i->format = gpucode_format_of(module);
	i->module = strdup(module);
	i->data = data;
	i->size = size;
	i->fd = -1;
	if (!i->module)
		error = -ENOMEM;
	else if (!i->format)
		error = -ENOEXEC;
	else if (!files->reader)
		error = gpucode_open(&i->here, module, data, size);
	if (error)
		gpu_image_close(i);
	else
		*ret = i;
	return error;
}

void gpu_image_rest(struct gpu_image *i)
{
	if (i->fd >= 0)
		close(i->fd);
	i->fd = -1;
}

void gpu_image_close(struct gpu_image *i)
{
	if (!i)
		return;
	gpu_image_rest(i);
	gpucode_close(&i->here);
	gpucode_sources_release(&i->sources);
	interner_free(i->texts);
	free(i->functions);
	free(i->module);
	free(i);
}

const struct gpucode_format *gpu_image_format(const struct gpu_image *i)
{
	return i->format;
}

bool gpu_image_failed(const struct gpu_image *i)
{
	return i->failed;
}

/* --- asking ----------------------------------------------------------------------------------- */

/* The kernel gives that of a mapping to root only. */
static int open_mapping(const struct gpu_image *i)
{
	uintptr_t start = (uintptr_t)i->data, page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t end = (start + i->size + page - 1) & ~(page - 1);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/map_files/%zx-%zx", (size_t)start, (size_t)end);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int copy_image(const struct gpu_image *i)
{
	int fd = memfd_create("xpuprof-image", MFD_CLOEXEC);

	if (fd >= 0 && io_write_all(fd, i->data, i->size)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* A descriptor of it: 0 or -errno. */
static int wake(struct gpu_image *i)
{
	if (i->fd < 0)
		i->fd = open_mapping(i);
	if (i->fd < 0)
		i->fd = copy_image(i);
	return i->fd < 0 ? -ENOMEM : 0;
}

static int ask_reader(
	struct gpu_image *i, uint32_t kind, const struct buf *question, struct buf *ret)
{
	struct code_question head = {0};
	uint64_t failures = i->files->failures;
	struct buf b = BUF_INIT;
	int error = wake(i);

	snprintf(head.module, sizeof(head.module), "%s", i->module);
	buf_append(&b, &head, sizeof(head));
	buf_append(&b, question->data, question->size);
	if (b.failed)
		error = -ENOMEM;
	error = error ?: name_files_code(i->files, kind, i->fd, &b, ret);
	i->failed |= i->files->failures != failures;
	buf_release(&b);
	return error;
}

static int ask(struct gpu_image *i, uint32_t kind, const struct buf *question, struct buf *ret)
{
	if (question->failed)
		return -ENOMEM;
	if (i->failed)
		return -EIO;
	if (i->files->reader)
		return ask_reader(i, kind, question, ret);
	if (kind == READER_CODE_FRAMES)
		return gpucode_write_frames(&i->here, question->data, question->size, ret);
	return gpucode_write_functions(&i->here, i->data, question->data, question->size, ret);
}

/* --- functions -------------------------------------------------------------------------------- */

/* False, and nothing is put, where the question has no room for it; its first always has. */
static bool put_function(
	const struct gpu_image_function *f, const struct gpucode_part *part, struct buf *question)
{
	size_t size = question->size;

	if (part)
		gpucode_put_part(question, part);
	gpucode_put_function(question, f->name, f->index);
	if (!size || question->size <= REQUEST_BYTES - sizeof(struct code_question))
		return true;
	question->size = size;
	return false;
}

/* As many as one question has room for. */
static size_t put_functions(
	const struct gpu_image_function *functions, size_t count, struct buf *question)
{
	size_t n = 0;

	while (n < count && n < GPUCODE_ASK_MAX && put_function(&functions[n], NULL, question))
		n++;
	return n;
}

static int find_some(
	struct gpu_image *i, struct gpu_image_function *functions, size_t count, size_t *ret_count)
{
	struct gpucode_function found[GPUCODE_ASK_MAX];
	struct buf question = BUF_INIT, answer = BUF_INIT;
	size_t some = put_functions(functions, count, &question);
	int error = ask(i, READER_CODE_FUNCTIONS, &question, &answer);

	error = error ?: gpucode_read_functions(&answer, i->data, i->size, found, some);
	for (size_t n = 0; !error && n < some; n++)
		functions[n].found = found[n];
	i->failed |= error == -EPROTO;
	buf_release(&question);
	buf_release(&answer);
	*ret_count = some;
	return error;
}

int gpu_image_find(struct gpu_image *i, struct gpu_image_function *functions, size_t count)
{
	int error = 0;

	free(i->functions);
	i->functions = functions;
	i->count = count;
	i->asked.count = 0;
	for (size_t n = 0; n < count; n++)
		functions[n].found = (struct gpucode_function){0};
	for (size_t first = 0, some; !error && first < count; first += some)
		error = find_some(i, functions + first, count - first, &some);
	return error;
}

/* --- sources ---------------------------------------------------------------------------------- */

/* NULL: not that instruction. */
static const struct asked *asked_for(const struct gpu_image *i, size_t function, uint32_t offset)
{
	uint32_t step = i->format->instruction_bytes;
	const struct asked *a;

	if (function < i->asked.first || function - i->asked.first >= i->asked.count)
		return NULL;
	a = &i->asked.parts[function - i->asked.first];
	if (offset < a->part.offset || (offset - a->part.offset) / step >= a->part.count)
		return NULL;
	return a;
}

/* A function from an offset on, and the next ones, as far as there is room; all that are not found
 * have no instructions. Returns how many instructions these are. */
static uint32_t put_parts(
	struct gpu_image *i, size_t function, uint32_t offset, struct buf *question)
{
	uint32_t step = i->format->instruction_bytes, sum = 0;

	i->asked.first = function;
	i->asked.count = 0;
	for (; function < i->count && i->asked.count < GPUCODE_ASK_MAX; function++, offset = 0) {
		const struct gpu_image_function *f = &i->functions[function];
		size_t left = f->found.code ? (f->found.size - offset) / step : 0;
		uint32_t room = GPUCODE_PART_MAX - sum;
		struct asked a = {{offset, left < room ? (uint32_t)left : room}, sum};

		if (!room || (left && !put_function(f, &a.part, question)))
			break;
		i->asked.parts[i->asked.count++] = a;
		sum += a.part.count;
	}
	return sum;
}

/* What cannot be read counts as asked about: nothing is known of it. */
static void ask_from(struct gpu_image *i, size_t function, uint32_t offset)
{
	struct buf question = BUF_INIT, answer = BUF_INIT;
	uint32_t count = put_parts(i, function, offset, &question);
	int error = ask(i, READER_CODE_FRAMES, &question, &answer);

	error = error ?: gpucode_read_frames(&answer, count, i->texts, &i->sources);
	i->failed |= error == -EPROTO;
	if (error)
		i->sources.instructions.count = 0;
	buf_release(&question);
	buf_release(&answer);
}

size_t gpu_image_frames(struct gpu_image *i, const struct gpu_image_function *f, uint32_t offset,
	struct gpucode_frame ret[GPUCODE_FRAMES_MAX], bool *ret_called)
{
	size_t function = (size_t)(f - i->functions), n;
	const struct asked *a = asked_for(i, function, offset);
	const struct gpucode_source *s;

	if (!a)
		ask_from(i, function, offset);
	a = a ?: &i->asked.parts[0];
	n = a->at + (offset - a->part.offset) / i->format->instruction_bytes;
	*ret_called = false;
	if (n >= i->sources.instructions.count)
		return 0;
	s = &i->sources.instructions.items[n];
	if (s->count)
		memcpy(ret, i->sources.frames.items + s->first, s->count * sizeof(*ret));
	*ret_called = s->called;
	return s->count;
}
