// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as a program of classic BPF, and a call that it is asked about. It ends,
 * and answers with an action without data. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "join/filters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = {data, size};
	uint32_t call = take(&b, 0);
	uint64_t arguments[6];
	size_t count;
	struct sock_filter *program;
	uint32_t answer;

	for (size_t n = 0; n < 6; n++)
		arguments[n] = (uint64_t)take(&b, 0) << (8 * n);
	count = b.size / sizeof(*program);
	program = malloc(count ? count * sizeof(*program) : 1);
	if (!program)
		return 0;
	memcpy(program, b.data, count * sizeof(*program));
	answer = filters_run(program, count, call, arguments);
	require(!(answer & SECCOMP_RET_DATA));
	require(count || answer == SECCOMP_RET_KILL_PROCESS);
	require(answer == filters_run(program, count, call, arguments));
	free(program);
	return 0;
}
