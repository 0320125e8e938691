/* SPDX-License-Identifier: MIT */
/* A mapping of a file, as perf or /proc/PID/maps describe it. */
#pragma once

#include <stdint.h>

#include "profile/writer.h"

struct mapped_file {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t device; /* as makedev(); it and inode are 0 where a build id was given instead */
	uint64_t inode;
	uint8_t build_id_size;
	uint8_t build_id[BUILD_ID_MAX];
};
