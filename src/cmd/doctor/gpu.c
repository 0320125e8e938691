// SPDX-License-Identifier: MIT
/* The checks of the injected library and of NVIDIA's driver and tools. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cmd/doctor/doctor.h"
#include "cmd/doctor/library_probe.h"
#include "record/locate.h"

#define INJECTION_ENV "CUDA_INJECTION64_PATH"

/* The CUPTI versions that are understood; the newest is tried first where the driver does not tell its
 * own. */
#define CUPTI_OLDEST 12
#define CUPTI_NEWEST 13

void check_library(struct doctor *d, struct finding *f)
{
	struct buf path = BUF_INIT;

	if (locate_library(&path)) {
		finding_is(f, FINDING_MISSING, "%s", error_text());
		finding_step(f, "install xpuprof whole, or set $" LOCATE_LIBRARY_ENV);
	} else {
		finding_is(f, FINDING_OK, "%s", buf_text(&path));
	}
	buf_release(&path);
}

/* The version in "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ...":
 * the first word that is digits with a dot among them. Its length, 0 when there is none. */
static size_t find_version(const char *text, const char **ret)
{
	for (const char *p = text; *p && *p != '\n';) {
		size_t blanks = strspn(p, " \t"), length, digits;

		p += blanks;
		length = strcspn(p, " \t\n");
		digits = strspn(p, "0123456789.");
		if (length && digits == length && memchr(p, '.', length)) {
			*ret = p;
			return length;
		}
		p += length;
	}
	return 0;
}

static size_t count_gpus(const struct doctor *d)
{
	struct buf pattern = BUF_INIT;
	glob_t found;
	size_t count = 0;

	buf_printf(&pattern, "%s/proc/driver/nvidia/gpus/*", d->root);
	if (!glob(buf_text(&pattern), 0, NULL, &found)) {
		count = found.gl_pathc;
		globfree(&found);
	}
	buf_release(&pattern);
	return count;
}

void check_driver(struct doctor *d, struct finding *f)
{
	struct buf text = BUF_INIT;
	const char *version = "?";
	size_t length, gpus = count_gpus(d);

	if (!doctor_read(d, "/proc/driver/nvidia/version", &text)) {
		length = find_version(buf_text(&text), &version);
		finding_is(f, gpus ? FINDING_OK : FINDING_MISSING, "version %.*s, %zu GPU%s",
			length ? (int)length : 1, version, gpus, gpus == 1 ? "" : "s");
		if (!gpus)
			finding_step(f, "look into the kernel's log for why the driver took no GPU");
	} else if (d->cuda.simulated) {
		finding_is(f, FINDING_OK, "none, and none needed: the GPU is simulated");
	} else {
		finding_is(f, FINDING_MISSING, "not loaded (no '/proc/driver/nvidia/version')");
		finding_step(f, "install the NVIDIA driver, or load it with 'modprobe nvidia'");
	}
	buf_release(&text);
}

void check_libcuda(struct doctor *d, struct finding *f)
{
	if (!d->cuda.loaded) {
		finding_is(f, FINDING_MISSING, "%s", d->cuda.problem);
		finding_step(f, "install the driver's libraries, in this container too");
		return;
	}
	finding_is(f, FINDING_OK, "CUDA %d.%d, %s%s", d->cuda.version / 1000,
		d->cuda.version % 1000 / 10, d->cuda.path,
		d->cuda.simulated ? " (simulated GPU)" : "");
}

/*
 * Where copies of CUPTI are. The library in the program looks in the same order (src/inject/cupti/find_cupti.c),
 * except that it starts from what its own process has loaded: that copy, if there is one, then beside
 * libcuda, beside libcudart, in the Python packages in use, by the loader, in the toolkit.
 */
struct cupti_place {
	const char *what;
	const char *env; /* a folder from the environment that the pattern begins in; NULL: / */
	const char *pattern;
};

static const struct cupti_place package_places[] = {
	{"Python package", "VIRTUAL_ENV", "/lib/python3*/site-packages/nvidia/*/lib"},
	{"Conda package", "CONDA_PREFIX", "/lib/python3*/site-packages/nvidia/*/lib"},
	{"Conda package", "CONDA_PREFIX", "/lib"},
	{"Python package", "HOME", "/.local/lib/python3*/site-packages/nvidia/*/lib"},
	{"Python package", NULL, "/usr/local/lib/python3*/*-packages/nvidia/*/lib"},
	{"Python package", NULL, "/usr/lib/python3*/*-packages/nvidia/*/lib"},
};

#define TOOLKIT_PLACES(env, folder)                                                                \
	{"toolkit", env, folder "/extras/CUPTI/lib64"}, {"toolkit", env, folder "/lib64"},         \
		{"toolkit", env, folder "/lib"}, {"toolkit", env, folder "/targets/*-linux/lib"}

static const struct cupti_place toolkit_places[] = {
	TOOLKIT_PLACES("CUDA_HOME", ""),
	TOOLKIT_PLACES("CUDA_PATH", ""),
	TOOLKIT_PLACES(NULL, "/usr/local/cuda"),
	TOOLKIT_PLACES(NULL, "/usr/local/cuda-13"),
	TOOLKIT_PLACES(NULL, "/usr/local/cuda-12"),
};

struct cupti_copy {
	const char *what;
	int major;
	char path[PATH_MAX];
};

/* Takes the copy when it can be loaded (on the machine of another root it is not tried). */
static bool take(const struct doctor *d, const char *name, const char *what, int major,
	struct cupti_copy *ret)
{
	struct library_probe probe = {.loaded = true};

	if (!*d->root)
		library_probe(name, "cuptiGetVersion", &probe);
	if (!probe.loaded)
		return false;
	ret->what = what;
	ret->major = major;
	snprintf(ret->path, sizeof(ret->path), "%s", *probe.path ? probe.path : name);
	return true;
}

/* Of the folders that a pattern names: the newest version that is not newer than the driver. */
static bool find_at(const struct doctor *d, const char *what, const char *pattern,
	struct cupti_copy *ret)
{
	int major = d->cuda.version ? d->cuda.version / 1000 : CUPTI_NEWEST;
	bool found = false;

	for (; !found && major >= CUPTI_OLDEST; major--) {
		struct buf name = BUF_INIT;
		glob_t files;

		buf_printf(&name, "%s/libcupti.so.%d", pattern, major);
		if (!name.failed && !glob(buf_text(&name), 0, NULL, &files)) {
			found = take(d, files.gl_pathv[0], what, major, ret);
			globfree(&files);
		}
		buf_release(&name);
	}
	return found;
}

static bool find_among(const struct doctor *d, const struct cupti_place *places, size_t count,
	struct cupti_copy *ret)
{
	bool found = false;

	for (size_t i = 0; !found && i < count; i++) {
		const char *folder = places[i].env ? getenv(places[i].env) : d->root;
		struct buf pattern = BUF_INIT;

		if (!folder || (places[i].env && folder[0] != '/'))
			continue;
		buf_printf(&pattern, "%s%s", folder, places[i].pattern);
		found = !pattern.failed && find_at(d, places[i].what, buf_text(&pattern), ret);
		buf_release(&pattern);
	}
	return found;
}

static bool find_beside_libcuda(const struct doctor *d, struct cupti_copy *ret)
{
	const char *slash = d->cuda.loaded ? strrchr(d->cuda.path, '/') : NULL;
	struct buf folder = BUF_INIT;
	bool found;

	if (!slash)
		return false;
	buf_append(&folder, d->cuda.path, (size_t)(slash - d->cuda.path));
	found = !folder.failed && find_at(d, "beside libcuda", buf_text(&folder), ret);
	buf_release(&folder);
	return found;
}

static bool find_with_loader(const struct doctor *d, struct cupti_copy *ret)
{
	int major = d->cuda.version ? d->cuda.version / 1000 : CUPTI_NEWEST;

	for (; !*d->root && major >= CUPTI_OLDEST; major--) {
		char name[32];

		snprintf(name, sizeof(name), "libcupti.so.%d", major);
		if (take(d, name, "the loader's", major, ret))
			return true;
	}
	return false;
}

void check_cupti(struct doctor *d, struct finding *f)
{
	struct cupti_copy own = {0}, shared = {0};
	bool packaged = find_among(d, package_places,
		sizeof(package_places) / sizeof(package_places[0]), &own);
	bool found = find_beside_libcuda(d, &shared) || find_with_loader(d, &shared) ||
		     find_among(d, toolkit_places,
			     sizeof(toolkit_places) / sizeof(toolkit_places[0]), &shared);

	if (packaged && found)
		finding_is(f, FINDING_OK, "version %d, %s (%s); for Python %d, %s", shared.major,
			shared.path, shared.what, own.major, own.path);
	else if (found)
		finding_is(f, FINDING_OK, "version %d, %s (%s)", shared.major, shared.path,
			shared.what);
	else if (packaged)
		finding_is(f, FINDING_OK, "version %d, %s (%s; other programs have none)",
			own.major, own.path, own.what);
	else
		finding_is(f, FINDING_MISSING, "no libcupti.so.%d or .%d%s can be loaded",
			CUPTI_NEWEST, CUPTI_OLDEST,
			d->cuda.version ? " that fits the driver" : "");
	if (f->state == FINDING_MISSING)
		finding_step(f, "install the CUDA toolkit's CUPTI, or 'pip install nvidia-cuda-cupti'");
}

/* One injected library and one CUPTI subscriber a process is all that CUDA allows. A subscriber that a
 * program brings along (its own profiler) is only seen while it runs, and reported in the recording. */
void check_injection(struct doctor *d, struct finding *f)
{
	const char *set = getenv(INJECTION_ENV);

	if (!set || !*set) {
		finding_is(f, FINDING_OK, "$" INJECTION_ENV " is free");
		return;
	}
	finding_is(f, FINDING_MISSING,
		"$" INJECTION_ENV " is taken by '%s', which is left in place: no GPU work is recorded",
		set);
	finding_step(f, "unset " INJECTION_ENV);
}

/* "RmProfilingAdminOnly: 1" keeps sampling of instructions and hardware counters from users; kernels and copies are not
 * affected. */
void check_instruction_sampling(struct doctor *d, struct finding *f)
{
	struct buf text = BUF_INIT;
	const char *line;

	if (doctor_read(d, "/proc/driver/nvidia/params", &text)) {
		if (d->cuda.simulated)
			finding_is(f, FINDING_OK, "of the simulated GPU, by every user");
		else
			finding_is(f, FINDING_LIMITED, "no NVIDIA driver to ask");
		buf_release(&text);
		return;
	}
	line = strstr(buf_text(&text), "RmProfilingAdminOnly:");
	if (!line) {
		finding_is(f, FINDING_LIMITED,
			"the driver does not say who may sample instructions and hardware counters");
	} else if (atoi(line + strlen("RmProfilingAdminOnly:")) == 0) {
		finding_is(f, FINDING_OK, "every user may sample instructions and hardware counters");
	} else {
		finding_is(f, FINDING_LIMITED,
			"only root may sample instructions and hardware counters (kernels and copies need no "
			"rights)");
		finding_step(f, "load the driver with NVreg_RestrictProfilingToAdminUsers=0");
	}
	buf_release(&text);
}
