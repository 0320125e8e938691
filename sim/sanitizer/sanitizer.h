/* SPDX-License-Identifier: MIT */
/* The part of NVIDIA's Sanitizer API that is simulated (sanitizer.h of CUDA 13). */
#pragma once

#include <stdint.h>

#include "cuda.h"

typedef enum {
	SANITIZER_SUCCESS = 0,
	SANITIZER_ERROR_INVALID_PARAMETER = 1,
	SANITIZER_ERROR_INVALID_OPERATION = 6,
	SANITIZER_ERROR_OUT_OF_MEMORY = 7,
	SANITIZER_ERROR_MAX_LIMIT_REACHED = 10,
	SANITIZER_ERROR_NOT_INITIALIZED = 13,
} SanitizerResult;

typedef enum {
	SANITIZER_INSTRUCTION_BLOCK_ENTER = 1,
	SANITIZER_INSTRUCTION_BLOCK_EXIT = 2,
	SANITIZER_INSTRUCTION_GLOBAL_MEMORY_ACCESS = 3,
} Sanitizer_InstructionId;

typedef struct Sanitizer_Subscriber_st *Sanitizer_SubscriberHandle;
typedef void (*Sanitizer_CallbackFunc)(void *userdata, int domain, uint32_t id, const void *data);

SanitizerResult sanitizerSubscribe(
	Sanitizer_SubscriberHandle *ret, Sanitizer_CallbackFunc callback, void *userdata);
SanitizerResult sanitizerUnsubscribe(Sanitizer_SubscriberHandle subscriber);
SanitizerResult sanitizerAddPatches(const void *image, CUcontext ctx);
SanitizerResult sanitizerPatchInstructions(
	const Sanitizer_InstructionId instruction, CUmodule module, const char *name);
SanitizerResult sanitizerPatchModule(CUmodule module);
SanitizerResult sanitizerSetCallbackData(CUfunction kernel, const void *userdata);
SanitizerResult sanitizerGetFunctionPcAndSize(
	CUmodule module, const char *name, uint64_t *pc, uint64_t *size);
SanitizerResult sanitizerGetResultString(SanitizerResult result, const char **ret);
