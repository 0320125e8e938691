/* SPDX-License-Identifier: MIT */
/*
 * The simulated devices: their time, what runs on them, and objects of programs. What the variables
 * of the environment say is in README.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code.h"
#include "levelzero.h"

#define SIM_DEVICES_MAX 8
#define SIM_DRIVERS_MAX 2

struct device_object {
	uint32_t index, part, part_count; /* part: of a device, counted from 1 */
	struct device_object *parts;
};

extern struct device_object sim_drivers[SIM_DRIVERS_MAX];
extern struct device_object sim_devices[SIM_DEVICES_MAX];

/* From zeInit on. */
void sim_begin(void);
uint32_t sim_number(const char *variable, uint32_t otherwise, uint32_t most);
bool sim_lies(const char *how);
/* The loader's handles of kernels are its own. */
bool sim_wraps(void);
uint64_t sim_clock_ns(void);
uint64_t sim_hz(void);
/* Cycles that never wrap; and as they are read. */
uint64_t sim_cycles(void);
uint64_t sim_timer(const struct device_object *d);
uint64_t sim_stamp(uint64_t cycles);

/* What runs one after the other: an immediate list, or a queue. */
struct line {
	const struct device_object *device;
	uint64_t busy_until;
};

enum command_kind { SIM_WORK, SIM_SIGNAL, SIM_RESET };

struct command {
	enum command_kind kind;
	uint64_t cycles;
	const struct sim_code *code; /* what runs; NULL: a copy, as a rule */
	struct event_object *event;  /* may be NULL */
};

struct list_object {
	void *context;
	struct line line;
	bool immediate;
	uint32_t count, room;
	struct command *commands;
};

struct queue_object {
	struct line line;
};

struct fence_object {
	bool is_signalled;
	uint64_t at;
	struct queue_object *queue;
};

/* Signalled or not, and what is to become of it, in the order of time. */
struct event_object {
	bool has_times, is_signalled;
	uint64_t start, end, shift;
	uint32_t count, room;
	struct change {
		bool signals;
		uint64_t start, end; /* cycles of all devices */
		uint64_t shift;	     /* of the device's timer against them */
	} * changes;
};

struct image_object {
	uint64_t bytes;
};

int32_t sim_append(struct list_object *l, const struct command *c);
int32_t sim_execute(struct line *on, uint32_t count, void **lists);
void sim_signal(struct line *on, struct event_object *e);
void sim_wait(uint64_t cycles);
int32_t sim_status(struct event_object *e);
int32_t sim_wait_for_event(struct event_object *e, uint64_t timeout);
int32_t sim_reset(struct event_object *e);
int32_t sim_times(struct event_object *e, struct levelzero_timestamps *ret);

/* Memory of devices, as programs get it: `kind` is LEVELZERO_MEMORY_*. */
int32_t sim_allocate(uint32_t kind, size_t size, void **ret);
int32_t sim_free(void *at);
uint32_t sim_memory_kind(const void *at);
