/* SPDX-License-Identifier: MIT */
/*
 * The calls of OpenCL that are followed: those that ask for work or wait for it, up to OpenCL 3.0,
 * and those of extensions that are only found by clGetExtensionFunctionAddress.
 *
 *	CALL(our number, kind, name)
 *
 * OpenCL numbers its commands, but not all of them. So the numbers are ours, given out once; the
 * kinds are those of enum wire_call_kind. Markers, barriers and the acquisition of other APIs'
 * objects are no work of a GPU: they are not followed, as events and waits of streams are not in
 * other APIs.
 */
#pragma once

#define OPENCL_API 1u /* its number on the wire (wire/wire.h) */

/* Numbers are below this. */
#define OPENCL_CALL_NUMBERS 64

#define OPENCL_CALLS(CALL)                                                                         \
	CALL(1, LAUNCH, clEnqueueNDRangeKernel)                                                    \
	CALL(2, LAUNCH, clEnqueueTask)                                                             \
	CALL(3, LAUNCH, clEnqueueNativeKernel)                                                     \
	CALL(4, COPY, clEnqueueReadBuffer)                                                         \
	CALL(5, COPY, clEnqueueWriteBuffer)                                                        \
	CALL(6, COPY, clEnqueueCopyBuffer)                                                         \
	CALL(7, COPY, clEnqueueReadBufferRect)                                                     \
	CALL(8, COPY, clEnqueueWriteBufferRect)                                                    \
	CALL(9, COPY, clEnqueueCopyBufferRect)                                                     \
	CALL(10, SET, clEnqueueFillBuffer)                                                         \
	CALL(11, COPY, clEnqueueMapBuffer)                                                         \
	CALL(12, COPY, clEnqueueUnmapMemObject)                                                    \
	CALL(13, COPY, clEnqueueMigrateMemObjects)                                                 \
	CALL(14, COPY, clEnqueueReadImage)                                                         \
	CALL(15, COPY, clEnqueueWriteImage)                                                        \
	CALL(16, COPY, clEnqueueCopyImage)                                                         \
	CALL(17, COPY, clEnqueueCopyImageToBuffer)                                                 \
	CALL(18, COPY, clEnqueueCopyBufferToImage)                                                 \
	CALL(19, SET, clEnqueueFillImage)                                                          \
	CALL(20, COPY, clEnqueueMapImage)                                                          \
	CALL(21, COPY, clEnqueueSVMMemcpy)                                                         \
	CALL(22, SET, clEnqueueSVMMemFill)                                                         \
	CALL(23, COPY, clEnqueueSVMMap)                                                            \
	CALL(24, COPY, clEnqueueSVMUnmap)                                                          \
	CALL(25, COPY, clEnqueueSVMMigrateMem)                                                     \
	CALL(26, SYNC, clFinish)                                                                   \
	CALL(27, SYNC, clWaitForEvents)                                                            \
	CALL(28, LAUNCH, clEnqueueCommandBufferKHR)                                                \
	CALL(29, COPY, clEnqueueMemcpyINTEL)                                                       \
	CALL(30, SET, clEnqueueMemFillINTEL)                                                       \
	CALL(31, SET, clEnqueueMemsetINTEL)                                                        \
	CALL(32, COPY, clEnqueueMigrateMemINTEL)
