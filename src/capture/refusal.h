/* SPDX-License-Identifier: MIT */
/* Which BPF program the kernel does not take, and why: for the one line that is told when loading fails. */
#pragma once

struct bpf_object;
struct buf;

/*
 * Loads an object that is open and configured, to hear what the kernel says. Appends "'NAME': REASON" to `ret`;
 * nothing when it was no program that was refused (but a map, say), or the object loads.
 */
void refusal_find(struct bpf_object *object, struct buf *ret);
/* Error text for "cannot WHAT": where rights are missing, which; returns the error. */
int refusal_explain(int error, const char *what);
