/* SPDX-License-Identifier: MIT */
/*
 * The demo's model: a small transformer in shape, whose arithmetic has no meaning. Its buffers and
 * kernels on one device; every call only enqueues work on the stream given.
 */
#pragma once

#include "driver.h"

/* A function that a profile shall show under its name: never inlined, nor specialized. */
#ifdef __clang__
#define STAGE __attribute__((noinline))
#else
#define STAGE __attribute__((noinline, noclone))
#endif

enum { MODEL_LAYERS = 3, MODEL_COUNT = 1 << 18, MODEL_BYTES = MODEL_COUNT * 4 };

struct model {
	const struct driver *driver;
	CUmodule module;
	CUfunction matmul, matmul_backward_weights, matmul_backward_input;
	CUfunction softmax, norm, gelu, loss, adam;
	CUdeviceptr input, activations, gradients;
	CUdeviceptr weights[MODEL_LAYERS];
	unsigned long kernels; /* enqueued, those captured into a graph included */
};

void model_open(struct model *m, const struct driver *driver);
void model_close(struct model *m);
void model_forward(struct model *m, CUstream stream);
void model_backward(struct model *m, CUstream stream);
void model_zero_gradients(struct model *m, CUstream stream);
void model_optimizer_step(struct model *m, CUstream stream);
