/* SPDX-License-Identifier: MIT */
/* Which BPF program the kernel refuses, and why: for the one line of error text when loading
 * fails. */
#pragma once

#include <stdbool.h>

struct bpf_object;
struct buf;

/*
 * Whether loading, tried `tries` times so far, is to be tried again, with the object opened anew.
 * The verifier gives up with -EAGAIN when a signal waits that is not blocked (do_check,
 * kernel/bpf/verifier.c), as those do that stop and continue a process or freeze its control group;
 * libbpf itself tries ten times.
 */
bool refusal_was_interruption(int error, int tries);

/*
 * Loads an open and configured object to find out why the kernel refuses it. Appends "'NAME':
 * REASON" to `ret`; nothing if something else than a program was refused (a map, say), or if the
 * object loads.
 */
void refusal_find(struct bpf_object *object, struct buf *ret);
/* Error text for "cannot WHAT": where rights are missing, which; what interrupts it; returns the
 * error. */
int refusal_explain(int error, const char *what);
