// SPDX-License-Identifier: MIT
#include "view/fold/missing.h"

void missing_count_work(struct missing *m, const struct gather_key *key, uint64_t works)
{
	if (!key->stack && !key->node_stack)
		m->joins[key->reason] += works;
}

bool missing_count_pendings(
	struct missing *m, enum profile_pending_reason reason, uint64_t launches)
{
	if (reason == PENDING_CAPTURED || reason == PENDING_EMPTY)
		return false;
	m->pendings[reason < PENDING_REASONS ? reason : PENDING_UNFINISHED] += launches;
	return true;
}

int missing_remarks(const struct missing *m, const struct profile_reader *r, struct view_result *v)
{
	int error = 0;

	for (unsigned int i = 0; !error && i < PENDING_REASONS; i++)
		if (m->pendings[i])
			error = view_remark(v, "launches without work (%s): %llu",
				profile_pending_text(i), (unsigned long long)m->pendings[i]);
	for (unsigned int i = 0; !error && i < JOIN_REASONS; i++)
		if (m->joins[i])
			error = view_remark(v, "GPU work without a stack (%s): %llu",
				profile_join_text(i), (unsigned long long)m->joins[i]);
	for (unsigned int i = 1; !error && i < LOSS_KINDS; i++)
		if (profile_loss_count(r, i) && !profile_loss_is_reason(i))
			error = view_remark(v, "%llu %s",
				(unsigned long long)profile_loss_count(r, i),
				profile_loss_text(i, profile_loss_count(r, i)));
	return error;
}
