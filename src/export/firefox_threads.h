/* SPDX-License-Identifier: MIT */
/* A thread of a profile of Firefox Profiler: what it consists of, and how it is written. */
#pragma once

#include "base/vec.h"
#include "export/firefox_tables.h"
#include "view/names/device.h"

#define FIREFOX_NS_IN_MS 1000000

/* In the order in which they began. */
struct firefox_item {
	uint64_t start_ns, duration_ns;
	uint64_t launch_ns, bytes; /* of work */
	uint32_t node;
	uint32_t what; /* of work: op; of markers: string of the recording */
	uint32_t kind; /* enum profile_event_kind */
};

struct firefox_line {
	uint32_t thread;			   /* 0: not known, or that of a stream */
	uint32_t process, device, context, stream; /* of a stream */
	bool is_stream;
	struct vec(struct firefox_item) items;
};

struct firefox_threads {
	struct firefox_tables *tables;
	struct device_numbers devices;
	uint64_t start_ns; /* of all times */
};

/* "markerSchema":[...] */
void firefox_put_schemas(struct output *o);
void firefox_put_ms(struct output *o, uint64_t ns);
/* The thread as an object; `before` begins it, up to its name. 0 or -errno with error_text. */
int firefox_put_line(struct firefox_threads *f, const struct firefox_line *l, const char *before);
