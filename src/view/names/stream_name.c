// SPDX-License-Identifier: MIT
#include "view/names/stream_name.h"

void stream_name(const struct profile_reader *r, const struct device_numbers *numbers, uint32_t id,
	struct buf *b)
{
	const struct profile_op *op = profile_op(r, id);
	const struct profile_process *p = op ? profile_process(r, op->process) : NULL;

	if (!op) {
		buf_puts(b, "stream not known");
		return;
	}
	if (profile_device(r, op->device))
		buf_printf(b, "GPU %u, ", device_number(numbers, r, op->device));
	buf_printf(b, "stream %u", op->stream);
	if (p)
		buf_printf(b, " of %s (%u)", profile_string(r, p->comm, NULL), p->pid);
}
