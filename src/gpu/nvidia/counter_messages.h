/* SPDX-License-Identifier: MIT */
/*
 * What the process that samples hardware counters sends to the recorder, over a SOCK_SEQPACKET
 * socket of their own: each message whole, in the machine's byte order. The sampler describes each
 * device that it samples, then each of its counters in order, then it sends COUNTER_STARTED, then
 * samples. To end it, the recorder shuts its side of the socket down. The sampler then sends what
 * is left and COUNTER_ENDED, and ends.
 *
 * NVIDIA's libraries run in the sampler's memory, so the recorder checks every message.
 */
#pragma once

#include <stdint.h>

#include "vendor/counter_kinds.h"

#define COUNTER_DEVICES	      64
#define COUNTER_MESSAGE_BYTES 32768

enum counter_message_kind {
	COUNTER_DEVICE = 1, /* struct counter_device */
	COUNTER_METRIC,	    /* struct counter_metric */
	COUNTER_REFUSED,    /* struct counter_refused */
	/* struct counter_head: from now on every device is sampled, or was refused */
	COUNTER_STARTED,
	COUNTER_SAMPLES, /* struct counter_samples, then `count` times: start_ns, end_ns, a double
			    each metric */
	COUNTER_LOST,	 /* struct counter_lost */
	COUNTER_ENDED,	 /* struct counter_head: nothing is left to send */
};

struct counter_head {
	uint32_t kind;
	uint32_t device; /* as the sampler counts them */
};

struct counter_device {
	struct counter_head head;
	uint8_t uuid[16];
};

struct counter_metric {
	struct counter_head head;
	uint32_t kind;	    /* row of nvidia_counters */
	uint32_t candidate; /* which of its names */
};

enum counter_refusal {
	COUNTERS_RIGHTS = 1,
	COUNTERS_DEVICE,
	COUNTERS_BUSY,
	COUNTERS_MEMORY,
	COUNTERS_NO_DRIVER,
	COUNTERS_NO_CUPTI,
	COUNTERS_NOT_TRUSTED, /* the only libraries could be changed by users with fewer rights */
	COUNTERS_OTHER,
	COUNTERS_REFUSALS
};

/* Of one device, or of all: COUNTER_DEVICES. */
struct counter_refused {
	struct counter_head head;
	uint32_t refusal; /* enum counter_refusal */
	int32_t result;	  /* CUPTI's; 0: none */
};

struct counter_samples {
	struct counter_head head;
	uint32_t count;
	uint32_t metrics;
};

struct counter_lost {
	struct counter_head head;
	uint64_t samples;
};
