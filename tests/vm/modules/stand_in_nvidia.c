// SPDX-License-Identifier: GPL-2.0
/*
 * /dev/xpuprof_nvidia: events of NVIDIA's driver; and /dev/nvidiactl, whose functions have the names of the driver's.
 * There an ioctl takes as many microseconds as its argument says and returns 0, or EINVAL for the command 1; a mapping
 * is of memory that was not there before; polling finds it ready.
 * The module is called as the driver is, so that one of them can be there at a time.
 */
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#define CREATE_TRACE_POINTS
#include "nvidia_events.h"
#include "nvswitch_events.h"

static by_name int nvidia_open(struct inode *inode, struct file *file)
{
	return nonseekable_open(inode, file);
}

static by_name int nvidia_close(struct inode *inode, struct file *file)
{
	return 0;
}

static by_name long nvidia_unlocked_ioctl(struct file *file, unsigned int command, unsigned long us)
{
	if (us)
		usleep_range(us, us + 50);
	return command == 1 ? -EINVAL : 0;
}

static by_name int nvidia_mmap(struct file *file, struct vm_area_struct *vma)
{
	vma->vm_ops = NULL;
	return 0;
}

static by_name __poll_t nvidia_poll(struct file *file, poll_table *wait)
{
	return EPOLLIN;
}

static const struct file_operations nvidia_files = {
	.owner = THIS_MODULE,
	.open = nvidia_open,
	.release = nvidia_close,
	.unlocked_ioctl = nvidia_unlocked_ioctl,
	.mmap = nvidia_mmap,
	.poll = nvidia_poll,
};

static struct miscdevice nvidiactl = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "nvidiactl",
	.fops = &nvidia_files,
};

static const struct line_action actions[] = {
	{ "nvidia_dev_xid", trace_nvidia_dev_xid },
	{ "nvswitch_dev_sxid", trace_nvswitch_dev_sxid },
	{}
};

static struct line_device lines;

static int __init begin(void)
{
	int error = misc_register(&nvidiactl);

	if (error)
		return error;
	error = line_device_register(&lines, "xpuprof_nvidia", actions);
	if (error)
		misc_deregister(&nvidiactl);
	return error;
}
module_init(begin);

static void __exit end(void)
{
	line_device_unregister(&lines);
	misc_deregister(&nvidiactl);
}
module_exit(end);

MODULE_DESCRIPTION("events and functions with the names of those of NVIDIA's driver");
MODULE_LICENSE("GPL");
