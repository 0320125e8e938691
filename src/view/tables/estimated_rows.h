/* SPDX-License-Identifier: MIT */
/*
 * The rows of a summary where GPU work was recorded in bursts, or only some of it has times: what
 * is in the file becomes an estimate of what there was, with its range.
 */
#pragma once

#include "view/tables/gathering.h"

/* When all rows are there. */
void estimated_rows_put(struct gathering *g);
