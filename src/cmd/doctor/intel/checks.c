// SPDX-License-Identifier: MIT
/*
 * Level Zero is recorded where its loader has a tracing layer. Most machines have no Level Zero,
 * and lack nothing. No driver is loaded for this: the GPUs are those that the kernel names.
 */
#include "cmd/doctor/intel/checks.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "vendor/intel/intel.h"

#define LOADER_BYTES  (16u << 20)
#define TRACING_LAYER "ze_tracing_layer"
#define LATE_TRACING  "zelEnableTracingLayer"
#define NODES	      "/sys/class/drm"
#define DEVICES	      "/dev/dri"
#define INTEL	      0x8086
#define INTEL_VENDOR  "0x8086"
#define GPUS_SHOWN    8

static bool contains(const char *path, const char *word)
{
	struct buf file = BUF_INIT;
	bool found = !io_read_file(path, LOADER_BYTES, &file) &&
		     memmem(file.data, file.size, word, strlen(word));

	buf_release(&file);
	return found;
}

/* Behind the name that programs ask for, "1.8.0": what the link leads to has it in its name. */
static const char *version_of(const char *path, char resolved[static PATH_MAX])
{
	const char *name = realpath(path, resolved) ? strrchr(resolved, '/') : NULL;
	const char *version = name ? strstr(name, ".so.") : NULL;

	return version && strchr(version + 4, '.') ? version + 4 : NULL;
}

/* The tracing layer lies beside its loader, which names it; one that names none may be both. */
static bool has_tracing_layer(const struct library_probe *loader)
{
	char path[PATH_MAX + sizeof(LEVELZERO_TRACING_SONAME)];
	char *name;

	if (!contains(loader->path, TRACING_LAYER))
		return contains(loader->path, "zelTracerCreate");
	snprintf(path, sizeof(path), "%s", loader->path);
	name = strrchr(path, '/');
	if (!name)
		return false;
	strcpy(name + 1, LEVELZERO_TRACING_SONAME);
	return !access(path, R_OK);
}

static bool has_gpu(const struct doctor *d)
{
	return doctor_has_render_node(d, INTEL_VENDOR) ||
	       doctor_has_device(d, INTEL_VENDOR, "0x03");
}

static void report_no_loader(const struct doctor *d, struct finding *f)
{
	if (!doctor_has_gpu(d, &intel_table)) {
		finding_is(f, FINDING_OK, "no Level Zero here: nothing uses it");
		return;
	}
	finding_is(f, FINDING_LIMITED,
		"no loader here (" LEVELZERO_LOADER_SONAME "): programs cannot use Level Zero");
	finding_step(f, INTEL_INSTALL);
}

static void check_loader(struct doctor *d, struct finding *f)
{
	char resolved[PATH_MAX];
	struct library_probe loader;
	const char *version;

	library_probe(LEVELZERO_LOADER_SONAME, NULL, &loader);
	if (!loader.loaded) {
		report_no_loader(d, f);
		return;
	}
	version = version_of(loader.path, resolved);
	if (!has_tracing_layer(&loader)) {
		finding_is(f, doctor_has_gpu(d, &intel_table) ? FINDING_MISSING : FINDING_LIMITED,
			"'%s' has no tracing layer beside it: Level Zero is not recorded",
			loader.path);
		finding_step(f, "sudo apt install --reinstall libze1, which has '%s'",
			LEVELZERO_TRACING_SONAME);
		return;
	}
	finding_is(f, FINDING_OK, "'%s'%s%s, %s", loader.path, version ? ", version " : "",
		version ? version : "",
		contains(loader.path, LATE_TRACING)
			? "whose tracing can be switched on at any time"
			: "whose tracing is switched on when a program begins, or not at all");
}

static bool is_node(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "renderD", 7) && strlen(entry->d_name) < 32;
}

/* A file with a number as "0x8086"; -1: there is none. */
static long read_id(const struct doctor *d, const char *node, const char *what)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	long id = -1;

	buf_printf(&path, NODES "/%s/device/%s", node, what);
	if (!path.failed && !doctor_read(d, buf_text(&path), &text))
		id = strtol(buf_text(&text), NULL, 16);
	buf_release(&path);
	buf_release(&text);
	return id;
}

enum node { NODE_OPEN = 0, NODE_CLOSED, NODE_ABSENT };

static enum node look_at_node(const struct doctor *d, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s" DEVICES "/%s", d->root, name);
	if (!access(path, R_OK | W_OK))
		return NODE_OPEN;
	return access(path, F_OK) ? NODE_ABSENT : NODE_CLOSED;
}

struct gpus {
	struct buf list;
	unsigned int count, closed, absent;
	char first_closed[64];
};

static void add_gpu(const struct doctor *d, const char *name, struct gpus *g)
{
	static const char *const notes[] = {"", ", not for this user", ", no node in " DEVICES};
	enum node node = look_at_node(d, name);

	if (read_id(d, name, "vendor") != INTEL)
		return;
	if (node == NODE_CLOSED && !g->closed++)
		snprintf(g->first_closed, sizeof(g->first_closed), DEVICES "/%s", name);
	g->absent += node == NODE_ABSENT;
	if (g->count++ < GPUS_SHOWN)
		buf_printf(&g->list, "%s%s (device %lx%s)", g->count > 1 ? ", " : "", name,
			(unsigned long)read_id(d, name, "device"), notes[node]);
}

static void report_gpus(const struct doctor *d, const struct gpus *g, struct finding *f)
{
	unsigned int shut = g->closed + g->absent;
	enum finding_state state = !shut	      ? FINDING_OK
				   : shut == g->count ? FINDING_MISSING
						      : FINDING_LIMITED;

	if (g->count) {
		finding_is(f, state, "%s", buf_text(&g->list));
	} else if (doctor_has_gpu(d, &intel_table)) {
		finding_is(f, FINDING_MISSING, "one whose driver is not loaded");
		finding_step(f, "sudo modprobe xe, or i915 for GPUs before Lunar Lake and B580");
	} else {
		finding_is(f, FINDING_OK, "none in this machine");
	}
	if (g->closed)
		finding_step_group(f, d, g->first_closed);
	else if (g->absent)
		finding_step(
			f, "hand " DEVICES " to this container (docker: --device " DEVICES ")");
}

static void check_gpus(struct doctor *d, struct finding *f)
{
	struct gpus g = {.list = BUF_INIT};
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "%s" NODES, d->root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder)))
		if (is_node(entry))
			add_gpu(d, entry->d_name, &g);
	if (folder)
		closedir(folder);
	report_gpus(d, &g, f);
	buf_release(&g.list);
}

static const struct doctor_check checks[] = {
	{"levelzero_loader", "Level Zero", SIDE_GPU, check_loader},
	{"intel_gpus", "Intel GPUs", SIDE_GPU, check_gpus},
	{"intel_driver", "Intel's driver", SIDE_GPU, intel_check_driver},
	{"intel_stalls", "Intel sampling", 0, intel_check_stalls},
	{"intel_probes", "Intel's probes", 0, intel_check_probes},
	{NULL},
};

static const char *const opencl_drivers[] = {"igdrcl", "RusticlOpenCL", NULL};

const struct doctor_table intel_table = {
	.checks = checks,
	.vendor = "Intel",
	.has_gpu = has_gpu,
	.opencl_drivers = opencl_drivers,
	.opencl_step = "sudo apt install intel-opencl-icd",
};
