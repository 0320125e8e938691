// SPDX-License-Identifier: GPL-2.0
/*
 * lines.h. A write is taken apart in a copy; its lines are done one after the other, and what was done is kept with
 * the open file until it is read. A write that has a line nobody understands ends there with EINVAL.
 */
#include "lines.h"

#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define WRITE_MAX (1 << 20)
#define DONE_MAX (4 << 20)

struct line_user {
	struct line_device *device;
	struct mutex lock;
	char *done;
	size_t done_bytes, read_bytes;
	bool full;
};

const char *line_text(const struct line *line, const char *key)
{
	unsigned int i;

	for (i = 0; i < line->count; i++)
		if (!strcmp(line->keys[i], key))
			return line->values[i];
	return "";
}
EXPORT_SYMBOL_GPL(line_text);

u64 line_number(const struct line *line, const char *key)
{
	const char *text = line_text(line, key);
	long long negative;
	u64 number;

	if (!kstrtoull(text, 0, &number))
		return number;
	return kstrtoll(text, 0, &negative) ? 0 : (u64)negative;
}
EXPORT_SYMBOL_GPL(line_number);

void line_say(const struct line *line, const char *format, ...)
{
	struct line_user *user = line->user;
	size_t room = DONE_MAX - user->done_bytes;
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(user->done + user->done_bytes, room, format, arguments);
	va_end(arguments);
	if (size < room)
		user->done_bytes += size;
	else
		user->full = true;
}
EXPORT_SYMBOL_GPL(line_say);

static void run_sleep(const struct line *line)
{
	u64 us = line_number(line, "us");

	usleep_range(us, us + 50);
}

static const struct line_action sleep_action = { "sleep", run_sleep };

static const struct line_action *find_action(const struct line_action *actions, const char *name)
{
	for (; actions->name; actions++)
		if (!strcmp(actions->name, name))
			return actions;
	return strcmp(name, sleep_action.name) ? NULL : &sleep_action;
}

/* Takes a line apart, in place. */
static int parse_values(char *text, struct line *line)
{
	char *word, *value;

	line->count = 0;
	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		value = strchr(word, '=');
		if (!value || line->count == LINE_VALUES_MAX)
			return -EINVAL;
		*value++ = 0;
		line->keys[line->count] = word;
		line->values[line->count++] = value;
	}
	return 0;
}

static int run_line(struct line_user *user, char *text)
{
	const struct line_action *action;
	const char *name = strsep(&text, " ");
	struct line line = { .user = user };
	u64 before_ns, after_ns;

	action = find_action(user->device->actions, name);
	if (!action || parse_values(text, &line))
		return -EINVAL;
	before_ns = ktime_get_mono_fast_ns();
	action->run(&line);
	after_ns = ktime_get_mono_fast_ns();
	line_say(&line, "%s %llu %llu\n", name, before_ns, after_ns);
	return user->full ? -ENOSPC : 0;
}

static ssize_t device_write(struct file *file, const char __user *data, size_t size, loff_t *position)
{
	struct line_user *user = file->private_data;
	char *text, *rest, *line;
	int error = 0;

	if (size > WRITE_MAX)
		return -E2BIG;
	text = kvmalloc(size + 1, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	if (copy_from_user(text, data, size)) {
		kvfree(text);
		return -EFAULT;
	}
	text[size] = 0;
	rest = text;
	mutex_lock(&user->lock);
	while (!error && (line = strsep(&rest, "\n")))
		if (*line)
			error = run_line(user, line);
	mutex_unlock(&user->lock);
	kvfree(text);
	return error ?: size;
}

static ssize_t device_read(struct file *file, char __user *data, size_t size, loff_t *position)
{
	struct line_user *user = file->private_data;
	ssize_t result;

	mutex_lock(&user->lock);
	result = min(size, user->done_bytes - user->read_bytes);
	if (copy_to_user(data, user->done + user->read_bytes, result))
		result = -EFAULT;
	else
		user->read_bytes += result;
	mutex_unlock(&user->lock);
	return result;
}

static int device_open(struct inode *inode, struct file *file)
{
	struct line_user *user = kzalloc(sizeof(*user), GFP_KERNEL);

	if (!user)
		return -ENOMEM;
	user->done = kvmalloc(DONE_MAX, GFP_KERNEL);
	if (!user->done) {
		kfree(user);
		return -ENOMEM;
	}
	mutex_init(&user->lock);
	/* what misc_open leaves there */
	user->device = container_of(file->private_data, struct line_device, misc);
	file->private_data = user;
	return stream_open(inode, file);
}

static int device_release(struct inode *inode, struct file *file)
{
	struct line_user *user = file->private_data;

	kvfree(user->done);
	kfree(user);
	return 0;
}

static const struct file_operations device_files = {
	.owner = THIS_MODULE,
	.open = device_open,
	.release = device_release,
	.read = device_read,
	.write = device_write,
};

int line_device_register(struct line_device *device, const char *name, const struct line_action *actions)
{
	device->misc.minor = MISC_DYNAMIC_MINOR;
	device->misc.name = name;
	device->misc.fops = &device_files;
	device->actions = actions;
	return misc_register(&device->misc);
}
EXPORT_SYMBOL_GPL(line_device_register);

void line_device_unregister(struct line_device *device)
{
	misc_deregister(&device->misc);
}
EXPORT_SYMBOL_GPL(line_device_unregister);

MODULE_DESCRIPTION("devices that do what is written to them");
MODULE_LICENSE("GPL");
