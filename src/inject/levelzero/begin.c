// SPDX-License-Identifier: MIT
/*
 * Where programs begin to use Level Zero.
 *
 * Nothing loads a tool into them. So the library is preloaded, and the program's first call finds
 * ours: by its name, or by dlsym in a loader that it has opened itself. A call that fails is told,
 * as the driver may be seen in a program that has no GPU, and so is one that only looks at GPUs.
 */
#include <dlfcn.h>
#include <string.h>

#include "guest/dlsym.h"
#include "inject/levelzero/levelzero.h"
#include "vendor/intel/intel.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int32_t zeInit(uint32_t flags);
EXPORTED int32_t zeInitDrivers(uint32_t *count, void **drivers, void *desc);
EXPORTED int32_t zesInit(uint32_t flags);

static void *loader; /* a reference to it; NULL: it is found without */

/* The thread is in one of ours: another library that stands before the loader may look it up. */
static __thread bool inside;

static void *symbol_of_opened(const char *name)
{
	if (!loader)
		loader = dlopen(LEVELZERO_LOADER_SONAME, RTLD_LAZY | RTLD_NOLOAD);
	return loader ? dlsym_real(loader, name) : NULL;
}

/* The loader's, behind ours. It is not behind ours where only a plugin is linked with it, that was
 * opened by itself (RTLD_LOCAL): then it is the one that has been loaded. */
void *loader_symbol(const char *name)
{
	void *at = inside ? NULL : dlsym(RTLD_NEXT, name);

	return at ? at : symbol_of_opened(name);
}

void loader_release(void)
{
	if (loader)
		dlclose(loader);
	loader = NULL;
}

/* --- what is said where nothing is recorded */

static struct wire_tracer to_say = {.type = WIRE_TRACER, .api = LEVELZERO_API};

static enum wire_reason start_saying(void)
{
	return WIRE_REASON_NONE;
}

static enum wire_reason say(void)
{
	send_long(&to_say, sizeof(to_say), "", 0);
	return WIRE_REASON_NONE;
}

static void do_nothing(void)
{
}

static void finish_nothing(bool program_goes_on)
{
}

static const struct inject_api saying = {
	.only_says = true,
	.start = start_saying,
	.follow_calls = say,
	.drain = do_nothing,
	.stop = do_nothing,
	.finish = finish_nothing,
	.discard = do_nothing,
	.leave = do_nothing,
};

static void note_failure(int32_t result)
{
	to_say.state = WIRE_TRACER_FAILED;
	to_say.result = result;
	inject_begin_later(&saying);
}

static void note_look(void)
{
	if (to_say.state == WIRE_TRACER_FAILED)
		return;
	to_say.state = WIRE_TRACER_UNUSED;
	inject_begin_later(&saying);
}

/* --- the calls */

static int32_t has_begun(int32_t result)
{
	inside = false;
	if (result) {
		note_failure(result);
		return result;
	}
	inject_begin_later(NULL);
	inject_begin(&levelzero_inject);
	return 0;
}

int32_t zeInit(uint32_t flags)
{
	int32_t (*next)(uint32_t);

	*(void **)&next = loader_symbol("zeInit");
	if (inside)
		return next ? next(flags) : LEVELZERO_UNINITIALIZED;
	inside = true;
	return has_begun(next ? next(flags) : LEVELZERO_UNINITIALIZED);
}

int32_t zeInitDrivers(uint32_t *count, void **drivers, void *desc)
{
	int32_t (*next)(uint32_t *, void **, void *);

	*(void **)&next = loader_symbol("zeInitDrivers");
	if (inside)
		return next ? next(count, drivers, desc) : LEVELZERO_UNSUPPORTED;
	inside = true;
	return has_begun(next ? next(count, drivers, desc) : LEVELZERO_UNSUPPORTED);
}

/* Of programs that look at GPUs, and may give them nothing to do. */
int32_t zesInit(uint32_t flags)
{
	int32_t (*next)(uint32_t), result;
	bool outermost = !inside;

	*(void **)&next = loader_symbol("zesInit");
	inside = true;
	result = next ? next(flags) : LEVELZERO_UNINITIALIZED;
	inside = !outermost;
	if (outermost)
		note_look();
	return result;
}

/* --- dlsym */

static bool is_of_loader(const void *function)
{
	const char *slash;
	Dl_info info;

	if (!function || !dladdr(function, &info) || !info.dli_fname)
		return false;
	slash = strrchr(info.dli_fname, '/');
	return !strncmp(slash ? slash + 1 : info.dli_fname, LEVELZERO_LOADER_SONAME,
		strcspn(LEVELZERO_LOADER_SONAME, "."));
}

void *dlsym_instead(void *handle, const char *name)
{
	static const struct {
		const char *name;
		void *ours;
	} calls[] = {{"zeInit", (void *)zeInit}, {"zeInitDrivers", (void *)zeInitDrivers},
		{"zesInit", (void *)zesInit}};

	if (name[0] != 'z' || handle == RTLD_DEFAULT || handle == RTLD_NEXT)
		return NULL;
	for (size_t n = 0; n < sizeof(calls) / sizeof(calls[0]); n++)
		if (!strcmp(calls[n].name, name))
			return is_of_loader(dlsym_real(handle, name)) ? calls[n].ours : NULL;
	return NULL;
}
