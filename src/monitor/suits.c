// SPDX-License-Identifier: MIT
/*
 * What says the most comes first: a device that one of the monitor's drivers has, one of a vendor
 * whose drivers these are but that no driver has, a driver that is loaded without a device.
 */
#include "monitor/suits.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/* Classes of PCI devices that GPUs are in (https://pci-ids.ucw.cz/read/PD). */
#define CLASS_DISPLAY	  0x03
#define CLASS_ACCELERATOR 0x12

static const struct {
	unsigned long vendor;
	const char *name;
	const char *drivers;
} vendors[] = {
	{0x8086, "Intel", "i915|xe"},
	{0x1002, "AMD", "amdgpu"},
	{0x10de, "NVIDIA", "nvidia|nouveau"},
};

/* Whether `name` is among names with '|' between. */
static bool is_among(const char *names, const char *name, size_t length)
{
	for (const char *at = names; at && *at;) {
		size_t its = strcspn(at, "|");

		if (its == length && !memcmp(at, name, length))
			return true;
		at += its + (at[its] == '|');
	}
	return false;
}

/* Whether two lists have a name in common. */
static bool have_common(const char *a, const char *b)
{
	for (const char *at = a; at && *at;) {
		size_t length = strcspn(at, "|");

		if (is_among(b, at, length))
			return true;
		at += length + (at[length] == '|');
	}
	return false;
}

/* A number in a file of sysfs; 0 when there is none. */
static unsigned long read_number(const char *folder, const char *file)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	unsigned long value = 0;

	buf_printf(&path, "%s/%s", folder, file);
	if (!path.failed && !io_read_file(path.data, 4096, &text)) {
		buf_putc(&text, '\0');
		value = text.failed ? 0 : strtoul(text.data, NULL, 16);
	}
	buf_release(&path);
	buf_release(&text);
	return value;
}

/* The driver that a device is bound to; empty: none. */
static void read_driver(const char *folder, struct buf *ret)
{
	struct buf path = BUF_INIT;
	char target[1024];
	ssize_t length = -1;

	buf_printf(&path, "%s/driver", folder);
	if (!path.failed)
		length = readlink(path.data, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = '\0';
		buf_puts(ret, strrchr(target, '/') ? strrchr(target, '/') + 1 : target);
	}
	buf_release(&path);
}

static bool driver_suits(
	const char *drivers, const char *driver, const char *device, struct buf *why)
{
	if (!is_among(drivers, driver, strlen(driver)))
		return false;
	buf_printf(why, "%s drives %s", driver, device);
	return true;
}

static bool vendor_suits(
	const char *drivers, unsigned long vendor, const char *device, struct buf *why)
{
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		if (vendors[i].vendor != vendor || !have_common(vendors[i].drivers, drivers))
			continue;
		buf_printf(why, "%s is %s's, but has no driver", device, vendors[i].name);
		return true;
	}
	return false;
}

/* Whether a device with a driver (`driven`), or without, is one for these drivers, and why. */
static bool device_suits(
	const char *drivers, const char *folder, const char *device, bool driven, struct buf *why)
{
	unsigned long class = read_number(folder, "class") >> 16;
	struct buf driver = BUF_INIT;
	bool suits = false;

	if (class != CLASS_DISPLAY && class != CLASS_ACCELERATOR)
		return false;
	read_driver(folder, &driver);
	if (driven && driver.size)
		suits = driver_suits(drivers, driver.data, device, why);
	if (!driven && !driver.size)
		suits = vendor_suits(drivers, read_number(folder, "vendor"), device, why);
	buf_release(&driver);
	return suits;
}

static bool some_device_suits(
	const struct monitor *m, const struct monitor_kernel *k, bool driven, struct buf *why)
{
	struct dirent **entries = NULL;
	struct buf folder = BUF_INIT;
	bool suits = false;
	int count = -1;

	buf_printf(&folder, "%s/sys/bus/pci/devices", k->root);
	if (!folder.failed)
		count = scandir(folder.data, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		const char *device = entries[i]->d_name;

		buf_reset(&folder);
		buf_printf(&folder, "%s/sys/bus/pci/devices/%s", k->root, device);
		if (!suits && *device != '.' && !folder.failed)
			suits = device_suits(m->drivers, folder.data, device, driven, why);
		free(entries[i]);
	}
	free(entries);
	buf_release(&folder);
	return suits;
}

static bool some_driver_is_loaded(
	const struct monitor *m, const struct monitor_kernel *k, struct buf *why)
{
	for (const char *at = m->drivers; at && *at;) {
		size_t length = strcspn(at, "|");
		char module[64];

		if (length && length < sizeof(module)) {
			memcpy(module, at, length);
			module[length] = '\0';
			if (monitor_kernel_has_module(k, module)) {
				buf_printf(why, "module %s is loaded", module);
				return true;
			}
		}
		at += length + (at[length] == '|');
	}
	return false;
}

bool monitor_suits(const struct monitor *m, const struct monitor_kernel *k, struct buf *ret_why)
{
	struct buf unwanted = BUF_INIT, *why = ret_why ? ret_why : &unwanted;
	bool suits;

	buf_reset(why);
	suits = some_device_suits(m, k, true, why) || some_device_suits(m, k, false, why) ||
		some_driver_is_loaded(m, k, why);
	if (!suits)
		buf_puts(why, "none of its drivers is loaded");
	buf_release(&unwanted);
	return suits;
}
