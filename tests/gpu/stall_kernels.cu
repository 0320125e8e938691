// SPDX-License-Identifier: MIT
/*
 * Kernels that each stall for one known reason.
 *
 * Every kernel repeats one pattern until a given number of SM cycles has passed, on all multiprocessors (but for
 * one kernel), and keeps its result alive through `sink`. The table `stall_cases` names, for each, the stall
 * reason that instruction sampling should report most; the line of the pattern is marked STALL, outside of
 * kernels with the names of those that come there.
 *
 *	stall_kernels [--list] [--ms N] [--launches N] [NAME...]
 *
 * prints NAME, the expected reason, the number of multiprocessors it runs on and their clock meanwhile, in kHz, of
 * each case. Each of its launches, one if not given, lasts that long.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

#define MAX_BLOCK_THREADS 1024

/* 256 MiB of links: four times the level 2 cache of an H200. */
static const size_t chase_links = (size_t)64 << 20;

struct stall_args {
	const unsigned *chase; /* chase_links entries, one cycle through all */
	unsigned *sink;
	long long cycles;
};

/* The inner loops are long against one clock64(), which is checked once a round. */
#define UNTIL_DEADLINE(args) for (long long begin_ = clock64(); clock64() - begin_ < (args).cycles;)

__device__ static unsigned thread_id(void)
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/* Each load needs the one before it, and every one misses the caches. */
__global__ void stall_long_scoreboard(stall_args args)
{
	unsigned at = thread_id() * 2654435761u % chase_links;

	UNTIL_DEADLINE(args)
	{
		for (int i = 0; i < 64; i++)
			at = args.chase[at]; /* STALL */
	}
	args.sink[thread_id()] = at;
}

/* All 32 lanes read the same bank, and each read needs the one before it. */
__global__ void stall_short_scoreboard(stall_args args)
{
	__shared__ unsigned links[32 * 32];
	unsigned at = threadIdx.x % 32 * 32;

	for (unsigned i = threadIdx.x; i < 32 * 32; i += blockDim.x)
		links[i] = (i + 32) % (32 * 32);
	__syncthreads();
	UNTIL_DEADLINE(args)
	{
		for (int i = 0; i < 256; i++)
			at = links[at]; /* STALL */
	}
	args.sink[thread_id()] = at;
}

/* Special functions from many warps fill the queue of the shared memory and special function pipes. */
__global__ void stall_mio_throttle(stall_args args)
{
	float x[8];

	for (int i = 0; i < 8; i++)
		x[i] = (float)(threadIdx.x + i) * 1e-3f;
	UNTIL_DEADLINE(args)
	{
		for (int round = 0; round < 64; round++)
#pragma unroll
			for (int i = 0; i < 8; i++)
				asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i])); /* STALL */
	}
	args.sink[thread_id()] = (unsigned)(x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7]);
}

/* One warp of each block works; the others wait for it. */
__global__ void stall_barrier(stall_args args)
{
	float x = threadIdx.x;
	/* One deadline for the whole block: a warp must not leave before the others. */
	__shared__ int go_on;
	long long begin = clock64();

	do {
		if (threadIdx.x < 32)
			for (int i = 0; i < 2000; i++)
				x = x * 0.999f + 1.0f;
		__syncthreads(); /* STALL */
		if (threadIdx.x == 0)
			go_on = clock64() - begin < args.cycles;
		__syncthreads(); /* STALL */
	} while (go_on);
	args.sink[thread_id()] = (unsigned)x;
}

__device__ static __forceinline__ void multiply_matrices(float sum[4], unsigned a)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
		     "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
		     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
		     : "r"(a));
}

/* Matrix products of four warps a scheduler, each independent of the one before: the tensor pipe is busy for many cycles
 * with each. */
__global__ void stall_math_pipe_throttle(stall_args args)
{
	float sum[8][4] = {};
	unsigned a = thread_id();

	UNTIL_DEADLINE(args)
	{
		for (int round = 0; round < 64; round++)
#pragma unroll
			for (int i = 0; i < 8; i++)
				multiply_matrices(sum[i], a); /* STALL */
	}
	for (int i = 0; i < 8; i++)
		sum[0][0] += sum[i][0] + sum[i][1] + sum[i][2] + sum[i][3];
	args.sink[thread_id()] = (unsigned)sum[0][0];
}

#define REPEAT_8(text) text text text text text text text text

/* Straight code of half a megabyte does not fit the instruction caches of a multiprocessor. */
__global__ void stall_no_instruction(stall_args args)
{
	float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;

	UNTIL_DEADLINE(args)
	{
		REPEAT_8(REPEAT_8(REPEAT_8(REPEAT_8( /* STALL */
			asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(a));
			asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(b));
			asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(c));
			asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(d));
			asm volatile("add.f32 %0, %0, %0;" : "+f"(a));
			asm volatile("add.f32 %0, %0, %0;" : "+f"(b));
			asm volatile("add.f32 %0, %0, %0;" : "+f"(c));
			asm volatile("add.f32 %0, %0, %0;" : "+f"(d));
		))))
	}
	args.sink[thread_id()] = (unsigned)(a + b + c + d);
}

/* Hardly more than jumps: a call and a return each time. */
__device__ static __noinline__ unsigned hop(unsigned x)
{
	return x ^ 1; /* STALL stall_branch_resolve */
}

__global__ void stall_branch_resolve(stall_args args)
{
	unsigned x = thread_id();

	UNTIL_DEADLINE(args)
	{
#pragma unroll
		for (int i = 0; i < 64; i++)
			x = hop(x); /* STALL */
	}
	args.sink[thread_id()] = x;
}

/* A fence after every store. */
__global__ void stall_membar(stall_args args)
{
	volatile unsigned *own = args.sink + thread_id();

	UNTIL_DEADLINE(args)
	{
		for (unsigned i = 0; i < 16; i++) {
			*own = i;
			__threadfence_system(); /* STALL */
		}
	}
}

/* Threads that sleep. */
__global__ void stall_sleeping(stall_args args)
{
	UNTIL_DEADLINE(args)
	{
		__nanosleep(10000); /* STALL */
	}
	args.sink[thread_id()] = 1;
}

/* One warp on each scheduler, each operation needing the one before it: a fixed wait. */
__device__ static __forceinline__ void wait_for_each(stall_args args)
{
	float x = threadIdx.x;

	UNTIL_DEADLINE(args)
	{
#pragma unroll 64
		for (int i = 0; i < 1024; i++)
			x = x * 0.999f + 1.0f; /* STALL stall_wait stall_wait_on_a_few */
	}
	args.sink[thread_id()] = (unsigned)x;
}

__global__ void stall_wait(stall_args args)
{
	wait_for_each(args);
}

/* The same on some multiprocessors, with the others idle. */
__global__ void stall_wait_on_a_few(stall_args args)
{
	wait_for_each(args);
}

/* More warps are ready than a scheduler can issue from. */
__global__ void stall_not_selected(stall_args args)
{
	float x[8];

	for (int i = 0; i < 8; i++)
		x[i] = threadIdx.x + i;
	UNTIL_DEADLINE(args)
	{
#pragma unroll 16
		for (int round = 0; round < 2048; round++)
#pragma unroll
			for (int i = 0; i < 8; i++)
				x[i] = x[i] * 0.999f + 1.0f; /* STALL */
	}
	args.sink[thread_id()] = (unsigned)(x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7]);
}

struct stall_case {
	const char *name;
	void (*kernel)(stall_args args);
	const char *reason; /* as in smsp__pcsamp_warps_issue_stalled_REASON */
	unsigned blocks_per_sm;
	unsigned block_threads;
	unsigned one_of_sms; /* only one of so many multiprocessors gets a block; 0: all do */
};

static const struct stall_case stall_cases[] = {
	{"stall_long_scoreboard", stall_long_scoreboard, "long_scoreboard", 1, 128},
	{"stall_short_scoreboard", stall_short_scoreboard, "short_scoreboard", 1, 128},
	{"stall_mio_throttle", stall_mio_throttle, "mio_throttle", 2, 1024},
	{"stall_barrier", stall_barrier, "barrier", 1, 1024},
	{"stall_math_pipe_throttle", stall_math_pipe_throttle, "math_pipe_throttle", 1, 512},
	{"stall_no_instruction", stall_no_instruction, "no_instructions", 1, 128},
	{"stall_branch_resolve", stall_branch_resolve, "branch_resolving", 1, 128},
	{"stall_membar", stall_membar, "membar", 1, 128},
	{"stall_sleeping", stall_sleeping, "sleeping", 1, 128},
	{"stall_wait", stall_wait, "wait", 1, 128},
	{"stall_wait_on_a_few", stall_wait_on_a_few, "wait", 1, 128, 6},
	{"stall_not_selected", stall_not_selected, "not_selected", 2, 1024},
};

static void check(cudaError_t err, const char *what)
{
	if (err == cudaSuccess)
		return;
	fprintf(stderr, "stall_kernels: %s: %s\n", what, cudaGetErrorString(err));
	exit(1);
}

/* One cycle through all links: an odd stride over a power of two, far apart. */
__global__ void chase_fill(unsigned *links, unsigned count)
{
	for (unsigned i = thread_id(); i < count; i += gridDim.x * blockDim.x)
		links[i] = (i + 40503u * 257u) & (count - 1);
}

static int stall_sm_count(void)
{
	int sm_count = 0;

	check(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, 0),
	      "count multiprocessors");
	return sm_count;
}

static int stall_clock_khz(void)
{
	int clock_khz = 0;

	check(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0), "read the clock rate");
	return clock_khz;
}

static void stall_args_init(struct stall_args *args, double ms)
{
	size_t threads = (size_t)stall_sm_count() * 2 * MAX_BLOCK_THREADS;
	unsigned *chase = NULL;

	check(cudaMalloc((void **)&chase, chase_links * sizeof(*chase)), "allocate the links");
	check(cudaMalloc((void **)&args->sink, threads * 8 * sizeof(*args->sink)),
	      "allocate the sink");
	chase_fill<<<1024, 256>>>(chase, (unsigned)chase_links);
	check(cudaDeviceSynchronize(), "fill the links");
	args->chase = chase;
	args->cycles = (long long)(ms * stall_clock_khz());
}

static int stall_case_sms(const struct stall_case *c)
{
	return stall_sm_count() / (c->one_of_sms ? c->one_of_sms : 1);
}

/* Runs one case and returns how long it took, in milliseconds. */
static float stall_case_run(const struct stall_case *c, const struct stall_args *args)
{
	cudaEvent_t begin, end;
	float ms = 0;

	check(cudaEventCreate(&begin), "create an event");
	check(cudaEventCreate(&end), "create an event");
	check(cudaEventRecord(begin), "record an event");
	c->kernel<<<stall_case_sms(c) * c->blocks_per_sm, c->block_threads>>>(*args);
	check(cudaGetLastError(), c->name);
	check(cudaEventRecord(end), "record an event");
	check(cudaEventSynchronize(end), c->name);
	check(cudaEventElapsedTime(&ms, begin, end), "measure the kernel");
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	return ms;
}

static void stall_case_print(const struct stall_case *c, const struct stall_args *args, int launches)
{
	float ms = 0;

	for (int i = 0; i < launches; i++)
		ms += stall_case_run(c, args);
	printf("%s %s %d %.0f\n", c->name, c->reason, stall_case_sms(c),
	       args->cycles * (double)launches / ms);
}

static bool is_chosen(const char *name, int argc, char **argv)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--ms") == 0 || strcmp(argv[i], "--launches") == 0) {
			i++;
			continue;
		}
		any = true;
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return !any;
}

int main(int argc, char **argv)
{
	struct stall_args args;
	double ms = 50;
	int launches = 1;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0) {
			for (const struct stall_case &c : stall_cases)
				printf("%s %s\n", c.name, c.reason);
			return 0;
		}
		if (strcmp(argv[i], "--ms") == 0 && i + 1 < argc)
			ms = atof(argv[i + 1]);
		if (strcmp(argv[i], "--launches") == 0 && i + 1 < argc)
			launches = atoi(argv[i + 1]);
	}
	stall_args_init(&args, ms);
	for (const struct stall_case &c : stall_cases)
		if (is_chosen(c.name, argc, argv))
			stall_case_print(&c, &args, launches);
	return 0;
}
