// SPDX-License-Identifier: MIT
/*
 * Whether Intel's Level Zero driver is there, and has probes of its own, by which `record --stalls`
 * sees programs that the library is not in. For these the file is read, and not loaded.
 */
#include "cmd/doctor/intel/checks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/usdt.h"
#include "vendor/intel/intel.h"

#define DRIVER "libze_intel_gpu.so.1"

static const char *const folders[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
	"/usr/lib64", "/usr/lib", "/usr/local/lib", NULL};

static bool find_driver(const struct doctor *d, char ret[static PATH_MAX])
{
	for (const char *const *folder = folders; *folder; folder++) {
		snprintf(ret, PATH_MAX, "%s%s/" DRIVER, d->root, *folder);
		if (!access(ret, R_OK))
			return true;
	}
	return false;
}

/* At an unusual place only the system's loader finds it. */
static bool has_driver(const struct doctor *d, char ret[static PATH_MAX])
{
	struct library_probe probe;

	if (find_driver(d, ret))
		return true;
	if (*d->root)
		return false;
	library_probe(DRIVER, NULL, &probe);
	snprintf(ret, PATH_MAX, "%s", probe.path);
	return probe.loaded;
}

void intel_check_driver(struct doctor *d, struct finding *f)
{
	char path[PATH_MAX];

	if (!doctor_has_gpu(d, &intel_table)) {
		finding_is(f, FINDING_OK, "no GPU here that needs it");
	} else if (has_driver(d, path)) {
		finding_is(f, FINDING_OK, "'%s'", path);
	} else {
		finding_is(f, FINDING_LIMITED,
			"not here (" DRIVER "): programs cannot use Intel's GPUs by Level Zero");
		finding_step(f, INTEL_INSTALL);
	}
}

static uint32_t list_names(struct buf *ret)
{
	uint32_t count = 0;

	for (const struct vendor_probe *p = vendor_intel.driver_probes; p->name; p++, count++)
		buf_append(ret, p->name, strlen(p->name) + 1);
	return count;
}

/* How many of the probes it has, and the first argument that cannot be read. */
static uint32_t count_probes(const char *path, const struct buf *names, struct usdt_site *sites,
	const char **ret_operand)
{
	struct elf_file *f = NULL;
	size_t count = 0;
	uint64_t found = 0;
	bool read =
		!elf_file_open(&f, path) && !usdt_find(f, names->data, names->size, sites, &count);

	*ret_operand = NULL;
	for (size_t i = 0; read && i < count; i++) {
		found |= 1ull << (sites[i].probe & 63);
		if (sites[i].unknown && !*ret_operand)
			*ret_operand = sites[i].operand;
	}
	elf_file_close(f);
	return (uint32_t)__builtin_popcountll(found);
}

static void report_probes(
	struct finding *f, const char *path, const struct buf *names, uint32_t wanted)
{
	struct usdt_site *sites = calloc(USDT_SITES_MAX, sizeof(*sites));
	const char *operand = NULL;
	uint32_t found = sites ? count_probes(path, names, sites, &operand) : 0;

	if (!found)
		finding_is(f, FINDING_OK,
			"'%s' has none, as most: the library in programs needs none", path);
	else if (operand)
		finding_is(f, FINDING_LIMITED,
			"those of '%s' cannot all be read: an argument is '%s'", path, operand);
	else if (found < wanted)
		finding_is(f, FINDING_LIMITED,
			"'%s' has %u of %u: kernels or their images are missing", path, found,
			wanted);
	else
		finding_is(f, FINDING_OK,
			"'%s' has them: --stalls sees programs without the library", path);
	free(sites);
}

void intel_check_probes(struct doctor *d, struct finding *f)
{
	struct buf names = BUF_INIT;
	char path[PATH_MAX];
	uint32_t wanted = list_names(&names);

	if (names.failed || !find_driver(d, path))
		finding_is(f, FINDING_OK, "no Level Zero driver of Intel's here");
	else
		report_probes(f, path, &names, wanted);
	buf_release(&names);
}
