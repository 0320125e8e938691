// SPDX-License-Identifier: MIT
/*
 * blocking_file open|read FD FILE [DEVICE LINE]: serves the folder of FILE, a FUSE file system that
 * was mounted with FD, and maps and runs code from that file, a copy of this program. To requests
 * of any other user to open the file, or to read it, there is never an answer. The code writes LINE
 * to DEVICE.
 */
#include <dlfcn.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define REQUEST_BYTES 200000
#define FILE_NODE     2
#define WAY	      __attribute__((noinline, noclone))

static char content[1 << 20];
static size_t size;

static void answer(int fd, const struct fuse_in_header *in, int error, const void *data, size_t n)
{
	char reply[sizeof(struct fuse_out_header) + sizeof(content)];
	struct fuse_out_header out = {sizeof(out) + (unsigned int)n, -error, in->unique};

	memcpy(reply, &out, sizeof(out));
	memcpy(reply + sizeof(out), data, n);
	if (write(fd, reply, out.len) < 0 && errno != ENOENT)
		err(1, "answer");
}

static struct fuse_attr attributes(uint64_t node)
{
	bool file = node == FILE_NODE;

	return (struct fuse_attr){.ino = node,
		.size = file ? size : 0,
		.mode = file ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.uid = getuid(),
		.gid = getgid()};
}

static void answer_init(int fd, const struct fuse_in_header *in, const struct fuse_init_in *asked)
{
	struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = asked->max_readahead,
		.max_write = 4096};

	answer(fd, in, 0, &out, sizeof(out));
}

static void answer_read(int fd, const struct fuse_in_header *in, const struct fuse_read_in *asked)
{
	size_t left = asked->offset < size ? size - asked->offset : 0;

	answer(fd, in, 0, content + asked->offset, left < asked->size ? left : asked->size);
}

static void serve_one(int fd, const struct fuse_in_header *in, bool block_open)
{
	const void *asked = in + 1;
	bool ours = in->uid == getuid();
	struct fuse_entry_out entry = {.nodeid = FILE_NODE,
		.entry_valid = 1,
		.attr_valid = 1,
		.attr = attributes(FILE_NODE)};
	struct fuse_attr_out attr = {.attr_valid = 1, .attr = attributes(in->nodeid)};
	struct fuse_open_out opened = {0};

	switch (in->opcode) {
	case FUSE_INIT:
		return answer_init(fd, in, asked);
	case FUSE_LOOKUP:
		return answer(fd, in, 0, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return answer(fd, in, 0, &attr, sizeof(attr));
	case FUSE_OPEN:
		opened.open_flags = ours ? 0 : FOPEN_DIRECT_IO;
		if (ours || !block_open)
			answer(fd, in, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		if (ours)
			answer_read(fd, in, asked);
		return;
	case FUSE_FORGET:
		return;
	case FUSE_RELEASE:
		return answer(fd, in, 0, NULL, 0);
	default:
		return answer(fd, in, ENOSYS, NULL, 0);
	}
}

static void serve(int fd, bool block_open)
{
	static char request[REQUEST_BYTES] __attribute__((aligned(8)));

	prctl(PR_SET_PDEATHSIG, 9);
	while (read(fd, request, sizeof(request)) > 0)
		serve_one(fd, (const struct fuse_in_header *)request, block_open);
	_exit(0);
}

/* What is to be written, by our own write(): in the copy there are no addresses of others'. */
struct line {
	ssize_t (*write)(int, const void *, size_t);
	int device; /* -1: nothing */
	const char *text;
	size_t size;
};

/* That of which write() was called is no frame where that has no frame pointer. */
static WAY void write_line(const struct line *l)
{
	if (l->device >= 0)
		l->write(l->device, l->text, l->size);
	__asm__ volatile("");
}

static WAY void spin(const struct line *l)
{
	write_line(l);
	for (volatile int i = 1; i; i = 1)
		;
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY);

	size = (size_t)read(fd, content, sizeof(content));
	close(fd);
}

int main(int argc, char **argv)
{
	struct line line = {write, -1, "", 0};
	const char *path;
	Dl_info here;
	char *mapped;
	int fd;

	if (argc < 4)
		errx(1, "usage: blocking_file open|read FD FILE [DEVICE LINE]");
	alarm(60); /* whatever happens: it would block every recorder of the machine */
	load("/proc/self/exe");
	fd = atoi(argv[2]);
	if (!fork())
		serve(fd, !strcmp(argv[1], "open"));
	close(fd);
	path = argv[3];
	fd = open(path, O_RDONLY);
	mapped = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		err(1, "%s", path);
	for (size_t i = 0; i < size; i += 4096) /* what we run is there before anybody else asks */
		(void)*(volatile char *)(mapped + i);
	if (argc == 6) {
		line = (struct line){write, open(argv[4], O_RDWR), argv[5], strlen(argv[5])};
		if (line.device < 0)
			err(1, "%s", argv[4]);
	}
	dladdr((void *)spin, &here);
	puts("mapped");
	fflush(stdout);
	((void (*)(const struct line *))(mapped + ((char *)spin - (char *)here.dli_fbase)))(&line);
	return 0;
}
