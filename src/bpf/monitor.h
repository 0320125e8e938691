/* SPDX-License-Identifier: MIT */
/*
 * Between the generic program of monitors (monitor.bpf.c) and its loader
 * (src/monitor/watch_load.c): the plan for an event, what the program keeps, and what it sends.
 * Included by both sides.
 *
 * The program is loaded once for each event, with a plan of its own in read-only data: the verifier
 * knows the plan's values, and what a plan does not ask for is not in the loaded code. Copies share
 * the maps.
 *
 * What happens at an event, in this order:
 *
 *	1. The fields are read, as the plan says where they are.
 *	2. Acts, in turn: an object (a job, a buffer, a display) is begun, marked, looked at or ended. Objects are
 *	   known by a kind and up to two words, and remember when they went through which stage, whose they are,
 *	   two labels and a value.
 *	3. Filters: by process, by label.
 *	4. Counts: a cell for each series, labels and process has a count, a sum and a histogram.
 *	5. A record to the reader, where lines are wanted, or a span where only busy time is.
 *
 * Each CPU counts in cells of its own (monitor_cell_key.cpu), so nothing in them needs to be
 * atomic: the kernel runs no second program of this kind on a CPU while one is running there
 * (trace_call_bpf, kernel/trace/bpf_trace.c). An event for which it was to run then is missed; the
 * kernel counts those from 6.7 on.
 */
#pragma once

#include "base/bare/integers.h"

#define MONITOR_FIELDS	     14
#define MONITOR_STRINGS	     3 /* of them, that are strings */
#define MONITOR_STRING_BYTES 64
#define MONITOR_LABELS	     2
#define MONITOR_LABEL_BYTES  32
#define MONITOR_ACTS	     5
#define MONITOR_COUNTS	     5
#define MONITOR_STAGES	     4
#define MONITOR_KEY_WORDS    2
#define MONITOR_COMM_BYTES   16
#define MONITOR_EVENTS	     64 /* of one monitor */
#define MONITOR_STACK_DEPTH  64

#define MONITOR_NONE 0xff /* no such field, act, ... */

/* ------------------------------------------------------------------ histograms */

/*
 * Eight buckets to a power of two: 0..7 have a bucket each, and a value from 8 on, with its highest
 * bit at position p, the bucket (p - 2) * 8 + the three bits below the highest. A value is at most
 * 1/16 off the middle of its bucket. From 2^42 on (73 minutes in nanoseconds) there is one bucket
 * for all.
 */
#define MONITOR_BUCKET_PARTS 8
#define MONITOR_BUCKETS	     ((42 - 2) * MONITOR_BUCKET_PARTS + 1)

/* ------------------------------------------------------------------ plan */

enum monitor_read {
	READ_NOTHING = 0, /* the kernel's event has no such field: 0, or an empty string */
	READ_UNSIGNED,	  /* `size` bytes of the record at `offset` */
	READ_SIGNED,
	READ_CHARS,    /* a string of at most `size` bytes in the record */
	READ_DATA_LOC, /* offset and length of a string in the record: u16 each ("__data_loc") */
	READ_REL_LOC,  /* the same, counted from behind this field ("__rel_loc") */
	READ_POINTER,  /* a string at a kernel address that the record has */
	/* function entry: argument number `offset` from 0, its lowest `size` bytes */
	READ_ARGUMENT,
	READ_ARGUMENT_SIGNED,
	READ_RESULT, /* function return: its lowest `size` bytes */
	READ_RESULT_SIGNED,
	READ_THREAD, /* no field: the id of the thread that the event happens in */
};

/*
 * A number from 2^63 on is none, whether signed or not: an error's negative number, "all there is",
 * an address mistaken for a size. It keeps its value in records, is not multiplied by `shift`, and
 * is never added to a cell.
 */

struct monitor_field_plan {
	uint16_t offset;
	uint8_t size;	/* 1, 2, 4, 8; READ_CHARS: the array's */
	uint8_t read;	/* enum monitor_read */
	uint8_t shift;	/* a number is worth so many powers of two more: 12 for pages */
	uint8_t string; /* strings: where in monitor_record.string it goes; else MONITOR_NONE */
	/* from a pointer, to come from a member to what it is in; from any number, where a key
	 * needs it */
	int32_t subtract;
};

enum monitor_act_kind {
	ACT_NOTHING = 0,
	ACT_OPEN, /* the object begins (stage 0) and replaces one of the same key */
	/* so too, but one of the same key ends now, and its counts are made with its labels */
	ACT_REOPEN,
	ACT_MARK,  /* it came to a stage; nothing when there is no such object */
	ACT_LOOK,  /* it is only looked at */
	ACT_CLOSE, /* it came to a stage, and is gone */
	/* its value (a sequence number, as wide as its field) is `value` now, and its stage 0;
	 * opens it */
	ACT_ADVANCE,
};

/* Where a label comes from: a field of the event, or a label of the object an act found. */
enum monitor_label_from {
	LABEL_EMPTY = 0,
	LABEL_FIELD, /* `index`: field; strings as they are, numbers as below */
	LABEL_ACT,   /* `index`: act, `which`: label of its object; empty when it found none */
};

/*
 * A label is a string that ends with a NUL, or a number: its 8 bytes, and MONITOR_LABEL_NUMBER in
 * the last byte, which is 0 in strings. So the number 0 differs from no label, and code that
 * compares labels need not know their kind.
 */
#define MONITOR_LABEL_NUMBER 1

struct monitor_label_plan {
	uint8_t from;
	uint8_t index;
	uint8_t which;
	/* LABEL_ACT: the act whose object's label `which` is used where the first found none;
	 * MONITOR_NONE: no other */
	uint8_t other;
};

struct monitor_act_plan {
	uint8_t kind;			/* enum monitor_act_kind */
	uint8_t object;			/* kind of object, by the monitor's table */
	uint8_t stage;			/* ACT_MARK, ACT_CLOSE; 1 .. MONITOR_STAGES - 1 */
	uint8_t key[MONITOR_KEY_WORDS]; /* fields; strings by a hash; MONITOR_NONE: 0 */
	/* field kept with it (size of a buffer, sequence number); MONITOR_NONE: 0 */
	uint8_t value;
	uint8_t only_value; /* 1: an object whose value is not this is not found */
	/* 1: that there is no such object is not a loss (a job need not have waited) */
	uint8_t optional;
	uint8_t stacks; /* 1: keep the stacks that it was opened from */
	/* ACT_CLOSE, 1: the same key soon comes again, and its slot is kept: stage 0 is 0 then, and
	 * to acts it is not there */
	uint8_t recurs;
	struct monitor_label_plan label[MONITOR_LABELS]; /* ACT_OPEN, ACT_REOPEN, ACT_ADVANCE */
};

/* What is added to a cell. */
enum monitor_value {
	VALUE_NOTHING = 0, /* this count is not used */
	VALUE_ONE,	   /* only the count */
	VALUE_FIELD,	   /* `index`: field */
	VALUE_DURATION,	   /* of the object of act `index`, from stage `from` until now */
	VALUE_KEPT,	   /* the value kept with the object of act `index` */
	VALUE_MISSED,	   /* ACT_ADVANCE: sequence numbers skipped; not counted when none was */
	/* ACT_ADVANCE: time since the last number, divided by how far this one is from it */
	VALUE_PERIOD,
	/* ACT_ADVANCE: 1 where the number is not after the last (then MISSED and PERIOD are
	 * nothing) */
	VALUE_BACK,
	/* time since the one in field `index` (CLOCK_MONOTONIC, ns); nothing when it is 0 or to
	 * come */
	VALUE_AGE,
	/* from field `from` to field `index`, both included: 8 for 3 to 10, or, where the latter
	 * has a shift of 12, 8 * 4096 for pages 3 to 10 */
	VALUE_RANGE,
	/* `index`: field; nothing unless act `from` found an object with a number kept (not
	 * none) */
	VALUE_PAIRED,
};

struct monitor_count_plan {
	uint8_t value; /* enum monitor_value */
	uint8_t index;
	uint8_t from;
	uint8_t series;	    /* by the monitor's table */
	uint8_t histogram;  /* 1 */
	uint8_t by_process; /* 1 */
	uint8_t busy;	    /* 1: a span is sent when no record is */
	struct monitor_label_plan label[MONITOR_LABELS];
};

struct monitor_plan {
	uint8_t event; /* by the monitor's table */
	/* 1: a record of every event that passes; 2: of those that are long enough (above) */
	uint8_t records;
	/* whose object says whose event this is, where it found one; MONITOR_NONE: current's */
	uint8_t process_act;
	/* The string (monitor_record.string) that begins with whose event this is, "pid=1234,
	 * name=x": where it does not, nobody knows. MONITOR_NONE: none says so. */
	uint8_t process_text;
	uint8_t client;	     /* field with a client id; MONITOR_NONE: 0 */
	uint8_t above_count; /* records == 2: the count whose value has to be */
	/* the record's; the first is what a filter is for */
	struct monitor_label_plan label[MONITOR_LABELS];
	struct monitor_field_plan field[MONITOR_FIELDS];
	struct monitor_act_plan act[MONITOR_ACTS];
	struct monitor_count_plan count[MONITOR_COUNTS];
	uint32_t pid;			/* 0: all */
	uint64_t above;			/* at least this */
	char only[MONITOR_LABEL_BYTES]; /* label 0 of what passes; empty: all */
};

/* What of a plan is used, made by the loader; the rest is not looked at. */
struct monitor_plan_counts {
	uint8_t fields, acts, counts; /* rows up to the last that says something */
	uint8_t time;		      /* 1: the time is needed */
	uint8_t only; /* there is a filter by label: 1: the string in the plan; 2: or this number */
	uint8_t owners[MONITOR_ACTS]; /* 1: somebody will ask whose the object is */
	/* 1: the object is a thread's and has nothing but the time it began */
	uint8_t stopwatch[MONITOR_ACTS];
	uint32_t wakeup_bytes; /* the reader is woken when the ring holds this much */
	uint64_t only_number;
	/* fields, by bits: arrays of MONITOR_NAME_BYTES chars that can be loaded by instructions */
	uint32_t names;
};

/*
 * Fields are loaded from the record by one instruction each, which is compiled as a load of 8 bytes
 * at MONITOR_LOADS + 8 * the field's number; the loader puts the plan's offset and size there.
 * Names of tasks, the most frequent strings of a fixed size, are loaded so too, by four
 * instructions for each field, compiled as loads of 4 bytes from MONITOR_NAME_LOADS on. A record
 * has at most MONITOR_EVENT_BYTES (PERF_MAX_TRACE_SIZE).
 */
#define MONITOR_LOADS	    4096
#define MONITOR_NAME_LOADS  (MONITOR_LOADS + 8 * MONITOR_FIELDS)
#define MONITOR_NAME_BYTES  16
#define MONITOR_EVENT_BYTES 8192

/* With a filter by label, every label that comes is counted in this series, before the filter. */
#define MONITOR_SERIES_LABELS 0xffff

/* ------------------------------------------------------------------ what is kept */

struct monitor_object_key {
	uint64_t word[MONITOR_KEY_WORDS];
	uint64_t kind;
};

struct monitor_object {
	uint64_t stage_ns[MONITOR_STAGES]; /* 0: was not there */
	uint64_t value;
	uint64_t client; /* drm client id; 0: not known */
	uint64_t cgroup;
	uint32_t pid;
	uint32_t tid;
	int32_t kernel_stack; /* in the map of stacks; negative: none */
	int32_t user_stack;
	char comm[MONITOR_COMM_BYTES];
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
};

struct monitor_cell_key {
	uint16_t series;
	uint16_t cpu;
	uint32_t pid; /* 0: not by process */
	uint64_t client;
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
};

struct monitor_cell {
	uint64_t count;
	uint64_t sum;
	uint64_t min; /* meaningful when count > 0 and the series has values */
	uint64_t max;
	uint64_t cgroup; /* of the process, when first seen */
	char comm[MONITOR_COMM_BYTES];
	uint64_t buckets[MONITOR_BUCKETS];
};

/* A slot for a cell. Free slots are in a queue, and used ones are found by their keys. */
struct monitor_cell_slot {
	struct monitor_cell_key key; /* series MONITOR_SERIES_FREE: of nothing any more */
	struct monitor_cell cell;
};

#define MONITOR_SERIES_FREE 0xfffe

/*
 * Stopwatches: most of what begins and ends in one thread only has a time. Those are single words,
 * so that they need no lock, each with its thread in the upper bits: a thread's low bits say where,
 * the others are in the word. Times have MONITOR_STOPWATCH_BITS (78 hours). Where another thread's
 * runs already, the object is one like others.
 */
#define MONITOR_STOPWATCHES    65536
#define MONITOR_STOPWATCH_BITS 48

/* Of one event, a value per CPU. */
struct monitor_losses {
	uint64_t seen;	  /* no loss: how often the event came */
	uint64_t records; /* the ring was full */
	uint64_t objects; /* no room for one more object */
	uint64_t cells;	  /* no room for one more cell */
	/* MARK, CLOSE, not optional: there was no such object (it began before us) */
	uint64_t strangers;
	uint64_t unread; /* a field could not be read */
	/* an object without one of its stacks: its slot of the map had another */
	uint64_t stacks;
};

/* ------------------------------------------------------------------ what is sent */

enum monitor_message {
	MESSAGE_RECORD = 1,
	MESSAGE_SPAN,
};

#define MONITOR_NO_VALUE UINT64_MAX

struct monitor_record {
	uint32_t message;
	uint16_t event;
	uint16_t cpu;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* whose event it is: the object's process, that of the text (0: nobody knows), or the
	 * current one */
	uint32_t pid;
	uint32_t tid;
	uint64_t client;
	uint64_t cgroup;
	char comm[MONITOR_COMM_BYTES];
	uint64_t count[MONITOR_COUNTS]; /* what was added to each cell; MONITOR_NO_VALUE: nothing */
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
	uint64_t field[MONITOR_FIELDS]; /* signed ones extended; strings: 0 */
	char string[MONITOR_STRINGS][MONITOR_STRING_BYTES];
};

/* A stretch of time in which a ring was busy. */
struct monitor_span {
	uint32_t message;
	uint16_t event;
	uint16_t count; /* which of the event's */
	uint64_t end_ns;
	uint64_t duration_ns;
	uint64_t client;
	uint32_t pid;
	uint32_t reserved;
	char label[MONITOR_LABELS][MONITOR_LABEL_BYTES];
};
