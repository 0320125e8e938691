// SPDX-License-Identifier: MIT
/*
 * CUPTI's own checksum covers a few dozen bytes only (gpucode/nvidia/cubin.h), so that variants of
 * a kernel that the program compiles while it runs have the same one. So CUPTI gets another.
 */
#include "inject/cupti/checksums.h"

#include "inject/cupti/cupti.h"
#include "inject/images.h"
#include "inject/library.h"

#define CUDA_API 0u /* its number on the wire (wire/wire.h) */

static bool ours; /* CUPTI uses our checksum */

static void compute(const void *image, size_t size, uint64_t *ret)
{
	*ret = images_checksum(image, size);
}

void checksums_init(void)
{
	ours = cupti.RegisterComputeCrcCallback && !cupti.RegisterComputeCrcCallback(compute);
}

static bool ask(const void *image, size_t size, uint64_t *ret)
{
	struct cupti_image_checksum params = {
		.size = CUPTI_SIZE_UP_TO(struct cupti_image_checksum, checksum),
		.image_size = size,
		.image = image,
	};
	int result;

	if (!cupti.GetCubinCrc)
		return false;
	pthread_mutex_lock(&library.no_fork);
	result = cupti.GetCubinCrc(&params);
	pthread_mutex_unlock(&library.no_fork);
	*ret = params.checksum;
	return !result;
}

static bool find(const void *image, size_t size, uint64_t *ret)
{
	if (!ours)
		return ask(image, size, ret);
	*ret = images_checksum(image, size);
	return true;
}

void checksums_module_loaded(const struct cupti_module_data *module)
{
	images_keep(CUDA_API, module->image, module->image_size, 0, find);
}
