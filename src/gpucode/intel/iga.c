// SPDX-License-Identifier: MIT
/*
 * libiga64 is asked for one instruction at a time: then one that it does not know, or takes for
 * longer than it is, does not matter to those behind it.
 */
#include "gpucode/intel/iga.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gpucode/intel/isa.h"

/* --- its interface ---------------------------------------------------------------------------- */

#define STATUS_OK	   0
#define STATUS_UNSUPPORTED 10 /* a platform */

struct context_options {
	size_t bytes;
	int platform;
};

/* The fields that every version has; those behind them are 0 then. */
struct text_options {
	uint32_t bytes;
	uint32_t options[3];
};

typedef int create_context(const struct context_options *options, void **ret);
typedef int release_context(void *context);
typedef int disassemble(void *context, const struct text_options *options, const void *instruction,
	const char *(*label)(int32_t offset, void *), void *label_context, char **ret_text);

/* Its numbers for architectures: 1 << 24 is Xe, 2 << 24 Xe2, ... */
static const struct platform {
	unsigned int first, last; /* 100 * major + minor */
	int number;
} platforms[] = {
	{1255, 1259, 0x1000002}, /* Xe-HPG */
	{1260, 1269, 0x1000004}, /* Xe-HPC */
	{1270, 1274, 0x1000002}, {2000, 2099, 0x2000000}, {3000, 3029, 0x3000000},
	{3500, 3599, 0x3000003}, /* Xe3p */
};

/* --- loading ---------------------------------------------------------------------------------- */

struct gpucode_library {
	void *handle;
	create_context *create;
	release_context *release;
	disassemble *disassemble;
	void *context; /* for the target that was asked about last; NULL: none */
	unsigned int target;
};

static void unload(struct gpucode_library *l)
{
	if (l->context)
		l->release(l->context);
	dlclose(l->handle);
	free(l);
}

static void *open_installed(void)
{
	static const char *const names[] = {IGA_NAME ".so.2", IGA_NAME ".so.1", IGA_NAME ".so"};
	void *handle = NULL;

	for (size_t i = 0; !handle && i < sizeof(names) / sizeof(names[0]); i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

static int load(const char *path, struct gpucode_library **ret)
{
	struct gpucode_library *l;
	void *handle = *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : open_installed();

	if (!handle)
		return *path ? -ELIBBAD : -ENOENT;
	l = calloc(1, sizeof(*l));
	if (!l) {
		dlclose(handle);
		return -ENOMEM;
	}
	l->handle = handle;
	*(void **)&l->create = dlsym(handle, "iga_context_create");
	*(void **)&l->release = dlsym(handle, "iga_context_release");
	*(void **)&l->disassemble = dlsym(handle, "iga_context_disassemble_instruction");
	if (!l->create || !l->release || !l->disassemble) {
		unload(l);
		return -ELIBBAD;
	}
	*ret = l;
	return 0;
}

/* --- answering -------------------------------------------------------------------------------- */

static const struct platform *platform_of(unsigned int target)
{
	for (size_t i = 0; i < sizeof(platforms) / sizeof(platforms[0]); i++)
		if (platforms[i].first <= target && target <= platforms[i].last)
			return &platforms[i];
	return NULL;
}

static int use_target(struct gpucode_library *l, unsigned int target)
{
	const struct platform *p = platform_of(target);
	struct context_options o = {.bytes = sizeof(o), .platform = p ? p->number : 0};
	int status;

	if (l->context && l->target == target)
		return 0;
	if (l->context)
		l->release(l->context);
	l->context = NULL;
	l->target = target;
	status = p ? l->create(&o, &l->context) : STATUS_UNSUPPORTED;
	if (status == STATUS_OK && l->context)
		return 0;
	l->context = NULL;
	return status == STATUS_UNSUPPORTED ? -EOPNOTSUPP : -EIO;
}

/* On one line, without what only aligns it. */
static void put_text(struct buf *ret, const char *text)
{
	size_t begin = ret->size;
	bool blank = false;

	for (; *text && ret->size - begin < IGA_TEXT_MAX - 2; text++) {
		if (strchr(" \t\r\n", *text)) {
			blank = ret->size > begin;
			continue;
		}
		if (blank)
			buf_putc(ret, ' ');
		buf_putc(ret, *text < ' ' || *text > '~' ? '?' : *text);
		blank = false;
	}
	buf_putc(ret, 0);
}

static int write_texts(
	struct gpucode_library *l, const void *question, size_t size, struct buf *ret)
{
	static const struct text_options options = {.bytes = sizeof(options)};
	struct iga_question q;
	const uint8_t *at, *end = (const uint8_t *)question + size;
	int error;

	if (size < sizeof(q))
		return -EINVAL;
	memcpy(&q, question, sizeof(q));
	error = use_target(l, q.target);
	for (at = (const uint8_t *)question + sizeof(q);
		!error && end - at >= ISA_COMPACTED_BYTES && (size_t)(end - at) >= isa_size(at);
		at += isa_size(at)) {
		/* it may read a whole one */
		uint8_t instruction[ISA_WHOLE_BYTES] = {0};
		char *text = NULL;

		memcpy(instruction, at, isa_size(at));
		if (l->disassemble(l->context, &options, instruction, NULL, NULL, &text))
			text = NULL;
		put_text(ret, text ?: "");
	}
	return error ?: ret->failed ? -ENOMEM : 0;
}

const struct gpucode_writer iga_writer = {.load = load, .unload = unload, .write = write_texts};
