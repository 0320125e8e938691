/* SPDX-License-Identifier: MIT */
/* The part of the CUDA driver's binary interface that the preloaded library uses (cuda.h of CUDA
 * 13.0; all of it is the same since 12.0, and but for libraries since 11). */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int cu_result;
typedef int cu_device;
typedef void *cu_context;
typedef void *cu_module;
typedef void *cu_library;
typedef void *cu_stream;
typedef uint64_t cu_address;

#define CU_OK		0
#define CU_NOT_FOUND	500
#define CU_NOT_READY	600
#define CU_NON_BLOCKING 1
#define CU_RELAXED	2 /* CU_STREAM_CAPTURE_MODE_RELAXED */
#define CU_DEVICE_MAP	2 /* CU_MEMHOSTREGISTER_DEVICEMAP */

enum cu_attribute {
	CU_CLOCK_KHZ = 13,
	CU_MULTIPROCESSORS = 16,
	CU_CAPABILITY_MAJOR = 75,
	CU_CAPABILITY_MINOR = 76,
};

/* enum CUfunction_attribute */
enum cu_function_attribute {
	CU_MAX_THREADS = 0, /* of a block */
	CU_LOCAL_BYTES = 3, /* of a thread */
	CU_REGISTERS = 4,
};

enum cu_jit {
	CU_JIT_WALL_TIME_OUT = 2,
	CU_JIT_INFO_LOG_SIZE = 4,
	CU_JIT_ERROR_LOG = 5,
	CU_JIT_ERROR_LOG_SIZE = 6,
	CU_JIT_LINE_INFO = 13,
};

#define CU_LIBRARY_PRESERVED 1 /* CU_LIBRARY_BINARY_IS_PRESERVED */
