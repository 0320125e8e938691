// SPDX-License-Identifier: MIT
/* Which vendors' GPUs the machine has, by the PCI bus and by render nodes: no driver is asked. */
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/io.h"
#include "cmd/doctor/doctor.h"

static bool file_begins(const char *folder, const char *name, const char *text)
{
	struct buf path = BUF_INIT, file = BUF_INIT;
	bool begins;

	buf_printf(&path, "%s/%s", folder, name);
	begins = !path.failed && !io_read_file(buf_text(&path), 64, &file) &&
		 !strncmp(buf_text(&file), text, strlen(text));
	buf_release(&path);
	buf_release(&file);
	return begins;
}

static bool any_device(
	const struct doctor *d, const char *folders, const char *vendor, const char *class)
{
	struct buf pattern = BUF_INIT;
	bool has = false;
	glob_t found;

	buf_printf(&pattern, "%s%s", d->root, folders);
	if (!pattern.failed && !glob(buf_text(&pattern), 0, NULL, &found)) {
		for (size_t i = 0; !has && i < found.gl_pathc; i++)
			has = file_begins(found.gl_pathv[i], "vendor", vendor) &&
			      (!class || file_begins(found.gl_pathv[i], "class", class));
		globfree(&found);
	}
	buf_release(&pattern);
	return has;
}

bool doctor_has_device(const struct doctor *d, const char *vendor, const char *class)
{
	return any_device(d, "/sys/bus/pci/devices/*", vendor, class);
}

bool doctor_has_render_node(const struct doctor *d, const char *vendor)
{
	return any_device(d, "/sys/class/drm/renderD*/device", vendor, NULL);
}

void doctor_add_gpu(struct doctor *d, const struct doctor_table *vendor)
{
	size_t i = 0;

	while (i < DOCTOR_VENDORS_MAX && d->gpus[i] && d->gpus[i] != vendor)
		i++;
	if (i < DOCTOR_VENDORS_MAX)
		d->gpus[i] = vendor;
}

bool doctor_has_gpu(const struct doctor *d, const struct doctor_table *vendor)
{
	for (const struct doctor_table *const *gpu = d->gpus; *gpu; gpu++)
		if (*gpu == vendor)
			return true;
	return false;
}

void finding_step_group(struct finding *f, const struct doctor *d, const char *node)
{
	char path[PATH_MAX];
	struct group *group = NULL;
	struct stat info;

	snprintf(path, sizeof(path), "%s%s", d->root, node);
	if (!stat(path, &info) && info.st_gid)
		group = getgrgid(info.st_gid);
	finding_step(f, "sudo usermod -aG %s $USER, and log in again",
		group ? group->gr_name : "render");
}
