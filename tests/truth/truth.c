// SPDX-License-Identifier: MIT
#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX  512
#define CHAINS_MAX 200 /* of launches, and of spins */
#define ROUNDS	   4   /* launches of one list */
#define SPINS	   ((uint64_t)6 << 20)

static __thread const char *names[NAMES_MAX];
static __thread int depth;

/* The lists that were written. */
struct chains {
	char *texts[CHAINS_MAX];
	int count;
};

static struct chains launches, spins;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int out = -1;

void truth_enter(const char *name)
{
	if (depth < NAMES_MAX)
		names[depth] = name;
	depth++;
}

void truth_leave(void)
{
	depth--;
}

int truth_depth(void)
{
	return depth;
}

void truth_unwind(int to)
{
	depth = to;
}

static void join_names(char *text, size_t size)
{
	size_t used = 0;
	int first = depth;

	/* A fiber has a stack of its own. */
	while (first > 0 && strcmp(names[first - 1], "~context"))
		first--;
	for (int i = first ? first - 1 : 0; i < depth && used < size; i++)
		used += (size_t)snprintf(
			text + used, size - used, "%s%s", used ? ";" : "", names[i]);
	if (used >= size) {
		fprintf(stderr, "truth: too many functions\n");
		exit(2);
	}
}

/* The number of the present list; it is written when it is new. */
static int number_of(struct chains *c, const char *kind)
{
	static char text[1 << 14];
	int n = 0;

	pthread_mutex_lock(&lock);
	join_names(text, sizeof(text));
	if (out < 0)
		out = open(getenv("TRUTH_OUT"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	while (n < c->count && strcmp(c->texts[n], text))
		n++;
	if (n == CHAINS_MAX || out < 0) {
		fprintf(stderr, "truth: cannot write down what it is\n");
		exit(2);
	}
	if (n == c->count) {
		c->texts[c->count++] = strdup(text);
		if (*kind == 'l')
			dprintf(out, "launch truth_%d %s\n", n, text);
		else
			dprintf(out, "spin %s\n", text);
	}
	pthread_mutex_unlock(&lock);
	return n;
}

void truth_here(void)
{
	number_of(&spins, "spin");
}

void truth_calls(const char *name)
{
	truth_enter(name);
	truth_here();
	truth_leave();
}

KNOWN static uint64_t spin(uint64_t rounds)
{
	volatile uint64_t x = 1;

	for (uint64_t i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

KNOWN void truth_spin(void)
{
	truth_enter("truth_spin");
	truth_enter("spin");
	number_of(&spins, "spin");
	spin(SPINS);
	truth_leave();
	truth_leave();
}

KNOWN void truth_point(void)
{
	truth_enter("truth_point");
	truth_launch();
	truth_spin();
	truth_leave();
}

#ifdef TRUTH_NO_CUDA

void truth_begin(void)
{
}

void truth_launch(void)
{
}

#else

#include "driver.h"

static struct driver cuda;
static CUcontext context;
static CUfunction functions[CHAINS_MAX];
static CUdeviceptr memory;

#define CHECK(call) driver_check(&cuda, (call), #call, __FILE__, __LINE__)

static char *kernels_text(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	fputs(".version 7.0\n.target sm_70\n.address_size 64\n", f);
	for (int i = 0; i < CHAINS_MAX; i++)
		fprintf(f, ".visible .entry truth_%d(.param .u64 a) { ret; }\n", i);
	fclose(f);
	return text;
}

void truth_begin(void)
{
	char *text = kernels_text(), name[32];
	CUmodule module;
	CUdevice device;

	if (!driver_open(&cuda, "truth"))
		exit(2);
	CHECK(cuda.cuInit(0));
	CHECK(cuda.cuDeviceGet(&device, 0));
	CHECK(cuda.cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuda.cuCtxSetCurrent(context));
	CHECK(cuda.cuModuleLoadData(&module, text));
	for (int i = 0; i < CHAINS_MAX; i++) {
		snprintf(name, sizeof(name), "truth_%d", i);
		CHECK(cuda.cuModuleGetFunction(&functions[i], module, name));
	}
	CHECK(cuda.cuMemAlloc_v2(&memory, 1 << 16));
	free(text);
}

KNOWN void truth_launch(void)
{
	void *parameters[] = {&memory};
	int n;

	truth_enter("truth_launch!");
	n = number_of(&launches, "launch");
	CHECK(cuda.cuCtxSetCurrent(context));
	for (int i = 0; i < ROUNDS; i++)
		CHECK(cuda.cuLaunchKernel(
			functions[n], 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuda.cuCtxSynchronize());
	truth_leave();
}

#endif
