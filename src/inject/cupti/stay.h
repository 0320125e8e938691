/* SPDX-License-Identifier: MIT */
/*
 * What stays of us in a program that goes on without the library: two functions that offer nothing.
 *
 * CUPTI never forgets who gives it buffers. So before the library goes, CUPTI gets functions that
 * are in a page of their own, which stays mapped: read-only and executable, of a file in memory.
 * The next library of ours that comes into the program finds that page again.
 */
#pragma once

/* CUPTI asks nobody for buffers from now on: 0, or -errno, and then it still asks us. */
int stay_behind(void);
