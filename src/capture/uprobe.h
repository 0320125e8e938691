/* SPDX-License-Identifier: MIT */
/*
 * A BPF program on instructions of a file, in every process that maps it.
 *
 * Linux 6.6 has a kind of link made for this (BPF_TRACE_UPROBE_MULTI): several sites at once, and
 * detached in some 30 ms instead of 110 ms (measured on 6.18; the kernel waits for grace
 * periods). Older ones need a perf event for each site. A program must be loaded for the one or
 * the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;

#define UPROBE_SITES_MAX 4

struct uprobe {
	int multi_fd;				  /* -1: none */
	struct bpf_link *links[UPROBE_SITES_MAX]; /* of perf events */
};

#define UPROBE_INIT ((struct uprobe){.multi_fd = -1})

/* Prepares `program`, not yet loaded, for multi links. */
void uprobe_prepare_multi(struct bpf_program *program);
/* True when the kernel has multi links; `program` is a loaded one that is for them. */
bool uprobe_has_multi(const struct bpf_program *program);
/* Attaches the program to all `count` sites (offsets in the file at `path`), or on none: 0 or
 * -errno without error text. */
int uprobe_attach(struct uprobe *u, const struct bpf_program *program, const char *path,
	const uint64_t *offsets, size_t count);
/* Places in the code of one process. */
struct uprobe_places {
	const char *path; /* of the file that they are in */
	const uint64_t *offsets, *cookies;
	const uint64_t *counters; /* offsets of words to be counted up meanwhile, or 0; or NULL */
	size_t count;
	uint32_t pid;
	bool at_return; /* of the functions that begin there */
};

/* A multi link on all of them, as a descriptor, which detaches when it is closed; or -errno. */
int uprobe_attach_within(const struct bpf_program *program, const struct uprobe_places *places);
/* 0 or -errno; does nothing where none is attached. */
int uprobe_detach(struct uprobe *u);
