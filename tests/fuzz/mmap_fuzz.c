// SPDX-License-Identifier: MIT
/* Fuzz target: any bytes as records of the kernel's ring of mappings. Changes that come of them are
 * in order of time, and have paths that end. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "capture/perf_maps.h"
#include "fuzz.h"

#define RECORDS_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One record in memory of its own size, so that reading past its end is seen. */
static void decode(const uint8_t *record, size_t size, struct changes *changes, uint64_t *lost)
{
	uint8_t *exact = malloc(size);

	require(exact != NULL);
	memcpy(exact, record, size);
	require(!perf_maps_decode(exact, size, changes, lost));
	free(exact);
}

static void decode_all(struct bytes b, struct changes *changes, uint64_t *lost)
{
	struct perf_event_header header;

	for (int n = 0; n < RECORDS_MAX && b.size >= sizeof(header); n++) {
		size_t size;

		memcpy(&header, b.data, sizeof(header));
		size = header.size < sizeof(header) ? sizeof(header) : header.size;
		if (size > b.size)
			size = b.size;
		decode(b.data, size, changes, lost);
		b.data += size;
		b.size -= size;
	}
}

static void check(const struct change *c)
{
	require(c->kind == CHANGE_MAP || c->kind == CHANGE_IMAGE);
	require((c->kind == CHANGE_MAP) == (c->text != NULL));
	require(!c->text || strlen(c->text) < 65536);
	require(c->map.build_id_size <= BUILD_ID_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct changes changes = {0};
	struct change *c;
	uint64_t lost = 0, last_ns = 0;

	decode_all((struct bytes){data, size}, &changes, &lost);
	while ((c = changes_peek(&changes, UINT64_MAX))) {
		require(c->time_ns >= last_ns);
		last_ns = c->time_ns;
		check(c);
		changes_drop(&changes);
	}
	changes_release(&changes);
	return 0;
}
