/* SPDX-License-Identifier: MIT */
/*
 * What we use of OpenCL, and of the interface between its loader and layers, written down once: so
 * that no headers are needed to build. Values and the order of the table are those of the Khronos
 * headers (CL/cl.h, CL/cl_icd.h, CL/cl_layer.h of 2022.09.30). tests/unit/opencl_abi_test.c
 * compares all of it with the real ones where they are installed.
 *
 * Handles are pointers to what only drivers know. A cl_bool and a cl_uint are uint32_t, a cl_ulong
 * and all sorts of properties and flags uint64_t; properties of the newer kind are words.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	OPENCL_SUCCESS = 0,
	OPENCL_PROFILING_INFO_NOT_AVAILABLE = -7,
	OPENCL_INVALID_VALUE = -30,
};

/* Kinds of information. */
enum {
	OPENCL_PLATFORM_VERSION = 0x0901,
	OPENCL_PLATFORM_NAME = 0x0902,
	OPENCL_DEVICE_TYPE = 0x1000,
	OPENCL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
	OPENCL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100c,
	OPENCL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
	OPENCL_DEVICE_PROFILING_TIMER_RESOLUTION = 0x1025,
	OPENCL_DEVICE_QUEUE_PROPERTIES = 0x102a,
	OPENCL_DEVICE_NAME = 0x102b,
	OPENCL_DEVICE_PLATFORM = 0x1031,
	OPENCL_DEVICE_PARENT_DEVICE = 0x1042,
	OPENCL_DEVICE_UUID = 0x106a,
	OPENCL_CONTEXT_REFERENCE_COUNT = 0x1080,
	OPENCL_QUEUE_CONTEXT = 0x1090,
	OPENCL_QUEUE_DEVICE = 0x1091,
	OPENCL_QUEUE_REFERENCE_COUNT = 0x1092,
	OPENCL_QUEUE_PROPERTIES = 0x1093,
	OPENCL_QUEUE_PROPERTIES_ARRAY = 0x1098,
	OPENCL_MEM_SIZE = 0x1102,
	OPENCL_IMAGE_ELEMENT_SIZE = 0x1111,
	OPENCL_KERNEL_FUNCTION_NAME = 0x1190,
	OPENCL_EVENT_COMMAND_QUEUE = 0x11d0,
	OPENCL_EVENT_REFERENCE_COUNT = 0x11d2,
	OPENCL_EVENT_EXECUTION_STATUS = 0x11d3,
	OPENCL_PROFILING_QUEUED = 0x1280, /* and then submitted, start, end */
	OPENCL_LAYER_API_VERSION = 0x4240,
	OPENCL_LAYER_NAME = 0x4241,
};

enum {
	OPENCL_LAYER_API_100 = 100,
	OPENCL_DEVICE_IS_CPU = 1 << 1,
	OPENCL_QUEUE_OUT_OF_ORDER = 1 << 0,
	OPENCL_QUEUE_PROFILING = 1 << 1,
	OPENCL_QUEUE_ON_DEVICE = 1 << 2,
};

/* How all commands of queues end. */
#define WAITS_AND_EVENT uint32_t wait_count, void *const *waits, void **event

/*
 * Commands of queues, with what comes before their waits and their event:
 *
 *	COMMAND(name, parameters, arguments)
 *
 * The queue is always called so.
 */
#define OPENCL_COMMANDS(COMMAND)                                                                   \
	COMMAND(clEnqueueNDRangeKernel,                                                            \
		(void *queue, void *kernel, uint32_t dimensions, const size_t *offset,             \
			const size_t *global, const size_t *local),                                \
		(queue, kernel, dimensions, offset, global, local))                                \
	COMMAND(clEnqueueTask, (void *queue, void *kernel), (queue, kernel))                       \
	COMMAND(clEnqueueNativeKernel,                                                             \
		(void *queue, void (*function)(void *), void *arguments, size_t size,              \
			uint32_t count, void *const *buffers, const void **places),                \
		(queue, function, arguments, size, count, buffers, places))                        \
	COMMAND(clEnqueueReadBuffer,                                                               \
		(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,         \
			void *to),                                                                 \
		(queue, buffer, blocking, offset, size, to))                                       \
	COMMAND(clEnqueueWriteBuffer,                                                              \
		(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,         \
			const void *from),                                                         \
		(queue, buffer, blocking, offset, size, from))                                     \
	COMMAND(clEnqueueCopyBuffer,                                                               \
		(void *queue, void *from, void *to, size_t from_offset, size_t to_offset,          \
			size_t size),                                                              \
		(queue, from, to, from_offset, to_offset, size))                                   \
	COMMAND(clEnqueueReadBufferRect,                                                           \
		(void *queue, void *buffer, uint32_t blocking, const size_t *origin,               \
			const size_t *host_origin, const size_t *region, size_t row, size_t slice, \
			size_t host_row, size_t host_slice, void *to),                             \
		(queue, buffer, blocking, origin, host_origin, region, row, slice, host_row,       \
			host_slice, to))                                                           \
	COMMAND(clEnqueueWriteBufferRect,                                                          \
		(void *queue, void *buffer, uint32_t blocking, const size_t *origin,               \
			const size_t *host_origin, const size_t *region, size_t row, size_t slice, \
			size_t host_row, size_t host_slice, const void *from),                     \
		(queue, buffer, blocking, origin, host_origin, region, row, slice, host_row,       \
			host_slice, from))                                                         \
	COMMAND(clEnqueueCopyBufferRect,                                                           \
		(void *queue, void *from, void *to, const size_t *from_origin,                     \
			const size_t *to_origin, const size_t *region, size_t from_row,            \
			size_t from_slice, size_t to_row, size_t to_slice),                        \
		(queue, from, to, from_origin, to_origin, region, from_row, from_slice, to_row,    \
			to_slice))                                                                 \
	COMMAND(clEnqueueFillBuffer,                                                               \
		(void *queue, void *buffer, const void *pattern, size_t pattern_size,              \
			size_t offset, size_t size),                                               \
		(queue, buffer, pattern, pattern_size, offset, size))                              \
	COMMAND(clEnqueueUnmapMemObject, (void *queue, void *object, void *mapped),                \
		(queue, object, mapped))                                                           \
	COMMAND(clEnqueueMigrateMemObjects,                                                        \
		(void *queue, uint32_t count, void *const *objects, uint64_t flags),               \
		(queue, count, objects, flags))                                                    \
	COMMAND(clEnqueueReadImage,                                                                \
		(void *queue, void *image, uint32_t blocking, const size_t *origin,                \
			const size_t *region, size_t row, size_t slice, void *to),                 \
		(queue, image, blocking, origin, region, row, slice, to))                          \
	COMMAND(clEnqueueWriteImage,                                                               \
		(void *queue, void *image, uint32_t blocking, const size_t *origin,                \
			const size_t *region, size_t row, size_t slice, const void *from),         \
		(queue, image, blocking, origin, region, row, slice, from))                        \
	COMMAND(clEnqueueCopyImage,                                                                \
		(void *queue, void *image, void *to, const size_t *from_origin,                    \
			const size_t *to_origin, const size_t *region),                            \
		(queue, image, to, from_origin, to_origin, region))                                \
	COMMAND(clEnqueueCopyImageToBuffer,                                                        \
		(void *queue, void *image, void *to, const size_t *origin, const size_t *region,   \
			size_t offset),                                                            \
		(queue, image, to, origin, region, offset))                                        \
	COMMAND(clEnqueueCopyBufferToImage,                                                        \
		(void *queue, void *from, void *image, size_t offset, const size_t *origin,        \
			const size_t *region),                                                     \
		(queue, from, image, offset, origin, region))                                      \
	COMMAND(clEnqueueFillImage,                                                                \
		(void *queue, void *image, const void *color, const size_t *origin,                \
			const size_t *region),                                                     \
		(queue, image, color, origin, region))                                             \
	COMMAND(clEnqueueSVMMemcpy,                                                                \
		(void *queue, uint32_t blocking, void *to, const void *from, size_t size),         \
		(queue, blocking, to, from, size))                                                 \
	COMMAND(clEnqueueSVMMemFill,                                                               \
		(void *queue, void *to, const void *pattern, size_t pattern_size, size_t size),    \
		(queue, to, pattern, pattern_size, size))                                          \
	COMMAND(clEnqueueSVMMap,                                                                   \
		(void *queue, uint32_t blocking, uint64_t flags, void *memory, size_t size),       \
		(queue, blocking, flags, memory, size))                                            \
	COMMAND(clEnqueueSVMUnmap, (void *queue, void *memory), (queue, memory))                   \
	COMMAND(clEnqueueSVMMigrateMem,                                                            \
		(void *queue, uint32_t count, const void **memory, const size_t *sizes,            \
			uint64_t flags),                                                           \
		(queue, count, memory, sizes, flags))

/* The same, of extensions: they are not in the table. */
#define OPENCL_EXTENSION_COMMANDS(COMMAND)                                                         \
	COMMAND(clEnqueueMemcpyINTEL,                                                              \
		(void *queue, uint32_t blocking, void *to, const void *from, size_t size),         \
		(queue, blocking, to, from, size))                                                 \
	COMMAND(clEnqueueMemFillINTEL,                                                             \
		(void *queue, void *to, const void *pattern, size_t pattern_size, size_t size),    \
		(queue, to, pattern, pattern_size, size))                                          \
	COMMAND(clEnqueueMemsetINTEL, (void *queue, void *to, int32_t value, size_t size),         \
		(queue, to, value, size))                                                          \
	COMMAND(clEnqueueMigrateMemINTEL,                                                          \
		(void *queue, const void *memory, size_t size, uint64_t flags),                    \
		(queue, memory, size, flags))

/* Other functions that we call, or put ours in the place of: FUNCTION(result, name, parameters) */
#define OPENCL_FUNCTIONS(FUNCTION)                                                                 \
	FUNCTION(int32_t, clGetPlatformInfo,                                                       \
		(void *platform, uint32_t what, size_t size, void *value, size_t *ret_size))       \
	FUNCTION(int32_t, clGetDeviceInfo,                                                         \
		(void *device, uint32_t what, size_t size, void *value, size_t *ret_size))         \
	FUNCTION(void *, clCreateContext,                                                          \
		(const intptr_t *properties, uint32_t count, void *const *devices,                 \
			void (*notify)(const char *, const void *, size_t, void *),                \
			void *user_data, int32_t *error))                                          \
	FUNCTION(void *, clCreateContextFromType,                                                  \
		(const intptr_t *properties, uint64_t type,                                        \
			void (*notify)(const char *, const void *, size_t, void *),                \
			void *user_data, int32_t *error))                                          \
	FUNCTION(int32_t, clReleaseContext, (void *context))                                       \
	FUNCTION(int32_t, clGetContextInfo,                                                        \
		(void *context, uint32_t what, size_t size, void *value, size_t *ret_size))        \
	FUNCTION(void *, clCreateCommandQueue,                                                     \
		(void *context, void *device, uint64_t properties, int32_t *error))                \
	FUNCTION(void *, clCreateCommandQueueWithProperties,                                       \
		(void *context, void *device, const uint64_t *properties, int32_t *error))         \
	FUNCTION(int32_t, clRetainCommandQueue, (void *queue))                                     \
	FUNCTION(int32_t, clReleaseCommandQueue, (void *queue))                                    \
	FUNCTION(int32_t, clReleaseDevice, (void *device))                                         \
	FUNCTION(int32_t, clGetCommandQueueInfo,                                                   \
		(void *queue, uint32_t what, size_t size, void *value, size_t *ret_size))          \
	FUNCTION(int32_t, clSetCommandQueueProperty,                                               \
		(void *queue, uint64_t properties, uint32_t enable, uint64_t *old))                \
	FUNCTION(int32_t, clGetMemObjectInfo,                                                      \
		(void *object, uint32_t what, size_t size, void *value, size_t *ret_size))         \
	FUNCTION(int32_t, clGetImageInfo,                                                          \
		(void *image, uint32_t what, size_t size, void *value, size_t *ret_size))          \
	FUNCTION(void *, clCreateKernel, (void *program, const char *name, int32_t *error))        \
	FUNCTION(int32_t, clCreateKernelsInProgram,                                                \
		(void *program, uint32_t count, void **kernels, uint32_t *ret_count))              \
	FUNCTION(void *, clCloneKernel, (void *kernel, int32_t *error))                            \
	FUNCTION(int32_t, clGetKernelInfo,                                                         \
		(void *kernel, uint32_t what, size_t size, void *value, size_t *ret_size))         \
	FUNCTION(int32_t, clWaitForEvents, (uint32_t count, void *const *events))                  \
	FUNCTION(int32_t, clGetEventInfo,                                                          \
		(void *event, uint32_t what, size_t size, void *value, size_t *ret_size))          \
	FUNCTION(int32_t, clRetainEvent, (void *event))                                            \
	FUNCTION(int32_t, clReleaseEvent, (void *event))                                           \
	FUNCTION(int32_t, clGetEventProfilingInfo,                                                 \
		(void *event, uint32_t what, size_t size, void *value, size_t *ret_size))          \
	FUNCTION(int32_t, clFinish, (void *queue))                                                 \
	FUNCTION(void *, clEnqueueMapBuffer,                                                       \
		(void *queue, void *buffer, uint32_t blocking, uint64_t flags, size_t offset,      \
			size_t size, WAITS_AND_EVENT, int32_t *error))                             \
	FUNCTION(void *, clEnqueueMapImage,                                                        \
		(void *queue, void *image, uint32_t blocking, uint64_t flags,                      \
			const size_t *origin, const size_t *region, size_t *row, size_t *slice,    \
			WAITS_AND_EVENT, int32_t *error))                                          \
	FUNCTION(void *, clGetExtensionFunctionAddress, (const char *name))                        \
	FUNCTION(void *, clGetExtensionFunctionAddressForPlatform,                                 \
		(void *platform, const char *name))                                                \
	FUNCTION(int32_t, clGetDeviceAndHostTimer,                                                 \
		(void *device, uint64_t *device_ns, uint64_t *host_ns))

#define OPENCL_UNPACK(...)	   __VA_ARGS__
#define OPENCL_DETAILS(queue, ...) __VA_ARGS__ /* of arguments: those behind the queue */

/* The functions as the loader gave them to us; NULL: it does not have that one. */
#define FUNCTION(result, name, parameters) result(*name) parameters;
#define COMMAND(name, parameters, arguments)                                                       \
	int32_t (*name)(OPENCL_UNPACK parameters, WAITS_AND_EVENT);
struct opencl_functions {
	OPENCL_COMMANDS(COMMAND)
	OPENCL_FUNCTIONS(FUNCTION)
};
#undef FUNCTION
#undef COMMAND

/* The table of functions, in its order. The loader says how much of it there is. */
#define OPENCL_TABLE(ENTRY)                                                                        \
	ENTRY(clGetPlatformIDs)                                                                    \
	ENTRY(clGetPlatformInfo)                                                                   \
	ENTRY(clGetDeviceIDs)                                                                      \
	ENTRY(clGetDeviceInfo)                                                                     \
	ENTRY(clCreateContext)                                                                     \
	ENTRY(clCreateContextFromType)                                                             \
	ENTRY(clRetainContext)                                                                     \
	ENTRY(clReleaseContext)                                                                    \
	ENTRY(clGetContextInfo)                                                                    \
	ENTRY(clCreateCommandQueue)                                                                \
	ENTRY(clRetainCommandQueue)                                                                \
	ENTRY(clReleaseCommandQueue)                                                               \
	ENTRY(clGetCommandQueueInfo)                                                               \
	ENTRY(clSetCommandQueueProperty)                                                           \
	ENTRY(clCreateBuffer)                                                                      \
	ENTRY(clCreateImage2D)                                                                     \
	ENTRY(clCreateImage3D)                                                                     \
	ENTRY(clRetainMemObject)                                                                   \
	ENTRY(clReleaseMemObject)                                                                  \
	ENTRY(clGetSupportedImageFormats)                                                          \
	ENTRY(clGetMemObjectInfo)                                                                  \
	ENTRY(clGetImageInfo)                                                                      \
	ENTRY(clCreateSampler)                                                                     \
	ENTRY(clRetainSampler)                                                                     \
	ENTRY(clReleaseSampler)                                                                    \
	ENTRY(clGetSamplerInfo)                                                                    \
	ENTRY(clCreateProgramWithSource)                                                           \
	ENTRY(clCreateProgramWithBinary)                                                           \
	ENTRY(clRetainProgram)                                                                     \
	ENTRY(clReleaseProgram)                                                                    \
	ENTRY(clBuildProgram)                                                                      \
	ENTRY(clUnloadCompiler)                                                                    \
	ENTRY(clGetProgramInfo)                                                                    \
	ENTRY(clGetProgramBuildInfo)                                                               \
	ENTRY(clCreateKernel)                                                                      \
	ENTRY(clCreateKernelsInProgram)                                                            \
	ENTRY(clRetainKernel)                                                                      \
	ENTRY(clReleaseKernel)                                                                     \
	ENTRY(clSetKernelArg)                                                                      \
	ENTRY(clGetKernelInfo)                                                                     \
	ENTRY(clGetKernelWorkGroupInfo)                                                            \
	ENTRY(clWaitForEvents)                                                                     \
	ENTRY(clGetEventInfo)                                                                      \
	ENTRY(clRetainEvent)                                                                       \
	ENTRY(clReleaseEvent)                                                                      \
	ENTRY(clGetEventProfilingInfo)                                                             \
	ENTRY(clFlush)                                                                             \
	ENTRY(clFinish)                                                                            \
	ENTRY(clEnqueueReadBuffer)                                                                 \
	ENTRY(clEnqueueWriteBuffer)                                                                \
	ENTRY(clEnqueueCopyBuffer)                                                                 \
	ENTRY(clEnqueueReadImage)                                                                  \
	ENTRY(clEnqueueWriteImage)                                                                 \
	ENTRY(clEnqueueCopyImage)                                                                  \
	ENTRY(clEnqueueCopyImageToBuffer)                                                          \
	ENTRY(clEnqueueCopyBufferToImage)                                                          \
	ENTRY(clEnqueueMapBuffer)                                                                  \
	ENTRY(clEnqueueMapImage)                                                                   \
	ENTRY(clEnqueueUnmapMemObject)                                                             \
	ENTRY(clEnqueueNDRangeKernel)                                                              \
	ENTRY(clEnqueueTask)                                                                       \
	ENTRY(clEnqueueNativeKernel)                                                               \
	ENTRY(clEnqueueMarker)                                                                     \
	ENTRY(clEnqueueWaitForEvents)                                                              \
	ENTRY(clEnqueueBarrier)                                                                    \
	ENTRY(clGetExtensionFunctionAddress)                                                       \
	ENTRY(clCreateFromGLBuffer)                                                                \
	ENTRY(clCreateFromGLTexture2D)                                                             \
	ENTRY(clCreateFromGLTexture3D)                                                             \
	ENTRY(clCreateFromGLRenderbuffer)                                                          \
	ENTRY(clGetGLObjectInfo)                                                                   \
	ENTRY(clGetGLTextureInfo)                                                                  \
	ENTRY(clEnqueueAcquireGLObjects)                                                           \
	ENTRY(clEnqueueReleaseGLObjects)                                                           \
	ENTRY(clGetGLContextInfoKHR)                                                               \
	ENTRY(clGetDeviceIDsFromD3D10KHR)                                                          \
	ENTRY(clCreateFromD3D10BufferKHR)                                                          \
	ENTRY(clCreateFromD3D10Texture2DKHR)                                                       \
	ENTRY(clCreateFromD3D10Texture3DKHR)                                                       \
	ENTRY(clEnqueueAcquireD3D10ObjectsKHR)                                                     \
	ENTRY(clEnqueueReleaseD3D10ObjectsKHR)                                                     \
	ENTRY(clSetEventCallback)                                                                  \
	ENTRY(clCreateSubBuffer)                                                                   \
	ENTRY(clSetMemObjectDestructorCallback)                                                    \
	ENTRY(clCreateUserEvent)                                                                   \
	ENTRY(clSetUserEventStatus)                                                                \
	ENTRY(clEnqueueReadBufferRect)                                                             \
	ENTRY(clEnqueueWriteBufferRect)                                                            \
	ENTRY(clEnqueueCopyBufferRect)                                                             \
	ENTRY(clCreateSubDevicesEXT)                                                               \
	ENTRY(clRetainDeviceEXT)                                                                   \
	ENTRY(clReleaseDeviceEXT)                                                                  \
	ENTRY(clCreateEventFromGLsyncKHR)                                                          \
	ENTRY(clCreateSubDevices)                                                                  \
	ENTRY(clRetainDevice)                                                                      \
	ENTRY(clReleaseDevice)                                                                     \
	ENTRY(clCreateImage)                                                                       \
	ENTRY(clCreateProgramWithBuiltInKernels)                                                   \
	ENTRY(clCompileProgram)                                                                    \
	ENTRY(clLinkProgram)                                                                       \
	ENTRY(clUnloadPlatformCompiler)                                                            \
	ENTRY(clGetKernelArgInfo)                                                                  \
	ENTRY(clEnqueueFillBuffer)                                                                 \
	ENTRY(clEnqueueFillImage)                                                                  \
	ENTRY(clEnqueueMigrateMemObjects)                                                          \
	ENTRY(clEnqueueMarkerWithWaitList)                                                         \
	ENTRY(clEnqueueBarrierWithWaitList)                                                        \
	ENTRY(clGetExtensionFunctionAddressForPlatform)                                            \
	ENTRY(clCreateFromGLTexture)                                                               \
	ENTRY(clGetDeviceIDsFromD3D11KHR)                                                          \
	ENTRY(clCreateFromD3D11BufferKHR)                                                          \
	ENTRY(clCreateFromD3D11Texture2DKHR)                                                       \
	ENTRY(clCreateFromD3D11Texture3DKHR)                                                       \
	ENTRY(clCreateFromDX9MediaSurfaceKHR)                                                      \
	ENTRY(clEnqueueAcquireD3D11ObjectsKHR)                                                     \
	ENTRY(clEnqueueReleaseD3D11ObjectsKHR)                                                     \
	ENTRY(clGetDeviceIDsFromDX9MediaAdapterKHR)                                                \
	ENTRY(clEnqueueAcquireDX9MediaSurfacesKHR)                                                 \
	ENTRY(clEnqueueReleaseDX9MediaSurfacesKHR)                                                 \
	ENTRY(clCreateFromEGLImageKHR)                                                             \
	ENTRY(clEnqueueAcquireEGLObjectsKHR)                                                       \
	ENTRY(clEnqueueReleaseEGLObjectsKHR)                                                       \
	ENTRY(clCreateEventFromEGLSyncKHR)                                                         \
	ENTRY(clCreateCommandQueueWithProperties)                                                  \
	ENTRY(clCreatePipe)                                                                        \
	ENTRY(clGetPipeInfo)                                                                       \
	ENTRY(clSVMAlloc)                                                                          \
	ENTRY(clSVMFree)                                                                           \
	ENTRY(clEnqueueSVMFree)                                                                    \
	ENTRY(clEnqueueSVMMemcpy)                                                                  \
	ENTRY(clEnqueueSVMMemFill)                                                                 \
	ENTRY(clEnqueueSVMMap)                                                                     \
	ENTRY(clEnqueueSVMUnmap)                                                                   \
	ENTRY(clCreateSamplerWithProperties)                                                       \
	ENTRY(clSetKernelArgSVMPointer)                                                            \
	ENTRY(clSetKernelExecInfo)                                                                 \
	ENTRY(clGetKernelSubGroupInfoKHR)                                                          \
	ENTRY(clCloneKernel)                                                                       \
	ENTRY(clCreateProgramWithIL)                                                               \
	ENTRY(clEnqueueSVMMigrateMem)                                                              \
	ENTRY(clGetDeviceAndHostTimer)                                                             \
	ENTRY(clGetHostTimer)                                                                      \
	ENTRY(clGetKernelSubGroupInfo)                                                             \
	ENTRY(clSetDefaultDeviceCommandQueue)                                                      \
	ENTRY(clSetProgramReleaseCallback)                                                         \
	ENTRY(clSetProgramSpecializationConstant)                                                  \
	ENTRY(clCreateBufferWithProperties)                                                        \
	ENTRY(clCreateImageWithProperties)                                                         \
	ENTRY(clSetContextDestructorCallback)

#define ENTRY(name) OPENCL_AT_##name,
enum opencl_entry { OPENCL_TABLE(ENTRY) OPENCL_ENTRIES };
#undef ENTRY
