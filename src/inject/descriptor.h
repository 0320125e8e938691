/* SPDX-License-Identifier: MIT */
/*
 * Descriptors of ours in somebody else's program: programs use low numbers, and some rely on
 * getting the lowest one, so ours move to higher ones.
 */
#pragma once

/* The same file under a high number, or under its old one where none is free. Closed on exec. */
int descriptor_move_high(int fd);
