// SPDX-License-Identifier: MIT
/* Programs that do nothing: what being there costs. */
#include "ebpf/tools/common.h"

SEC("gpu/entry:*")
int enter(void *ctx)
{
	return 0;
}

SEC("gpu/exit:*")
int leave(void *ctx)
{
	return 0;
}
