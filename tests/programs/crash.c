// SPDX-License-Identifier: MIT
/*
 * Ends in the middle of launching, in a way that is asked for.
 *
 *	crash segfault | kill | term | abort | _exit | exit [LAUNCHES]
 *
 * Says on stdout how many launches it made before (100).
 */
#include "gpu.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

STAGE void launch_before_the_end(gpu_kernel kernel, int count)
{
	for (int i = 0; i < count; i++)
		gpu_launch(kernel, NULL);
}

static void end(const char *how)
{
	volatile int *volatile nowhere = NULL;

	if (!strcmp(how, "segfault"))
		*nowhere = 1;
	else if (!strcmp(how, "kill"))
		raise(SIGKILL);
	else if (!strcmp(how, "term"))
		raise(SIGTERM);
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "_exit"))
		_exit(3);
	else if (!strcmp(how, "exit"))
		exit(3);
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 100;

	if (argc < 2 || !gpu_open("crash"))
		return 1;
	launch_before_the_end(gpu_get_kernel("count_a_us5"), count);
	printf("{\"type\": \"program\", \"launches\": %d}\n", count);
	fflush(stdout);
	end(argv[1]);
	return 2;
}
