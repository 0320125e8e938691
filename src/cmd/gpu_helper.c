// SPDX-License-Identifier: MIT
#include "cmd/cmd.h"
#include "gpu/gpu.h"

int cmd_gpu_helper(int argc, char **argv)
{
	return gpu_helper(argc - 1, argv + 1) ? EXIT_USAGE : EXIT_OK;
}
