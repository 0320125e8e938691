/* SPDX-License-Identifier: MIT */
/*
 * What the events of a stretch of time (events.h) say of each thread's time, handed out as amounts
 * of keys. Who receives them adds them up, or keeps them.
 *
 *	thread's waits	      |---- lock ----|----- sleep -----|
 *	its GPU waits	                |------- sync -------|
 *	waited		      |= lock ==|                    |=|
 *	waited for the GPU	        |= A =|=== B ====|idle|
 */
#pragma once

#include "view/wall/events.h"

/* Adds up what is known of each thread in e->threads, and hands out what e->receiver gets, waits of
 * a thread and its GPU waits in no order. 0 or -errno with error_text. */
int wall_stretch_sum(struct wall_events *e);
