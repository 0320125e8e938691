/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Devices that do what is written to them, a line at a time, in the process that writes:
 *
 *	i915_gem_object_create obj=0x1000 size=4096
 *	sleep us=2000
 *
 * The first word is one of the device's actions, the others are its values. What was done is read back from the same
 * open file, a line each, with the nanoseconds of CLOCK_MONOTONIC before and after:
 *
 *	i915_gem_object_create 81204311 81209854
 *
 * So a test knows between which moments an event was. Every device knows the action "sleep us=N".
 */
#pragma once
#include <linux/miscdevice.h>
#include <linux/types.h>
#include <linux/version.h>

#define LINE_VALUES_MAX 16

struct line_user;

struct line {
	struct line_user *user;
	unsigned int count;
	const char *keys[LINE_VALUES_MAX];
	const char *values[LINE_VALUES_MAX];
};

/* 0 and "" where the line has no such value */
u64 line_number(const struct line *line, const char *key);
const char *line_text(const struct line *line, const char *key);

/* A line for whom wrote this one, to be read before that of the action itself. */
__printf(2, 3) void line_say(const struct line *line, const char *format, ...);

/* A function that probes can find: neither inlined nor made into another. */
#define by_name __attribute__((noipa, used))

struct line_action {
	const char *name;
	void (*run)(const struct line *line);
};

struct line_device {
	struct miscdevice misc;
	const struct line_action *actions; /* up to one without a name */
};

int line_device_register(struct line_device *device, const char *name, const struct line_action *actions);
void line_device_unregister(struct line_device *device);

/* A module that is nothing but such a device. */
#define LINE_DEVICE_MODULE(module_name, module_actions, text) \
	static struct line_device line_device; \
\
	static int __init line_device_begin(void) \
	{ \
		return line_device_register(&line_device, module_name, module_actions); \
	} \
	module_init(line_device_begin); \
\
	static void __exit line_device_end(void) \
	{ \
		line_device_unregister(&line_device); \
	} \
	module_exit(line_device_end); \
\
	MODULE_DESCRIPTION(text); \
	MODULE_LICENSE("GPL")
