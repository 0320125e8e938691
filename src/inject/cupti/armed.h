/* SPDX-License-Identifier: MIT */
/*
 * A program is armed: instructions of all its functions can be sampled by a recorder that comes
 * later, with their names. That is asked for by $XPUPROF_ARMED, where the program is prepared.
 *
 * CUPTI (13.0 on an H200) has no names of functions that ran in a graph between the first
 * subscriber of the process and the first time that sampling was enabled; and a recorder that comes
 * later has to subscribe before it can enable sampling. So the library that sleeps subscribes
 * before anything runs. Where the first context is made, it enables sampling, which it never
 * starts, and leaves:
 *
 *	the program's thread                       the library's
 *	first call: subscribe; callbacks of
 *	all calls on                               ... wait
 *	first context: hold the others;
 *	claim its device; enable, configure;
 *	release                                    unsubscribe: it is armed; end
 *
 *	later, a recorder's library (sampling_late.c):
 *	                                           subscribe; callbacks of all calls on
 *	... wait where they begin a call           hold; disable, give the claim back; records on
 *	                                           release
 *
 * As long as a program is armed CUPTI refuses records of kernels (CUPTI_NOT_COMPATIBLE), to
 * everybody in the process. And sampling is switched off only while calls are held. So no recording
 * begins before that, whatever it records. Then the program stays unarmed: what CUPTI knows of
 * names it keeps.
 *
 * Without a subscriber sampling must not be enabled: 3 of 10 processes crashed. Where it is
 * switched off again at once, CUPTI has no names later, of any function. Where an armed context
 * ends, and nobody has subscribed, CUPTI goes on; what runs in a later context has no names. The
 * claim stays until a recorder comes, or the process ends.
 *
 * The library that sleeps and the recorder's are two copies, perhaps of different versions. What
 * they both have to know is in the page of the door (wire/door.h).
 */
#pragma once

#include <stdbool.h>

/* The library that is to sleep, in the program's first call. If anything fails the program is not
 * armed, and nothing else is different. */
void armed_begin(void);

/* A recorder's library. Before it subscribes: whoever waits for the first context gives way. */
void armed_give_way(void);
/* After that: whether the program is armed. Any thread of ours. */
bool armed_is(void);
/* While calls are held. True: it is no more. False: CUPTI refuses, and everything is as it was. */
bool armed_end(void);
