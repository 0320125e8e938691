/* SPDX-License-Identifier: MIT */
/* The stacks of a timeline: "stackFrames", which events refer to by the number of a node ("sf"). */
#pragma once

#include "export/output.h"
#include "view/tree/tree.h"

/* Ends the list of events, and writes every node of the tree: 0 or -errno with error_text. */
int chrome_stacks(const struct tree *t, struct output *o);
