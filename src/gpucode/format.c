// SPDX-License-Identifier: MIT
#include "gpucode/format.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

const struct gpucode_format *gpucode_format_of(const char *module)
{
	size_t size = strcspn(module, ":");

	for (size_t i = 0; module[size] && gpucode_formats[i]; i++)
		if (strlen(gpucode_formats[i]->name) == size &&
			!memcmp(gpucode_formats[i]->name, module, size))
			return gpucode_formats[i];
	return NULL;
}

int gpucode_open(struct gpucode *ret, const char *module, const void *data, size_t size)
{
	struct gpucode g = {.format = gpucode_format_of(module)};
	int error;

	if (!g.format)
		return error_set(-ENOEXEC, "GPU code of an unknown format: '%s'", module);
	error = g.format->open(data, size, &g.image);
	if (!error)
		*ret = g;
	return error;
}

void gpucode_close(struct gpucode *g)
{
	if (g->image)
		g->format->close(g->image);
	*g = (struct gpucode){0};
}
