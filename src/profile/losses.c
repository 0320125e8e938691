// SPDX-License-Identifier: MIT
/* Everything that is counted when it goes missing: one row each. */
#include "profile/model.h"

struct loss {
	const char *key;  /* for machines; never changes */
	const char *text; /* for people; follows a number */
};

static const struct loss losses[LOSS_KINDS] = {
	[LOSS_SAMPLES_RING_FULL] = {"samples_ring_full",
		"CPU samples lost: the kernel's ring was full"},
	[LOSS_STACKS_RING_FULL] = {"stacks_ring_full",
		"launch stacks lost: the kernel's ring was full"},
	[LOSS_STACKS_INCOMPLETE] = {"stacks_incomplete", "incomplete stacks (mostly of code without frame pointers)"},
	[LOSS_MAPS_LOST] = {"maps_lost", "mapping events dropped by the kernel"},
	[LOSS_GPU_RING_FULL] = {"gpu_ring_full", "GPU records lost: the shared ring was full"},
	[LOSS_GPU_DROPPED] = {"gpu_dropped", "GPU records dropped by CUPTI"},
	[LOSS_GPU_INVALID] = {"gpu_invalid",
		"GPU records without times (their work had not ended) or with impossible ones"},
	[LOSS_GPU_UNKNOWN] = {"gpu_unknown", "GPU records newer than this xpuprof understands"},
	[LOSS_GPU_TAKEN] = {"gpu_taken", "processes in which another profiler held CUPTI"},
	[LOSS_GPU_NO_CUPTI] = {"gpu_no_cupti", "processes in which no usable CUPTI was found"},
	[LOSS_GPU_NEVER_CONNECTED] = {"gpu_never_connected",
		"processes that mapped the CUDA driver and never connected"},
	[LOSS_GPU_ABANDONED] = {"gpu_abandoned", "GPU records whose writer died in the middle"},
	[LOSS_GPU_CORRUPT] = {"gpu_corrupt", "shared rings that were scribbled over and given up"},
	[LOSS_GPU_NODES_FORGOTTEN] = {"gpu_nodes_forgotten",
		"graph nodes, too many to remember where each was made"},
};

const char *profile_loss_key(unsigned int loss)
{
	return loss < LOSS_KINDS ? losses[loss].key : NULL;
}

const char *profile_loss_text(unsigned int loss)
{
	return loss < LOSS_KINDS ? losses[loss].text : NULL;
}
