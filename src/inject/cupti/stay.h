/* SPDX-License-Identifier: MIT */
/*
 * CUPTI never forgets who gives it buffers. So before the library goes, CUPTI gets functions that
 * offer nothing, of the page that stays (guest/kept.h).
 */
#pragma once

/* CUPTI asks nobody for buffers from now on: 0, or -errno, and then it still asks us. */
int stay_behind(void);
