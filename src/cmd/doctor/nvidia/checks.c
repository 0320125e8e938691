// SPDX-License-Identifier: MIT
/* The checks of NVIDIA's driver and tools. */
#include "cmd/doctor/nvidia/checks.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/trust.h"
#include "vendor/nvidia/cupti_paths.h"
#include "vendor/nvidia/environment.h"
#include "vendor/nvidia/libraries.h"

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

static bool has_gpu(const struct doctor *d)
{
	return doctor_exists(d, "/proc/driver/nvidia/version") ||
	       doctor_has_device(d, "0x10de", "0x03");
}

/* The first check: it also gets the version from libcuda for the others. */
static void check_driver(struct doctor *d, struct finding *f)
{
	struct buf text = BUF_INIT;
	const char *version = "?";
	size_t length, gpus = count_gpus(d);

	if (*d->root)
		snprintf(d->driver.problem, sizeof(d->driver.problem),
			"not looked for below --sysroot");
	else
		library_probe(NVIDIA_DRIVER_SONAME, "cuDriverGetVersion", &d->driver);
	if (d->driver.loaded)
		doctor_add_gpu(d, &nvidia_table);
	if (!doctor_read(d, "/proc/driver/nvidia/version", &text)) {
		length = find_version(buf_text(&text), &version);
		finding_is(f, gpus ? FINDING_OK : FINDING_MISSING, "version %.*s, %zu GPU%s",
			length ? (int)length : 1, version, gpus, gpus == 1 ? "" : "s");
		if (!gpus)
			finding_step(
				f, "look into the kernel's log for why the driver took no GPU");
	} else if (d->driver.simulated) {
		finding_is(f, FINDING_OK, "none, and none needed: the GPU is simulated");
	} else {
		finding_is(f, FINDING_MISSING, "not loaded (no '/proc/driver/nvidia/version')");
		finding_step(f, "install the NVIDIA driver, or load it with 'modprobe nvidia'");
	}
	buf_release(&text);
}

static void check_libcuda(struct doctor *d, struct finding *f)
{
	if (!d->driver.loaded) {
		finding_is(f, FINDING_MISSING, "%s", d->driver.problem);
		finding_step(f, "install the driver's libraries (Debian: libcuda1), in this "
				"container too (docker: --gpus all)");
		return;
	}
	finding_is(f, FINDING_OK, "CUDA %d.%d, %s%s", d->driver.version / 1000,
		d->driver.version % 1000 / 10, d->driver.path,
		d->driver.simulated ? " (simulated GPU)" : "");
}

struct cupti_copy {
	const char *what;
	int major;
	bool only_trusted; /* set before: what others could change does not count */
	char path[PATH_MAX];
};

static bool is_untrusted(const char *name)
{
	struct buf path = BUF_INIT;
	bool untrusted = name[0] == '/' && trust_is_due() && trust_file(name, &path);

	buf_release(&path);
	return untrusted;
}

/* Accepts the copy if it can be loaded (not tried below another root, and not if it is untrusted:
 * programs may load it all the same). */
static bool accept(const struct doctor *d, const char *name, const char *what, int major,
	struct cupti_copy *ret)
{
	struct library_probe probe = {.loaded = true};
	bool untrusted = !*d->root && is_untrusted(name);

	if (!*d->root && !untrusted)
		library_probe(name, "cuptiGetVersion", &probe);
	if (!probe.loaded || (untrusted && ret->only_trusted))
		return false;
	ret->what = what;
	ret->major = major;
	snprintf(ret->path, sizeof(ret->path), "%s", *probe.path ? probe.path : name);
	return true;
}

/* Of the folders that a pattern names: the newest version that is not newer than the driver. */
static bool find_at(
	const struct doctor *d, const char *what, const char *pattern, struct cupti_copy *ret)
{
	int major = d->driver.version ? d->driver.version / 1000 : CUPTI_NEWEST;
	bool found = false;

	for (; !found && major >= CUPTI_OLDEST; major--) {
		struct buf name = BUF_INIT;
		glob_t files;

		buf_printf(&name, "%s/libcupti.so.%d", pattern, major);
		if (!name.failed && !glob(buf_text(&name), 0, NULL, &files)) {
			found = accept(d, files.gl_pathv[0], what, major, ret);
			globfree(&files);
		}
		buf_release(&name);
	}
	return found;
}

static bool find_below(
	const struct doctor *d, const struct cupti_path *path, struct cupti_copy *ret)
{
	const char *base = path->env ? getenv(path->env) : d->root;
	bool found = false;

	if (!base || (path->env && base[0] != '/'))
		return false;
	for (const char *const *folder = path->folders; !found && *folder; folder++) {
		struct buf pattern = BUF_INIT;

		buf_printf(&pattern, "%s%s%s", base, path->path, *folder);
		found = !pattern.failed && find_at(d, path->what, buf_text(&pattern), ret);
		buf_release(&pattern);
	}
	return found;
}

static bool find_among(
	const struct doctor *d, const struct cupti_path *paths, struct cupti_copy *ret)
{
	bool found = false;

	for (; !found && paths->what; paths++)
		found = find_below(d, paths, ret);
	return found;
}

static bool find_beside_libcuda(const struct doctor *d, struct cupti_copy *ret)
{
	const char *slash = d->driver.loaded ? strrchr(d->driver.path, '/') : NULL;
	struct buf folder = BUF_INIT;
	bool found;

	if (!slash)
		return false;
	buf_append(&folder, d->driver.path, (size_t)(slash - d->driver.path));
	found = !folder.failed && find_at(d, "beside libcuda", buf_text(&folder), ret);
	buf_release(&folder);
	return found;
}

static bool find_with_loader(const struct doctor *d, struct cupti_copy *ret)
{
	int major = d->driver.version ? d->driver.version / 1000 : CUPTI_NEWEST;

	for (; !*d->root && major >= CUPTI_OLDEST; major--) {
		char name[32];

		snprintf(name, sizeof(name), "libcupti.so.%d", major);
		if (accept(d, name, "the loader's", major, ret))
			return true;
	}
	return false;
}

static void check_cupti(struct doctor *d, struct finding *f)
{
	struct cupti_copy own = {0}, shared = {0};
	bool packaged = find_among(d, cupti_package_paths, &own);
	bool found = find_beside_libcuda(d, &shared) || find_with_loader(d, &shared) ||
		     find_among(d, cupti_toolkit_paths, &shared);

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
			d->driver.version ? " that fits the driver" : "");
	if (f->state == FINDING_MISSING)
		finding_step(
			f, "install the CUDA toolkit's CUPTI, or 'pip install nvidia-cuda-cupti'");
}

/* Programs load their CUPTI themselves, and may take any. */
static void check_counters(struct doctor *d, struct finding *f)
{
	struct cupti_copy copy = {.only_trusted = true};

	if (!trust_is_due()) {
		finding_is(f, FINDING_OK, "--counters loads any CUPTI, with this user's rights");
		return;
	}
	if (find_beside_libcuda(d, &copy) || find_with_loader(d, &copy) ||
		find_among(d, cupti_toolkit_paths, &copy) ||
		find_among(d, cupti_package_paths, &copy)) {
		finding_is(f, FINDING_OK, "--counters loads %s, which only root can change",
			copy.path);
		return;
	}
	finding_is(f, FINDING_LIMITED,
		"--counters loads a CUPTI with rights only where nobody but root can change it, "
		"and "
		"there is none");
	finding_step(f, "install the CUDA toolkit where only root can write");
}

static bool are_armed(void)
{
	const char *set = getenv(NVIDIA_ARMED_VARIABLE);

	return set && (!strcmp(set, "1") || !strcmp(set, "once"));
}

/* One injected library and one CUPTI subscriber a process is all that CUDA allows. A subscriber
 * that a program brings along (its own profiler) is only seen while it runs, and reported in the
 * recording. */
static void check_injection(struct doctor *d, struct finding *f)
{
	const char *set = getenv(NVIDIA_INJECTION_VARIABLE);

	if (!set || !*set) {
		finding_is(f, FINDING_OK, "$" NVIDIA_INJECTION_VARIABLE " is free");
		return;
	}
	if (nvidia_is_own_library(set)) {
		if (access(set, R_OK)) {
			finding_is(f, FINDING_LIMITED,
				"$" NVIDIA_INJECTION_VARIABLE
				" prepares programs with '%s', which cannot be read",
				set);
			finding_step(f, "install it there, for all users to read");
			return;
		}
		finding_is(f, FINDING_OK,
			"$" NVIDIA_INJECTION_VARIABLE " prepares programs: '%s' sleeps in them%s",
			set,
			are_armed() ? ", armed for --stalls ($" NVIDIA_ARMED_VARIABLE ")" : "");
		return;
	}
	finding_is(f, FINDING_MISSING,
		"$" NVIDIA_INJECTION_VARIABLE
		" is taken by '%s', which is left in place: no GPU work of CUDA is recorded",
		set);
	finding_step(f, "unset " NVIDIA_INJECTION_VARIABLE);
}

/* "RmProfilingAdminOnly: 1" keeps sampling of instructions and hardware counters from users;
 * kernels and copies are not affected. */
static void check_instruction_sampling(struct doctor *d, struct finding *f)
{
	struct buf text = BUF_INIT;
	const char *line;

	if (doctor_read(d, "/proc/driver/nvidia/params", &text)) {
		if (d->driver.simulated)
			finding_is(f, FINDING_OK, "of the simulated GPU, by every user");
		else
			finding_is(f, FINDING_LIMITED, "no NVIDIA driver to ask");
		buf_release(&text);
		return;
	}
	line = strstr(buf_text(&text), "RmProfilingAdminOnly:");
	if (!line) {
		finding_is(f, FINDING_LIMITED,
			"the driver does not say who may sample instructions and hardware "
			"counters");
	} else if (atoi(line + strlen("RmProfilingAdminOnly:")) == 0) {
		finding_is(
			f, FINDING_OK, "every user may sample instructions and hardware counters");
	} else {
		finding_is(f, FINDING_LIMITED,
			"only root may sample instructions and hardware counters (kernels and "
			"copies need no "
			"rights)");
		finding_step(f, "load the driver with NVreg_RestrictProfilingToAdminUsers=0");
	}
	buf_release(&text);
}

static const struct doctor_check checks[] = {
	{"driver", "NVIDIA driver", SIDE_GPU, check_driver},
	{"libcuda", "libcuda", SIDE_GPU, check_libcuda},
	{"cupti", "CUPTI", SIDE_GPU, check_cupti},
	{"counters", "counters", 0, check_counters},
	{"injection", "injection", SIDE_GPU, check_injection},
	{"instruction_sampling", "GPU sampling", 0, check_instruction_sampling},
	{NULL},
};

static const char *const opencl_drivers[] = {"nvidia-opencl", NULL};

const struct doctor_table nvidia_table = {
	.checks = checks,
	.vendor = "NVIDIA",
	.has_gpu = has_gpu,
	.opencl_drivers = opencl_drivers,
	.opencl_step = "sudo apt install nvidia-opencl-icd, or in a container: mkdir -p "
		       "/etc/OpenCL/vendors"
		       " && echo libnvidia-opencl.so.1 >/etc/OpenCL/vendors/nvidia.icd",
};
