/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA's Sanitizer library, from CUDA's toolkit, whose path xpuprof hands over
 * (PROBE_ENV_SANITIZER; sanitizer_patching.h of CUDA 13.0). Once it is loaded it stays, and holds
 * CUPTI.
 *
 * It takes one caller at a time: all functions are called with the lock of the arenas.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "preload/nvidia/abi.h"

#define SANITIZER_ACCEPTED 0

enum sanitizer_instruction {
	SANITIZER_BLOCK_ENTER = 1,
	SANITIZER_BLOCK_EXIT = 2,
	SANITIZER_GLOBAL_ACCESS = 3,
};

#define SANITIZER(S)                                                                               \
	S(Subscribe, (void **ret, void (*callback)(void *, int, uint32_t, const void *),           \
			     void *userdata))                                                      \
	S(AddPatches, (const void *image, cu_context context))                                     \
	S(PatchInstructions, (int instruction, cu_module module, const char *name))                \
	S(PatchModule, (cu_module module))                                                         \
	S(SetCallbackData, (void *function, const void *data))                                     \
	S(GetFunctionPcAndSize,                                                                    \
		(cu_module module, const char *name, uint64_t *ret_pc, uint64_t *ret_size))        \
	S(GetResultString, (int result, const char **ret))

struct sanitizer {
#define SANITIZER_MEMBER(name, arguments) int(*name) arguments;
	SANITIZER(SANITIZER_MEMBER)
#undef SANITIZER_MEMBER
};

extern struct sanitizer sanitizer;

/* Whether the user wants it. Any thread. */
bool sanitizer_is_wanted(void);
/* Loads it and subscribes to it, once, where it is wanted: before the program has a context. Any
 * thread, without the lock; one that comes meanwhile waits, for 2 s at most, and then goes on
 * without. */
void sanitizer_open(void);
/* Why that failed, or NULL. */
const char *sanitizer_failure(void);
/* A result's name. */
const char *sanitizer_result(int result);
