/* SPDX-License-Identifier: MIT */
/*
 * What a GPU driver says itself, by probes in its own code: the interface between
 * src/capture/, which reads these, and src/gpu/. It is what the profiled program says, so nothing
 * of it is trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A kernel is launched. Pointers are valid during the call. */
struct driver_kernel {
	uint32_t pid;
	uint32_t process;    /* profile id */
	uint32_t api;	     /* whose driver it is, by its number on the wire */
	uint32_t thread;     /* profile id */
	uint32_t stack;	     /* profile id; 0: there is none */
	uint32_t incomplete; /* as in gpu_launch */
	uint64_t time_ns;
	uint64_t address, size; /* of its code, on the GPU */
	const char *name;
	const char *probe; /* "provider:name" */
};

/* A kernel of an image. */
struct driver_image_kernel {
	const char *name; /* not ended */
	uint32_t name_size;
	uint64_t address; /* that the image was linked for; 0: none */
	uint64_t size;
};

/* An image of GPU code was loaded. */
struct driver_image {
	uint32_t pid;
	uint32_t process; /* profile id */
	uint32_t api;
	uint64_t time_ns;
	const char *format; /* what the name of its module begins with */
	int fd;		    /* a copy of it in memory, which nobody else has; stays the sender's */
	const struct driver_image_kernel *kernels;
	size_t kernel_count;
};

/* Who receives that. Each function returns 0 or -errno, which stops the recording. With all NULL
 * nobody is interested. */
struct driver_news {
	void *context;
	int (*kernel)(void *context, const struct driver_kernel *k);
	int (*image)(void *context, const struct driver_image *i);
	/* Why probes are there and not read: a line. */
	int (*refused)(void *context, const char *why);
};
