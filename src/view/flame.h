/* SPDX-License-Identifier: MIT */
/*
 * The flame graph views: CPU samples under their stacks, GPU work under the stacks that asked for
 * it.
 *
 *	process - thread - code ... code - API call - device - stream - GPU kernel, copy or memset
 *
 * Process, thread, device and stream are there when asked for. Work whose stack is not known stands
 * under a note with the reason. Launches whose work never came are leaves without time.
 */
#pragma once

#include "profile/reader.h"
#include "view/fold/result.h"

int flame_build(struct profile_reader *r, const struct view_options *o, struct view_result *ret);
