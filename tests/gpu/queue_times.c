// SPDX-License-Identifier: MIT
/*
 * When kernels were put into the GPU's queue, by CUPTI's own account: a library for
 * CUDA_INJECTION64_PATH that asks for its latency timestamps, which xpuprof does without, as they
 * cost each launch. launchlate.py compares them with what a program inside the kernel saw.
 *
 * Prints at the end, on stderr, a line for each kernel: name, nanoseconds from the queue to its
 * start. It links nothing of CUDA.
 */
#include <cupti.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 20 };

static __typeof__(cuptiActivityGetNextRecord) *get_next_record;
static __typeof__(cuptiActivityFlushAll) *flush_all;

static void request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void complete(CUcontext ctx, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	CUpti_Activity *record = NULL;

	while (valid && !get_next_record(buffer, valid, &record)) {
		const CUpti_ActivityKernel10 *kernel = (const void *)record;

		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && kernel->queued)
			fprintf(stderr, "queued %s %" PRIu64 "\n", kernel->name,
				kernel->start - kernel->queued);
	}
	free(buffer);
}

static void finish(void)
{
	flush_all(1);
}

int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);
	__typeof__(cuptiActivityRegisterCallbacks) *register_callbacks;
	__typeof__(cuptiActivityEnable) *enable;
	int (*latency_timestamps)(uint8_t on);

	if (!cupti) {
		fprintf(stderr, "queue_times: no CUPTI (its folder belongs in LD_LIBRARY_PATH)\n");
		return 1;
	}
	*(void **)&get_next_record = dlsym(cupti, "cuptiActivityGetNextRecord");
	*(void **)&flush_all = dlsym(cupti, "cuptiActivityFlushAll");
	*(void **)&register_callbacks = dlsym(cupti, "cuptiActivityRegisterCallbacks");
	*(void **)&enable = dlsym(cupti, "cuptiActivityEnable");
	*(void **)&latency_timestamps = dlsym(cupti, "cuptiActivityEnableLatencyTimestamps");
	if (!get_next_record || !flush_all || !register_callbacks || !enable ||
		!latency_timestamps || register_callbacks(request, complete) ||
		latency_timestamps(1) || enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		fprintf(stderr, "queue_times: CUPTI refuses\n");
	else
		atexit(finish);
	return 1;
}
