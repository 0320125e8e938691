// SPDX-License-Identifier: MIT
/*
 * Calls of the driver that load and unload images. An image with programs is loaded in place of the
 * program's own. Where the driver does not take it, the program's own is loaded after all, as if
 * nothing had been.
 */
#include <stdint.h>
#include <string.h>

#include "preload/link.h"
#include "preload/nvidia/arenas.h"
#include "preload/nvidia/blocks.h"
#include "preload/nvidia/hooks.h"
#include "preload/nvidia/images.h"
#include "preload/nvidia/modules.h"
#include "preload/nvidia/sanitizer/library.h"
#include "preload/nvidia/sizes.h"
#include "preload/nvidia/unprobed.h"

#define OPTIONS_MAX 28 /* of the program's */
#define LOG_BYTES   2048

/* The program's options for the compiler, with ours. Errors are written for us: those of an image
 * with programs are none of the program's own. */
struct jit {
	unsigned int count, theirs;
	int options[OPTIONS_MAX + 3];
	void *values[OPTIONS_MAX + 3];
	char log[LOG_BYTES]; /* errors */
};

static void add_option(struct jit *j, int option, void *value)
{
	j->options[j->count] = option;
	j->values[j->count++] = value;
}

static bool jit_make(struct jit *j, const struct image *i, unsigned int count, const int *options,
	void *const *values)
{
	void *const log_size = (void *)(uintptr_t)LOG_BYTES;
	bool has_log = false, has_log_size = false, has_lines = false;

	if (count > OPTIONS_MAX || (count && (!options || !values)))
		return false;
	j->count = 0;
	memset(j->log, 0, sizeof(j->log));
	for (unsigned int n = 0; n < count; n++) {
		bool is_log = options[n] == CU_JIT_ERROR_LOG;
		bool is_log_size = options[n] == CU_JIT_ERROR_LOG_SIZE;

		add_option(j, options[n], is_log ? j->log : is_log_size ? log_size : values[n]);
		has_log |= is_log;
		has_log_size |= is_log_size;
		has_lines |= options[n] == CU_JIT_LINE_INFO;
	}
	j->theirs = count;
	if (!has_log)
		add_option(j, CU_JIT_ERROR_LOG, j->log);
	if (!has_log_size)
		add_option(j, CU_JIT_ERROR_LOG_SIZE, log_size);
	if (i->has_lines && !has_lines)
		add_option(j, CU_JIT_LINE_INFO, (void *)1);
	return true;
}

/* The values that are results. Without errors there is no log of them. */
static void jit_results(const struct jit *j, void **values)
{
	for (unsigned int n = 0; n < j->theirs; n++)
		if (j->options[n] == CU_JIT_ERROR_LOG_SIZE)
			values[n] = NULL;
		else if (j->options[n] == CU_JIT_WALL_TIME_OUT ||
			 j->options[n] == CU_JIT_INFO_LOG_SIZE)
			values[n] = j->values[n];
}

static void send_refused(cu_result result, const struct jit *j)
{
	char text[LOG_BYTES] = "";

	memcpy(text, j->log, sizeof(text) - 1);
	link_send_fate(PROBE_FATE_REFUSED, (uint64_t)result, text);
}

/* Loads the image with programs as *ret; false: the program's own is to be loaded. */
static bool load(const struct loader *l, struct image *i, const struct jit *j, void **ret)
{
	void *handle = NULL;
	cu_result result = l->load(l->context, image_with_programs(i), &handle);
	struct calls calls;
	bool stay;

	if (result) {
		send_refused(result, j);
		unprobed_send(i, PROBE_FATE_REFUSED);
		return false;
	}
	/* To unload a module would end a capture of this thread. */
	calls_begin(&calls);
	stay = i->is_compiled || blocks_stay(l, i, &handle);
	if (stay)
		sizes_read(l, i, handle);
	calls_end(&calls);
	if (!stay) {
		unprobed_send(i, PROBE_FATE_SMALLER);
		return false;
	}
	image_send(i);
	modules_add(handle, l->is_library, i->first_site);
	*ret = handle;
	return true;
}

/* Behind the program's own call, for an image that has no text. */
static cu_result patched(cu_result result, const struct image *i, bool is_library, void **ret)
{
	if (!result && i->is_code && ret && sanitizer_is_wanted())
		modules_add_code(*ret, is_library);
	return result;
}

cu_result cuInit(unsigned int flags)
{
	if (sanitizer_is_wanted() && link_open())
		sanitizer_open();
	return REAL(cuInit)(flags);
}

static cu_result module_load(void *context, const void *image, void **ret)
{
	struct jit *j = context;

	return REAL(cuModuleLoadDataEx)(ret, image, j->count, j->options, j->values);
}

static void module_unload(void *context, void *handle)
{
	(void)REAL(cuModuleUnload)(handle);
}

static bool load_module(
	cu_module *ret, struct image *i, unsigned int count, int *options, void **values)
{
	struct jit j;
	const struct loader l = {.load = module_load, .unload = module_unload, .context = &j};
	bool loaded = ret && REAL(cuModuleLoadDataEx) && jit_make(&j, i, count, options, values) &&
		      load(&l, i, &j, ret);

	if (loaded)
		jit_results(&j, values);
	image_release(i);
	return loaded;
}

cu_result cuModuleLoad(cu_module *ret, const char *path)
{
	struct image i;

	if (image_splice_file(&i, path) && load_module(ret, &i, 0, NULL, NULL))
		return CU_OK;
	return patched(REAL(cuModuleLoad)(ret, path), &i, false, ret);
}

cu_result cuModuleLoadData(cu_module *ret, const void *image)
{
	struct image i;

	if (image_splice(&i, image) && load_module(ret, &i, 0, NULL, NULL))
		return CU_OK;
	return patched(REAL(cuModuleLoadData)(ret, image), &i, false, ret);
}

cu_result cuModuleLoadDataEx(
	cu_module *ret, const void *image, unsigned int count, int *options, void **values)
{
	struct image i;

	if (image_splice(&i, image) && load_module(ret, &i, count, options, values))
		return CU_OK;
	return patched(
		REAL(cuModuleLoadDataEx)(ret, image, count, options, values), &i, false, ret);
}

cu_result cuModuleLoadFatBinary(cu_module *ret, const void *image)
{
	struct image i;

	if (image_splice(&i, image) && load_module(ret, &i, 0, NULL, NULL))
		return CU_OK;
	return patched(REAL(cuModuleLoadFatBinary)(ret, image), &i, false, ret);
}

cu_result cuModuleUnload(cu_module module)
{
	modules_remove(module);
	return REAL(cuModuleUnload)(module);
}

/* How the program wants a library. The bytes are ours, and are not kept for it. */
struct library_wish {
	struct jit jit;
	int options[OPTIONS_MAX];
	void *values[OPTIONS_MAX];
	unsigned int count;
};

static cu_result library_load(void *context, const void *image, void **ret)
{
	struct library_wish *w = context;
	struct jit *j = &w->jit;

	return REAL(cuLibraryLoadData)(ret, image, j->options, j->values, j->count,
		w->count ? w->options : NULL, w->count ? w->values : NULL, w->count);
}

static void library_unload(void *context, void *handle)
{
	(void)REAL(cuLibraryUnload)(handle);
}

static bool wish_make(
	struct library_wish *w, const int *options, void *const *values, unsigned int count)
{
	w->count = 0;
	if (count > OPTIONS_MAX || (count && (!options || !values)))
		return false;
	for (unsigned int n = 0; n < count; n++)
		if (options[n] != CU_LIBRARY_PRESERVED) {
			w->options[w->count] = options[n];
			w->values[w->count++] = values[n];
		}
	return true;
}

static bool load_library(cu_library *ret, struct image *i, int *options, void **values,
	unsigned int count, const int *library_options, void *const *library_values,
	unsigned int library_count)
{
	struct library_wish w;
	const struct loader l = {
		.is_library = true, .load = library_load, .unload = library_unload, .context = &w};
	bool loaded = ret && REAL(cuLibraryLoadData) &&
		      wish_make(&w, library_options, library_values, library_count) &&
		      jit_make(&w.jit, i, count, options, values) && load(&l, i, &w.jit, ret);

	if (loaded)
		jit_results(&w.jit, values);
	image_release(i);
	return loaded;
}

cu_result cuLibraryLoadData(cu_library *ret, const void *code, int *options, void **values,
	unsigned int count, int *library_options, void **library_values, unsigned int library_count)
{
	struct image i;

	if (image_splice(&i, code) && load_library(ret, &i, options, values, count, library_options,
					      library_values, library_count))
		return CU_OK;
	return patched(REAL(cuLibraryLoadData)(ret, code, options, values, count, library_options,
			       library_values, library_count),
		&i, true, ret);
}

cu_result cuLibraryLoadFromFile(cu_library *ret, const char *path, int *options, void **values,
	unsigned int count, int *library_options, void **library_values, unsigned int library_count)
{
	struct image i;

	if (image_splice_file(&i, path) && load_library(ret, &i, options, values, count,
						   library_options, library_values, library_count))
		return CU_OK;
	return patched(REAL(cuLibraryLoadFromFile)(ret, path, options, values, count,
			       library_options, library_values, library_count),
		&i, true, ret);
}

cu_result cuLibraryUnload(cu_library library)
{
	modules_remove(library);
	return REAL(cuLibraryUnload)(library);
}

cu_result cuLibraryGetKernel(void **ret, cu_library library, const char *name)
{
	modules_look_here();
	return REAL(cuLibraryGetKernel)(ret, library, name);
}

cu_result cuLibraryGetModule(cu_module *ret, cu_library library)
{
	modules_look_here();
	return REAL(cuLibraryGetModule)(ret, library);
}
