// SPDX-License-Identifier: MIT
/*
 * A simulated render node of Linux's xe driver, for LD_PRELOAD: /dev/dri/renderD128 is a GPU with
 * main GTs and a media GT, for xpuprof, which samples it, and for Intel's own Level Zero and OpenCL
 * drivers, which find nothing else in /dev/dri. Their batches are walked (commands.h). The stall
 * streams are the pipes $XPUPROF_SIM_XE (stalls.h). What is asked of it is checked: another
 * question than those that these have to ask fails.
 *
 * $XPUPROF_SIM_XE_DEVICE: which GPU it is (device.c). $XPUPROF_SIM_XE_TILES: how many tiles it has,
 * each with a stall stream.
 *
 * $XPUPROF_SIM_XE_FAULT: "closed" (it cannot be opened), "eacces", "ebusy" (the stream cannot be
 * opened), "eio" (the second read fails, once), "enodev" (all reads from the second one on), "size"
 * (records of another size), "version" (of another GPU), "i915" (it is another driver's), "vendor"
 * (another vendor's, and cannot be opened), "elsewhere" (the same of another of Intel's), "drop"
 * (stalls.h), "lost" (work is refused, as by a GPU that is gone).
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"
#include "faults.h"
#include "fence.h"
#include "memory.h"
#include "queue.h"
#include "stalls.h"

#define EXPORT	  __attribute__((visibility("default")))
#define NODES	  "/dev/dri/"
#define NODE	  "/dev/dri/renderD128"
#define DEVICE	  "/sys/class/drm/renderD128/device/"
#define OPEN_MAX  16
#define BINDS_MAX 4096

struct node {
	int fd; /* -1: none */
	const struct device *device;
	struct memory *memory; /* with queues, when work is first asked for */
	struct queues *queues;
	uint32_t vms;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node nodes[OPEN_MAX];
static unsigned int node_count;
static struct {
	int fd; /* 0: none */
	int reads;
} streams[SIM_XE_TILES];

EXPORT int open(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...);
EXPORT DIR *opendir(const char *path);
EXPORT int ioctl(int fd, unsigned long request, ...);
EXPORT ssize_t read(int fd, void *to, size_t size);
EXPORT int close(int fd);

static int fail(int error)
{
	errno = error;
	return -1;
}

static int result_of(int error)
{
	return error ? fail(-error) : 0;
}

/* --- files */

static struct node *find_node(int fd)
{
	struct node *found = NULL;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; fd >= 0 && i < node_count; i++)
		if (nodes[i].fd == fd)
			found = &nodes[i];
	pthread_mutex_unlock(&lock);
	return found;
}

static int open_node(void)
{
	struct node n = {.fd = memfd_create("xe", MFD_CLOEXEC), .device = device_here()};
	unsigned int i = 0;

	if (n.fd < 0)
		return -1;
	pthread_mutex_lock(&lock);
	while (i < node_count && nodes[i].fd >= 0)
		i++;
	if (i < OPEN_MAX)
		nodes[i] = n;
	node_count = i < OPEN_MAX && i == node_count ? i + 1 : node_count;
	pthread_mutex_unlock(&lock);
	if (i < OPEN_MAX)
		return n.fd;
	syscall(SYS_close, n.fd);
	return fail(EMFILE);
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
	if (strncmp(path, NODES, strlen(NODES)))
		return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
	if (strcmp(path, NODE))
		return fail(ENOENT);
	if (has_fault("closed") || has_fault("vendor") || has_fault("elsewhere"))
		return fail(EACCES);
	return open_node();
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

/* Drivers look there for nodes first. */
DIR *opendir(const char *path)
{
	DIR *(*real)(const char *path);

	if (!strncmp(path, NODES, strlen(NODES))) {
		errno = ENOENT;
		return NULL;
	}
	real = (DIR * (*)(const char *)) dlsym(RTLD_NEXT, "opendir");
	return real(path);
}

int close(int fd)
{
	struct node *n = find_node(fd), closed;

	for (int tile = 0; fd > 0 && tile < SIM_XE_TILES; tile++)
		if (streams[tile].fd == fd)
			streams[tile].fd = 0;
	if (n) {
		pthread_mutex_lock(&lock);
		closed = *n;
		*n = (struct node){.fd = -1};
		pthread_mutex_unlock(&lock);
		queues_free(closed.queues);
		memory_free(closed.memory);
	}
	return (int)syscall(SYS_close, fd);
}

/* --- the stream */

/* One at a time, of all processes'. */
static int open_pipe(unsigned int tile)
{
	char path[PATH_MAX];
	int fd;

	if (!sim_stalls_path(tile, path, sizeof(path)))
		return fail(ENODEV);
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		syscall(SYS_close, fd);
		return fail(EBUSY);
	}
	return fd;
}

/* -1: it is none. */
static int stream_of(int fd)
{
	int tile = SIM_XE_TILES;

	while (--tile >= 0 && (fd <= 0 || streams[tile].fd != fd))
		;
	return tile;
}

static int open_stream(const struct xe_observation *o)
{
	const struct xe_property *p = (const void *)(uintptr_t)o->properties;
	uint64_t values[4] = {0};
	unsigned int tile;

	for (int n = 0; p && n < 4; n++, p = (const void *)(uintptr_t)p->next)
		if (p->name == XE_SET_PROPERTY && p->property < 4)
			values[p->property] = p->value;
	if (o->type != XE_OBSERVE_EU_STALLS || o->what != XE_OBSERVE_OPEN || p ||
		values[XE_STALL_GT] % SIM_XE_GTS_EACH ||
		values[XE_STALL_GT] / SIM_XE_GTS_EACH >= device_tiles() ||
		values[XE_STALL_RATE] % SIM_XE_RATE ||
		values[XE_STALL_RATE] / SIM_XE_RATE - 1 >= SIM_XE_RATES)
		return fail(EINVAL);
	if (has_fault("eacces"))
		return fail(EACCES);
	tile = (unsigned int)values[XE_STALL_GT] / SIM_XE_GTS_EACH;
	if (has_fault("ebusy") || streams[tile].fd > 0)
		return fail(EBUSY);
	streams[tile].fd = open_pipe(tile);
	return streams[tile].fd;
}

ssize_t read(int fd, void *to, size_t size)
{
	int tile = stream_of(fd);
	ssize_t n;

	if (tile < 0)
		return syscall(SYS_read, fd, to, size);
	if ((has_fault("eio") && streams[tile].reads == 1) ||
		(has_fault("enodev") && streams[tile].reads >= 1)) {
		streams[tile].reads++;
		return fail(has_fault("eio") ? EIO : ENODEV);
	}
	if (sim_stalls_dropped())
		return fail(EIO);
	n = syscall(SYS_read, fd, to, size);
	streams[tile].reads += n > 0;
	return n;
}

/* --- work */

static int tell_version(struct xe_version *v)
{
	const char *name = has_fault("i915") ? "i915" : "xe";
	static const char text[] = "Simulated GPU";
	size_t size = strlen(name);

	if (v->name)
		memcpy(v->name, name, v->name_size < size ? v->name_size : size);
	v->name_size = size;
	if (v->text)
		memcpy(v->text, text, v->text_size < strlen(text) ? v->text_size : strlen(text));
	v->text_size = strlen(text);
	v->major = v->minor = 1;
	return 0;
}

static int begin_work(struct node *n)
{
	pthread_mutex_lock(&lock);
	if (!n->memory)
		n->memory = memory_new(n->fd, n->device->va_bits);
	if (n->memory && !n->queues)
		n->queues = queues_new(n->memory, n->device);
	pthread_mutex_unlock(&lock);
	return n->queues ? 0 : -ENOMEM;
}

static int bind_all(struct node *n, const struct xe_bind *b)
{
	const struct xe_bind_op *ops = b->count == 1 ? &b->one : (const void *)(uintptr_t)b->many;
	int error = b->count > BINDS_MAX ? -EINVAL : 0;

	for (uint32_t i = 0; !error && i < b->count; i++)
		error = memory_bind(n->memory, b->vm, &ops[i]);
	return error ?: fence_signal((const void *)(uintptr_t)b->syncs, b->sync_count);
}

static int work(struct node *n, unsigned long request, void *argument)
{
	struct xe_buffer *buffer = argument;
	struct xe_buffer_offset *offset = argument;
	struct xe_queue *queue = argument;
	struct xe_queue_property *property = argument;

	switch (request) {
	case XE_IOCTL_BUFFER:
		return memory_make(n->memory, buffer->size, &buffer->handle);
	case XE_IOCTL_CLOSE:
		return memory_close(n->memory, ((struct xe_buffer_close *)argument)->handle);
	case XE_IOCTL_BUFFER_OFFSET:
		return memory_offset(n->memory, offset->handle, &offset->offset);
	case XE_IOCTL_VM:
		((struct xe_vm *)argument)->id = __atomic_add_fetch(&n->vms, 1, __ATOMIC_RELAXED);
		return 0;
	case XE_IOCTL_VM_DESTROY:
		return 0;
	case XE_IOCTL_BIND:
		return bind_all(n, argument);
	case XE_IOCTL_QUEUE:
		return queues_make(n->queues, queue, &queue->id);
	case XE_IOCTL_QUEUE_DESTROY:
		return queues_destroy(n->queues, ((struct xe_by_id *)argument)->id);
	case XE_IOCTL_QUEUE_PROPERTY:
		return queues_is_banned(n->queues, property->queue, &property->value);
	case XE_IOCTL_EXEC:
		return queues_exec(n->queues, argument);
	case XE_IOCTL_WAIT:
		return fence_wait(argument);
	default:
		return -EINVAL;
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	struct node *n = find_node(fd);
	va_list args;
	void *argument;
	int error;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (stream_of(fd) >= 0 && (request == XE_IOCTL_ENABLE || request == XE_IOCTL_DISABLE))
		return 0;
	if (!n)
		return (int)syscall(SYS_ioctl, fd, request, argument);
	if (request == XE_IOCTL_VERSION)
		return tell_version(argument);
	if (request == XE_IOCTL_QUERY)
		return result_of(device_answer(n->device, argument));
	if (request == XE_IOCTL_OBSERVATION)
		return open_stream(argument);
	error = begin_work(n);
	return result_of(error ?: work(n, request, argument));
}
