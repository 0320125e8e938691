// SPDX-License-Identifier: MIT
/*
 * The layers, each a function that launches its kernels or calls the layers it is made of.
 */
#include "model.h"
#include "kernels.h"

enum { BLOCK = 256, GRID = MODEL_COUNT / BLOCK, MATMUL_ROUNDS = 256, ROW_ROUNDS = 1024 };

#define CHECK(call) driver_check(m->driver, m->driver->call, #call, __FILE__, __LINE__)

STAGE static void launch(struct model *m, CUfunction kernel, unsigned int grid, CUdeviceptr out,
	CUdeviceptr left, CUdeviceptr right, unsigned int rounds, CUstream stream)
{
	unsigned int count = MODEL_COUNT;
	void *arguments[] = {&out, &left, &right, &count, &rounds};

	CHECK(cuLaunchKernel(kernel, grid, 1, 1, BLOCK, 1, 1, 0, stream, arguments, NULL));
	m->kernels++;
}

STAGE static void matmul(struct model *m, CUdeviceptr weights, CUstream stream)
{
	launch(m, m->matmul, GRID, m->activations, m->activations, weights, MATMUL_ROUNDS, stream);
}

STAGE static void softmax(struct model *m, CUstream stream)
{
	launch(m, m->softmax, GRID / 2, m->activations, m->activations, m->activations, ROW_ROUNDS,
		stream);
}

STAGE static void layer_norm(struct model *m, CUstream stream)
{
	launch(m, m->norm, GRID / 2, m->activations, m->activations, m->activations, ROW_ROUNDS,
		stream);
}

STAGE static void gelu(struct model *m, CUstream stream)
{
	launch(m, m->gelu, GRID / 4, m->activations, m->activations, m->activations, ROW_ROUNDS,
		stream);
}

STAGE static void attention(struct model *m, int layer, CUstream stream)
{
	matmul(m, m->weights[layer], stream);
	softmax(m, stream);
	matmul(m, m->weights[layer], stream);
}

STAGE static void feed_forward(struct model *m, int layer, CUstream stream)
{
	matmul(m, m->weights[layer], stream);
	gelu(m, stream);
}

STAGE static void transformer_block(struct model *m, int layer, CUstream stream)
{
	layer_norm(m, stream);
	attention(m, layer, stream);
	feed_forward(m, layer, stream);
}

STAGE static void compute_loss(struct model *m, CUstream stream)
{
	launch(m, m->loss, GRID / 8, m->gradients, m->activations, m->activations, ROW_ROUNDS,
		stream);
}

STAGE void model_forward(struct model *m, CUstream stream)
{
	CHECK(cuMemcpyDtoDAsync_v2(m->activations, m->input, MODEL_BYTES, stream));
	for (int layer = 0; layer < MODEL_LAYERS; layer++)
		transformer_block(m, layer, stream);
	compute_loss(m, stream);
}

STAGE static void attention_backward(struct model *m, int layer, CUstream stream)
{
	launch(m, m->matmul_backward_weights, GRID, m->gradients, m->activations, m->gradients,
		MATMUL_ROUNDS, stream);
	launch(m, m->matmul_backward_input, GRID, m->gradients, m->gradients, m->weights[layer],
		MATMUL_ROUNDS, stream);
}

STAGE static void feed_forward_backward(struct model *m, int layer, CUstream stream)
{
	launch(m, m->gelu, GRID / 4, m->gradients, m->gradients, m->gradients, ROW_ROUNDS, stream);
	launch(m, m->matmul_backward_input, GRID, m->gradients, m->gradients, m->weights[layer],
		MATMUL_ROUNDS, stream);
}

STAGE static void transformer_block_backward(struct model *m, int layer, CUstream stream)
{
	feed_forward_backward(m, layer, stream);
	attention_backward(m, layer, stream);
}

STAGE void model_backward(struct model *m, CUstream stream)
{
	for (int layer = MODEL_LAYERS - 1; layer >= 0; layer--)
		transformer_block_backward(m, layer, stream);
}

STAGE void model_zero_gradients(struct model *m, CUstream stream)
{
	CHECK(cuMemsetD8Async(m->gradients, 0, MODEL_BYTES, stream));
}

STAGE void model_optimizer_step(struct model *m, CUstream stream)
{
	for (int layer = 0; layer < MODEL_LAYERS; layer++)
		launch(m, m->adam, GRID / 4, m->weights[layer], m->weights[layer], m->gradients,
			ROW_ROUNDS, stream);
}

static void load_kernels(struct model *m)
{
	const struct {
		CUfunction *function;
		const char *name;
	} kernels[] = {
		{&m->matmul, "matmul_tiled"},
		{&m->matmul_backward_weights, "matmul_backward_weights"},
		{&m->matmul_backward_input, "matmul_backward_input"},
		{&m->softmax, "softmax_rows"},
		{&m->norm, "layer_norm"},
		{&m->gelu, "gelu_activation"},
		{&m->loss, "cross_entropy_loss"},
		{&m->adam, "adam_update"},
	};

	CHECK(cuModuleLoadData(&m->module, kernels_ptx));
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		CHECK(cuModuleGetFunction(kernels[i].function, m->module, kernels[i].name));
}

void model_open(struct model *m, const struct driver *driver)
{
	*m = (struct model){.driver = driver};
	load_kernels(m);
	CHECK(cuMemAlloc_v2(&m->input, MODEL_BYTES));
	CHECK(cuMemAlloc_v2(&m->activations, MODEL_BYTES));
	CHECK(cuMemAlloc_v2(&m->gradients, MODEL_BYTES));
	CHECK(cuMemsetD32_v2(m->activations, 0x3c23d70a, MODEL_COUNT));
	for (int layer = 0; layer < MODEL_LAYERS; layer++) {
		CHECK(cuMemAlloc_v2(&m->weights[layer], MODEL_BYTES));
		CHECK(cuMemsetD32_v2(m->weights[layer], 0x3c23d70a, MODEL_COUNT));
	}
}

void model_close(struct model *m)
{
	for (int layer = 0; layer < MODEL_LAYERS; layer++)
		CHECK(cuMemFree_v2(m->weights[layer]));
	CHECK(cuMemFree_v2(m->gradients));
	CHECK(cuMemFree_v2(m->activations));
	CHECK(cuMemFree_v2(m->input));
	CHECK(cuModuleUnload(m->module));
}
