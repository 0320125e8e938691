/* SPDX-License-Identifier: MIT */
/*
 * What a program did, for a test to compare with its profile: one JSON object a line on stdout.
 *
 *	{"type": "kernel", "function": F, "name": K, "launches": L, "works": W}
 *	{"type": "copy" or "set", "function": F, "name": kind, "launches": L, "works": W,
 *		"bytes": all of W}
 *	{"type": "graph", "function": F, "name": "", "launches": L, "works": W}
 *	{"type": "node", "function": F, "name": K or kind, "captured_by": C, "works": W}
 *	{"type": "failed", "function": F, "name": K, "launches": L, "works": 0}
 *	{"type": "captured", "function": F, "name": "", "launches": L, "works": 0}
 *	{"type": "device", "ordinal": N, "works": W}
 *
 * F is the function that called CUDA, L the calls it made, W the pieces of GPU work that came of
 * them. For graphs: "graph" is about the launches of graphs and all their work; a "node" line
 * splits that by what the node does and the function that made the node, and is not to be added to
 * it; "captured" is about calls of any kind that became nodes. A "device" line says how much of all
 * work was on one device.
 *
 * Functions and names are string constants; thread safe.
 */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct expected {
	const char *type, *function, *name, *captured_by;
	unsigned long launches, works, bytes;
};

static struct {
	pthread_mutex_t lock;
	struct expected all[128];
	int count;
} expectation = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool same_expected(const struct expected *a, const struct expected *b)
{
	return !strcmp(a->type, b->type) && !strcmp(a->function, b->function) &&
	       !strcmp(a->name, b->name) &&
	       !strcmp(a->captured_by ? a->captured_by : "", b->captured_by ? b->captured_by : "");
}

static void expect(struct expected e)
{
	int i;

	pthread_mutex_lock(&expectation.lock);
	for (i = 0; i < expectation.count && !same_expected(&expectation.all[i], &e); i++)
		;
	if (i == expectation.count) {
		expectation.all[i] =
			(struct expected){e.type, e.function, e.name, e.captured_by, 0, 0, 0};
		expectation.count++;
	}
	expectation.all[i].launches += e.launches;
	expectation.all[i].works += e.works;
	expectation.all[i].bytes += e.bytes;
	pthread_mutex_unlock(&expectation.lock);
}

static void expect_print(void)
{
	for (int i = 0; i < expectation.count; i++) {
		const struct expected *e = &expectation.all[i];

		printf("{\"type\": \"%s\", \"function\": \"%s\", \"name\": \"%s\"", e->type,
			e->function, e->name);
		if (e->captured_by)
			printf(", \"captured_by\": \"%s\"", e->captured_by);
		else
			printf(", \"launches\": %lu", e->launches);
		printf(", \"works\": %lu", e->works);
		if (e->bytes)
			printf(", \"bytes\": %lu", e->bytes);
		printf("}\n");
	}
}
