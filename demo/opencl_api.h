/* SPDX-License-Identifier: MIT */
/*
 * OpenCL for programs that are recorded, without headers: functions are looked up in
 * libOpenCL.so.1, so that the programs can be built everywhere. Exits with 77 where there is no
 * device.
 */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inject/opencl/abi.h"

#define STEP __attribute__((noinline, used))

#define MORE_FUNCTIONS(FUNCTION)                                                                   \
	FUNCTION(int32_t, clGetPlatformIDs, (uint32_t, void **, uint32_t *))                       \
	FUNCTION(int32_t, clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *))       \
	FUNCTION(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int32_t *))            \
	FUNCTION(void *, clCreateImage,                                                            \
		(void *, uint64_t, const void *, const void *, void *, int32_t *))                 \
	FUNCTION(void *, clCreateProgramWithSource,                                                \
		(void *, uint32_t, const char **, const size_t *, int32_t *))                      \
	FUNCTION(int32_t, clBuildProgram,                                                          \
		(void *, uint32_t, void *const *, const char *, void (*)(void *, void *), void *)) \
	FUNCTION(int32_t, clSetKernelArg, (void *, uint32_t, size_t, const void *))                \
	FUNCTION(int32_t, clSetKernelArgSVMPointer, (void *, uint32_t, const void *))              \
	FUNCTION(int32_t, clReleaseKernel, (void *))                                               \
	FUNCTION(int32_t, clReleaseContext, (void *))                                              \
	FUNCTION(int32_t, clFlush, (void *))                                                       \
	FUNCTION(void *, clCreateUserEvent, (void *, int32_t *))                                   \
	FUNCTION(int32_t, clSetUserEventStatus, (void *, int32_t))                                 \
	FUNCTION(void *, clSVMAlloc, (void *, uint64_t, size_t, uint32_t))                         \
	FUNCTION(void, clSVMFree, (void *, void *))                                                \
	FUNCTION(int32_t, clCreateSubDevices,                                                      \
		(void *, const intptr_t *, uint32_t, void **, uint32_t *))                         \
	FUNCTION(int32_t, clReleaseDevice, (void *))                                               \
	FUNCTION(int32_t, clReleaseMemObject, (void *))                                            \
	FUNCTION(int32_t, clSetEventCallback,                                                      \
		(void *, int32_t, void (*)(void *, int32_t, void *), void *))                      \
	FUNCTION(int32_t, clSetContextDestructorCallback,                                          \
		(void *, void (*)(void *, void *), void *))

static struct opencl_functions cl;
#define FUNCTION(result, name, parameters) static result(*name) parameters;
MORE_FUNCTIONS(FUNCTION)
#undef FUNCTION

static void *platform, *device, *context, *program, *buffer, *other;

static void die(const char *what, int32_t error)
{
	fprintf(stderr, "%s: error %d\n", what, (int)error);
	exit(error ? 1 : 77);
}

static int32_t check(const char *what, int32_t error)
{
	if (error)
		die(what, error);
	return error;
}

static void *made(const char *what, void *object)
{
	if (!object)
		die(what, -1);
	return object;
}

static inline void load(void)
{
	void *loader = dlopen("libOpenCL.so.1", RTLD_NOW);

	if (!loader)
		die("no loader", 0);
#define FUNCTION(result, name, parameters)   *(void **)&cl.name = dlsym(loader, #name);
#define COMMAND(name, parameters, arguments) FUNCTION(, name, )
	OPENCL_COMMANDS(COMMAND)
	OPENCL_FUNCTIONS(FUNCTION)
#undef COMMAND
#undef FUNCTION
#define FUNCTION(result, name, parameters) *(void **)&name = dlsym(loader, #name);
	MORE_FUNCTIONS(FUNCTION)
#undef FUNCTION
}

#define BUFFER_BYTES (512 * 512)

/* The first device, with a context, two buffers, and kernels. */
static inline void begin(const char *source)
{
	load();
	if (clGetPlatformIDs(1, &platform, NULL) ||
		clGetDeviceIDs(platform, 0xffffffff, 1, &device, NULL))
		die("no device", 0);
	context = made("context", cl.clCreateContext(NULL, 1, &device, NULL, NULL, NULL));
	program = made("program", clCreateProgramWithSource(context, 1, &source, NULL, NULL));
	check("build", clBuildProgram(program, 1, &device, "", NULL, NULL));
	buffer = made("buffer", clCreateBuffer(context, 1, BUFFER_BYTES, NULL, NULL));
	other = made("buffer", clCreateBuffer(context, 1, BUFFER_BYTES, NULL, NULL));
}

static inline void *make_queue(uint64_t properties)
{
	return made("queue", cl.clCreateCommandQueue(context, device, properties, NULL));
}

/* With the buffer as its first argument, and a number as the second, if there is one. */
static inline void *make_kernel(const char *name, int number)
{
	void *kernel = made(name, cl.clCreateKernel(program, name, NULL));

	check("argument", clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	if (number)
		check("argument", clSetKernelArg(kernel, 1, sizeof(number), &number));
	return kernel;
}

static inline uint64_t event_time(void *event, uint32_t which)
{
	uint64_t ns = 0;

	check("times", cl.clGetEventProfilingInfo(
			       event, OPENCL_PROFILING_QUEUED + which, sizeof(ns), &ns, NULL));
	return ns;
}
