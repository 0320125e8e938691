// SPDX-License-Identifier: MIT
#include "vendor/vendor.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define OWN_LIBRARY "libxpuprof-inject"

static bool begins(const char *name, const char *beginning)
{
	return !strncmp(name, beginning, strlen(beginning));
}

static bool begins_as_one(const char *name, const char *const *beginnings)
{
	for (; beginnings && *beginnings; beginnings++)
		if (begins(name, *beginnings))
			return true;
	return false;
}

/* The prefix, a capital letter, and then letters, digits and underscores only. */
static bool is_of_api(const struct vendor_api *api, const char *name, size_t size)
{
	size_t i = strlen(api->prefix);

	if (size <= i || memcmp(name, api->prefix, i) || name[i] < 'A' || name[i] > 'Z')
		return false;
	for (; i < size; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

const struct vendor_api *vendor_api_of(const char *name, size_t size)
{
	vendors_foreach(v) for (const struct vendor_api *api = (*v)->apis; api && api->prefix;
				api++) if (is_of_api(api, name, size)) return api;
	return NULL;
}

bool vendor_is_launching_call(const char *name)
{
	vendors_foreach(v) if (begins_as_one(name, (*v)->launching_calls)) return true;
	return false;
}

/* "_Z6launchIcEvPT_": "_Z", the length of the name, the name, and an I for the arguments of a
 * template; with an L where it is static, and with a Z where it is a function inside. */
static bool is_template_around_call(const char *name)
{
	unsigned long size;
	char *at;

	if (!begins(name, "_Z"))
		return false;
	name += name[2] == 'Z' ? 3 : 2;
	name += *name == 'L';
	if (!isdigit((unsigned char)*name))
		return false;
	size = strtoul(name, &at, 10);
	return size < strlen(at) && at[size] == 'I' && vendor_api_of(at, size);
}

/* Stubs stand at the beginning of a name, or behind a length: "_ZL23__device_stub__Z4gemmPfPf". */
static bool has_stub(const char *name, const char *const *stubs)
{
	for (; stubs && *stubs; stubs++) {
		const char *at = strstr(name, *stubs);

		if (at && (at == name || isdigit((unsigned char)at[-1])))
			return true;
	}
	return false;
}

const char *vendor_trial_name(enum vendor_trial trial)
{
	static const char *const names[] = {[VENDOR_READ] = "read",
		[VENDOR_REPLAYED] = "replayed",
		[VENDOR_RUN] = "run",
		[VENDOR_MEASURED] = "measured"};

	return names[trial];
}

bool vendor_is_launch_stub(const char *linker_name)
{
	vendors_foreach(v) if (has_stub(linker_name, (*v)->launch_stubs)) return true;
	return is_template_around_call(linker_name);
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool vendor_is_gpu_library(const char *path)
{
	const char *name = file_name(path);

	vendors_foreach(v) if (begins_as_one(name, (*v)->libraries)) return true;
	return begins(name, OWN_LIBRARY);
}

static const struct vendor *driver_of(const char *path)
{
	const char *name = file_name(path);

	vendors_foreach(
		v) if ((*v)->driver_library && begins(name, (*v)->driver_library)) return *v;
	return NULL;
}

bool vendor_is_driver_library(const char *path)
{
	return driver_of(path);
}

bool vendor_is_any_driver(const char *path)
{
	const char *name = file_name(path);

	vendors_foreach(v) if (begins_as_one(name, (*v)->other_drivers)) return true;
	return driver_of(path);
}

uint32_t vendor_apis_of_driver(const char *path)
{
	const char *name = file_name(path);
	uint32_t apis = 0;

	vendors_foreach(v) if (begins_as_one(name, (*v)->other_drivers)) apis |= 1u << (*v)->api;
	return apis;
}

const struct vendor *vendor_of_probed_driver(const char *path)
{
	const char *name = file_name(path);

	vendors_foreach(
		v) if ((*v)->driver_probes && begins_as_one(name, (*v)->other_drivers)) return *v;
	return NULL;
}

uint32_t vendor_joins_of(const char *path)
{
	const char *name = file_name(path);
	uint32_t apis = 0;

	vendors_foreach(v) if ((*v)->joined_by && begins(name, (*v)->joined_by)) apis |=
		1u << (*v)->api;
	return apis;
}

int vendor_to_join(uint32_t joins, uint32_t drivers)
{
	vendors_foreach(v)
	{
		uint32_t api = 1u << (*v)->api;

		if (joins & api && (!(*v)->other_drivers || drivers & api))
			return (*v)->api;
	}
	return -1;
}

static uint32_t api_named(const char *name)
{
	vendors_foreach(v) if (!strcmp((*v)->name, name)) return 1u << (*v)->api;
	return 0;
}

uint32_t vendor_apis_used(uint32_t mapped)
{
	uint32_t used = mapped;

	vendors_foreach(v) if ((*v)->mapped_by && mapped & api_named((*v)->mapped_by)) used &=
		~(1u << (*v)->api);
	return used;
}

const struct vendor_call *vendor_driver_calls(const char *path)
{
	const struct vendor *v = driver_of(path);

	return v ? v->driver_calls : NULL;
}

bool vendor_is_tracer(const char *path)
{
	const char *name = file_name(path);

	vendors_foreach(
		v) if ((*v)->tracer_library && begins(name, (*v)->tracer_library)) return true;
	return false;
}
