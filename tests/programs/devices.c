// SPDX-License-Identifier: MIT
/*
 * Known launches on every device there is, in one process: ten more on each than on the one before.
 *
 *	devices
 *
 * Prints what it did (expect.h).
 */
#include "gpu.h"
#include "expect.h"

enum { BYTES = 1 << 16 };

STAGE void launch_on_device(gpu_kernel kernel, gpu_stream s, int count)
{
	for (int i = 0; i < count; i++)
		gpu_launch(kernel, s);
	expect((struct expected){"kernel", __func__, "count_a_us5", NULL, (unsigned long)count,
		(unsigned long)count, 0});
}

STAGE void set_on_device(void *memory)
{
	gpu_set(memory, 1, BYTES);
	expect((struct expected){"set", __func__, "", NULL, 1, 1, BYTES});
}

STAGE void use_device(int ordinal)
{
	gpu_stream s;
	void *memory;
	int count = 10 * (ordinal + 1);

	gpu_use_device(ordinal);
	s = gpu_stream_new(false);
	memory = gpu_alloc(BYTES);
	launch_on_device(gpu_get_kernel("count_a_us5"), NULL, count);
	launch_on_device(gpu_get_kernel("count_a_us5"), s, count);
	set_on_device(memory);
	gpu_wait();
	gpu_free(memory);
	gpu_stream_free(s);
	printf("{\"type\": \"device\", \"ordinal\": %d, \"works\": %d}\n", ordinal, 2 * count + 1);
}

int main(void)
{
	int count;

	if (!gpu_open("devices"))
		return 1;
	count = gpu_device_count();
	for (int ordinal = 0; ordinal < count; ordinal++)
		use_device(ordinal);
	printf("{\"type\": \"program\", \"form\": \"%s\", \"device\": \"%s\", \"devices\": %d}\n",
		gpu_form, gpu.name, count);
	expect_print();
	return 0;
}
