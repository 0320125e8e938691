// SPDX-License-Identifier: MIT
/* Without libbpf. */
#include <errno.h>

#include "base/error.h"
#include "probe/kernel_programs.h"

int kernel_programs_open(struct kernel_programs **ret, struct plan *plan,
	const struct programs *programs, const struct user *user)
{
	*ret = NULL;
	vec_foreach (o, &plan->objects)
		if (o->object->cpu_program_count)
			return error_set(-EOPNOTSUPP,
				"'%s' has programs for the kernel, too, which this build cannot "
				"load: it was made without libbpf",
				o->name);
	return programs->attach.count
		       ? error_set(-ENOENT, "--attach: there are no programs for the kernel")
		       : 0;
}

void kernel_programs_close(struct kernel_programs *k)
{
}
