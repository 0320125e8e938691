// SPDX-License-Identifier: MIT
#include "told.h"

#include <stdio.h>
#include <stdlib.h>

atomic_uint told_batches, told_kernels;

static __attribute__((destructor)) void tell(void)
{
	const char *path = getenv("XPUPROF_SIM_XE_TOLD");
	FILE *f = path && told_batches ? fopen(path, "a") : NULL;

	if (!f)
		return;
	fprintf(f, "batches %u kernels %u\n", told_batches, told_kernels);
	fclose(f);
}
