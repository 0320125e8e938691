/* SPDX-License-Identifier: MIT */
/* Integer types, also in programs for the kernel: these have none of the C library's headers, and
 * have included linux/bpf.h before. */
#pragma once

#ifdef __bpf__
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
#else
#include <stdbool.h>
#include <stdint.h>
#endif
