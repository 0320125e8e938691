// SPDX-License-Identifier: MIT
/*
 * The demo: a training loop in small, as a thing to profile. A thread prepares batches on the CPU;
 * each step copies one to the GPU, runs the model forward and backward, updates the weights and
 * waits. Every EVALUATE_EVERY steps it evaluates: a CUDA graph of the forward pass, captured once,
 * is replayed on a second stream.
 *
 *	train [--steps N] [--seconds S]
 */
#include "model.h"

#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { QUEUE_DEPTH = 4, EVALUATE_EVERY = 16, EVALUATION_BATCHES = 4, DEFAULT_SECONDS = 3 };

struct loader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	float *batches[QUEUE_DEPTH]; /* pinned memory */
	unsigned int made, used;
	bool stop;
};

struct trainer {
	struct driver driver;
	struct model model;
	struct loader loader;
	CUstream stream, evaluation_stream;
	CUgraph graph;
	CUgraphExec replay;
	float *loss;
	char device[256];
	unsigned long steps, evaluations, replayed_kernels;
};

#define CHECK(call) driver_check(&t->driver, t->driver.call, #call, __FILE__, __LINE__)

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

STAGE static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* The batch as it would come from a file. */
STAGE static void decode_samples(float *batch, uint32_t *random)
{
	for (int i = 0; i < MODEL_COUNT; i++)
		batch[i] = (float)(next_random(random) >> 8) / (float)(1 << 24);
}

STAGE static void normalize(float *batch)
{
	double sum = 0;

	for (int i = 0; i < MODEL_COUNT; i++)
		sum += batch[i];
	for (int i = 0; i < MODEL_COUNT; i++)
		batch[i] -= (float)(sum / MODEL_COUNT);
}

STAGE static void prepare_batch(float *batch, uint32_t *random)
{
	decode_samples(batch, random);
	normalize(batch);
}

static void *data_loader(void *argument)
{
	struct loader *l = argument;
	uint32_t random = 1;

	pthread_mutex_lock(&l->lock);
	while (!l->stop) {
		if (l->made - l->used == QUEUE_DEPTH) {
			pthread_cond_wait(&l->changed, &l->lock);
			continue;
		}
		pthread_mutex_unlock(&l->lock);
		prepare_batch(l->batches[l->made % QUEUE_DEPTH], &random);
		pthread_mutex_lock(&l->lock);
		l->made++;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

STAGE static const float *wait_for_batch(struct loader *l)
{
	pthread_mutex_lock(&l->lock);
	while (l->made == l->used)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
	return l->batches[l->used % QUEUE_DEPTH];
}

static void batch_done(struct loader *l)
{
	pthread_mutex_lock(&l->lock);
	l->used++;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

STAGE static void load_batch(struct trainer *t)
{
	const float *batch = wait_for_batch(&t->loader);

	CHECK(cuMemcpyHtoDAsync_v2(t->model.input, batch, MODEL_BYTES, t->stream));
}

STAGE static void read_loss(struct trainer *t)
{
	CHECK(cuMemcpyDtoHAsync_v2(t->loss, t->model.gradients, sizeof(*t->loss), t->stream));
	CHECK(cuStreamSynchronize(t->stream));
}

STAGE static void train_step(struct trainer *t)
{
	load_batch(t);
	model_zero_gradients(&t->model, t->stream);
	model_forward(&t->model, t->stream);
	model_backward(&t->model, t->stream);
	model_optimizer_step(&t->model, t->stream);
	read_loss(t);
	batch_done(&t->loader);
	t->steps++;
}

STAGE static void capture_forward(struct trainer *t)
{
	unsigned long before = t->model.kernels;

	CHECK(cuStreamBeginCapture_v2(t->evaluation_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	model_forward(&t->model, t->evaluation_stream);
	CHECK(cuStreamEndCapture(t->evaluation_stream, &t->graph));
	CHECK(cuGraphInstantiateWithFlags(&t->replay, t->graph, 0));
	t->replayed_kernels = t->model.kernels - before;
	t->model.kernels = before;
}

STAGE static void evaluate(struct trainer *t)
{
	for (int i = 0; i < EVALUATION_BATCHES; i++) {
		CHECK(cuGraphLaunch(t->replay, t->evaluation_stream));
		t->model.kernels += t->replayed_kernels;
	}
	CHECK(cuStreamSynchronize(t->evaluation_stream));
	t->evaluations++;
}

STAGE static void train(struct trainer *t, unsigned long steps, double seconds)
{
	double end = now() + seconds;

	while (steps ? t->steps < steps : now() < end) {
		train_step(t);
		if (t->steps % EVALUATE_EVERY == 0)
			evaluate(t);
	}
	CHECK(cuCtxSynchronize());
}

static void loader_start(struct trainer *t)
{
	struct loader *l = &t->loader;

	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	for (int i = 0; i < QUEUE_DEPTH; i++)
		CHECK(cuMemHostAlloc((void **)&l->batches[i], MODEL_BYTES, 0));
	if (pthread_create(&l->thread, NULL, data_loader, l)) {
		perror("train: cannot start the data loader");
		exit(1);
	}
}

static void loader_stop(struct trainer *t)
{
	struct loader *l = &t->loader;

	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	for (int i = 0; i < QUEUE_DEPTH; i++)
		CHECK(cuMemFreeHost(l->batches[i]));
}

static bool trainer_open(struct trainer *t)
{
	CUcontext ctx;
	CUdevice dev;

	if (!driver_open(&t->driver, "train"))
		return false;
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&dev, 0));
	CHECK(cuDeviceGetName(t->device, sizeof(t->device), dev));
	CHECK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CHECK(cuCtxSetCurrent(ctx));
	model_open(&t->model, &t->driver);
	CHECK(cuStreamCreate(&t->stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamCreate(&t->evaluation_stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemHostAlloc((void **)&t->loss, sizeof(*t->loss), 0));
	capture_forward(t);
	loader_start(t);
	return true;
}

static void trainer_close(struct trainer *t)
{
	loader_stop(t);
	CHECK(cuGraphExecDestroy(t->replay));
	CHECK(cuGraphDestroy(t->graph));
	CHECK(cuMemFreeHost(t->loss));
	CHECK(cuStreamDestroy_v2(t->evaluation_stream));
	CHECK(cuStreamDestroy_v2(t->stream));
	model_close(&t->model);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"steps", required_argument, NULL, 'n'},
		{"seconds", required_argument, NULL, 's'}, {0}};
	static struct trainer t;
	unsigned long steps = 0;
	double seconds = DEFAULT_SECONDS, start;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n')
			steps = strtoul(optarg, NULL, 10);
		else if (option == 's')
			seconds = strtod(optarg, NULL);
		else
			return 2;
	}
	if (!trainer_open(&t))
		return 1;
	start = now();
	train(&t, steps, seconds);
	printf("trained %lu steps, evaluated %lu times, ran %lu kernels in %.1f s on %s\n", t.steps,
		t.evaluations, t.model.kernels, now() - start, t.device);
	trainer_close(&t);
	return 0;
}
