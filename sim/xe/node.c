// SPDX-License-Identifier: MIT
/*
 * A simulated render node of Linux's xe driver, for LD_PRELOAD into xpuprof: /dev/dri/renderD128 is
 * a B580 with a main and a media GT, whose stall stream is the pipe $XPUPROF_SIM_XE. What is asked
 * of it is checked: another question than those that xpuprof has to ask fails.
 *
 * $XPUPROF_SIM_XE_FAULT: "closed" (it cannot be opened), "eacces", "ebusy" (the stream cannot be
 * opened), "eio" (the second read fails, once), "enodev" (all reads from the second one on), "size"
 * (records of another size), "version" (of another GPU), "i915" (it is another driver's), "vendor"
 * (another vendor's, and cannot be opened), "elsewhere" (the same of another of Intel's).
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpu/intel/xe_abi.h"

#define EXPORT __attribute__((visibility("default")))
#define NODE   "/dev/dri/renderD128"
#define DEVICE "/sys/class/drm/renderD128/device/"
#define RATES  7
#define RATE   251 /* cycles, and multiples */

static int node = -1, stream = -1, reads;

EXPORT int open(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...);
EXPORT int ioctl(int fd, unsigned long request, ...);
EXPORT ssize_t read(int fd, void *to, size_t size);
EXPORT int close(int fd);

static bool has_fault(const char *name)
{
	const char *fault = getenv("XPUPROF_SIM_XE_FAULT");

	return fault && !strcmp(fault, name);
}

static int fail(int error)
{
	errno = error;
	return -1;
}

/* What the kernel says of its device. */
static int open_attribute(const char *name)
{
	const char *text = NULL;
	int fd;

	if (!strcmp(name, "vendor"))
		text = has_fault("vendor") ? "0x10de\n" : "0x8086\n";
	if (!strcmp(name, "uevent") && has_fault("elsewhere"))
		text = "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n";
	if (!text)
		return fail(ENOENT);
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd >= 0 && (write(fd, text, strlen(text)) < 0 || lseek(fd, 0, SEEK_SET)))
		return fail(EIO);
	return fd;
}

static int open_any(const char *path, int flags, unsigned int mode)
{
	if (!strncmp(path, DEVICE, strlen(DEVICE)))
		return open_attribute(path + strlen(DEVICE));
	if (strcmp(path, NODE))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (has_fault("closed") || has_fault("vendor") || has_fault("elsewhere"))
		return fail(EACCES);
	node = memfd_create("xe", MFD_CLOEXEC);
	return node;
}

static unsigned int mode_of(int flags, va_list args)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, unsigned int) : 0;
}

#define OPEN(name)                                                                                 \
	int name(const char *path, int flags, ...)                                                 \
	{                                                                                          \
		va_list args;                                                                      \
		unsigned int mode;                                                                 \
                                                                                                   \
		va_start(args, flags);                                                             \
		mode = mode_of(flags, args);                                                       \
		va_end(args);                                                                      \
		return open_any(path, flags, mode);                                                \
	}
OPEN(open)
OPEN(open64)

/* --- questions */

static int answer(struct xe_query *q, const void *bytes, uint32_t size)
{
	if (!q->size) {
		q->size = size;
		return 0;
	}
	if (q->size != size)
		return fail(EINVAL);
	memcpy((void *)(uintptr_t)q->data, bytes, size);
	return 0;
}

static int query(struct xe_query *q)
{
	struct {
		struct xe_gts head;
		struct xe_gt gts[2];
	} gts = {{.count = 2}, {{.type = XE_GT_MAIN, .id = 0, .major = 20, .minor = 1},
				       {.type = 1, .id = 1, .major = 13}}};
	struct {
		struct xe_eu_stall head;
		uint64_t rates[RATES];
	} stall = {.head = {.capabilities = 1,
			   .record_bytes = has_fault("size") ? 32 : 64,
			   .rate_count = RATES}};

	if (has_fault("version"))
		gts.gts[0].major = 99;
	for (uint64_t i = 0; i < RATES; i++)
		stall.rates[i] = RATE * (i + 1);
	if (q->query == XE_QUERY_GTS)
		return answer(q, &gts, sizeof(gts));
	if (q->query == XE_QUERY_EU_STALL)
		return answer(q, &stall, sizeof(stall));
	return fail(EINVAL);
}

/* --- the stream */

static int open_stream(const struct xe_observation *o)
{
	const struct xe_property *p = (const void *)(uintptr_t)o->properties;
	uint64_t values[4] = {0};

	for (int n = 0; p && n < 4; n++, p = (const void *)(uintptr_t)p->next)
		if (p->name == XE_SET_PROPERTY && p->property < 4)
			values[p->property] = p->value;
	if (o->type != XE_OBSERVE_EU_STALLS || o->what != XE_OBSERVE_OPEN || p ||
		values[XE_STALL_GT] || values[XE_STALL_RATE] % RATE ||
		values[XE_STALL_RATE] / RATE - 1 >= RATES)
		return fail(EINVAL);
	if (has_fault("eacces"))
		return fail(EACCES);
	if (has_fault("ebusy") || stream >= 0)
		return fail(EBUSY);
	stream = (int)syscall(SYS_openat, AT_FDCWD, getenv("XPUPROF_SIM_XE"),
		O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	return stream;
}

int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (fd >= 0 && fd == node && request == XE_IOCTL_VERSION) {
		struct xe_version *v = argument;

		const char *name = has_fault("i915") ? "i915" : "xe";
		size_t size = strlen(name);

		memcpy(v->name, name, v->name_size < size ? v->name_size : size);
		v->name_size = size;
		return 0;
	}
	if (fd >= 0 && fd == node && request == XE_IOCTL_QUERY)
		return query(argument);
	if (fd >= 0 && fd == node && request == XE_IOCTL_OBSERVATION)
		return open_stream(argument);
	if (fd >= 0 && fd == stream && request == XE_IOCTL_ENABLE)
		return 0;
	return (int)syscall(SYS_ioctl, fd, request, argument);
}

int close(int fd)
{
	node = fd == node ? -1 : node;
	stream = fd == stream ? -1 : stream;
	return (int)syscall(SYS_close, fd);
}

ssize_t read(int fd, void *to, size_t size)
{
	ssize_t n;

	if (fd < 0 || fd != stream)
		return syscall(SYS_read, fd, to, size);
	if ((has_fault("eio") && reads == 1) || (has_fault("enodev") && reads >= 1)) {
		reads++;
		return fail(has_fault("eio") ? EIO : ENODEV);
	}
	n = syscall(SYS_read, fd, to, size);
	reads += n > 0;
	return n;
}
