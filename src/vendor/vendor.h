/* SPDX-License-Identifier: MIT */
/*
 * What a GPU vendor's names mean. All other code asks here ("is this a call of a GPU API?") and has
 * no vendor's names itself.
 *
 * A vendor is one folder with a table in each file, and one row in vendors.c. The tables are
 * constant: any thread. A name that no vendor has is an ordinary function, file or variable.
 *
 * Nothing here opens a library or talks to a driver: backends do that (src/gpu/), and the injected
 * library.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vendor/counter_kinds.h"
#include "vendor/stall_reason.h"

/* An API whose functions begin alike, and go on with a capital letter. */
struct vendor_api {
	const char *prefix;   /* NULL ends the list; of two that fit the first counts */
	const char *name;     /* what timelines put before a call: "Runtime" */
	const char *category; /* of such a call in timelines: no blanks in it */
};

/* As enum profile_call_kind. */
enum vendor_call_kind {
	VENDOR_CALL_LAUNCH = 1,
	VENDOR_CALL_COPY,
	VENDOR_CALL_SET,
	VENDOR_CALL_GRAPH,
	VENDOR_CALL_SYNC,
};

/* A function that the driver's library exports and that asks for GPU work, or waits for it. */
struct vendor_call {
	const char *name; /* NULL ends the list */
	enum vendor_call_kind kind;
};

enum vendor_probe_kind {
	VENDOR_PROBE_KERNEL = 1, /* a kernel is launched */
	VENDOR_PROBE_IMAGE,	 /* a file with an image of GPU code was written */
};

/* A probe that the driver's library may have in its own code (USDT), and what its arguments are, by
 * their places. */
struct vendor_probe {
	const char *name; /* "provider:name"; NULL ends the list */
	enum vendor_probe_kind kind;
	uint8_t address, size; /* VENDOR_PROBE_KERNEL: of its code on the GPU */
	uint8_t text;	       /* the kernel's name, or the file's path */
};

/* How far something that is recorded has been tried. */
enum vendor_trial {
	VENDOR_READ = 1, /* written by headers and sources alone */
	VENDOR_REPLAYED, /* on recorded or made-up data */
	VENDOR_RUN,	 /* a real driver over a simulated device, or an implementation for CPUs */
	VENDOR_MEASURED, /* on a real GPU */
};

struct vendor_feature {
	const char *name; /* NULL ends the list */
	enum vendor_trial trial;
};

/* Lists of texts end with NULL. Any list may be NULL. */
struct vendor {
	const char *name;
	const struct vendor_api *apis;
	/* beginnings of the names of calls that launch kernels */
	const char *const *launching_calls;
	/* What the vendor's compiler puts between the program's code and the launching call:
	 * beginnings of functions. */
	const char *const *launch_stubs;
	/* Beginnings of the file names of libraries between a program and its GPU work. */
	const char *const *libraries;
	/* The beginning of the file name of the driver's library: every program that uses the
	 * vendor's GPUs maps it. */
	const char *driver_library;
	/* So too of the library by which programs that run already can be joined; of those that map
	 * one of `other_drivers` as well, if there are such. NULL: they cannot be. */
	const char *joined_by;
	/* Beginnings of the file names of other libraries by which a program is known to use its
	 * GPU; it has to be started by us to be recorded. */
	const char *const *other_drivers;
	/* The name of one whose drivers map those, too: beside it they show no use of this one. */
	const char *mapped_by;
	/* Why such a program may run without anything of us; NULL: there are no other drivers. */
	const char *unseen;
	/* the number of its API on the wire, and below 32 */
	uint8_t api;
	const struct vendor_call *driver_calls;
	/* of the other drivers, and what the names of modules of their images begin with */
	const struct vendor_probe *driver_probes;
	const char *code_format;
	/* So too of the tracer, the vendor's own library that reports GPU work inside a process. */
	const char *tracer_library;
	/* The environment variable that names a library to be loaded into such programs. */
	const char *injection_variable;
	const struct stall_names *stalls;
	/* in the order in which they are wanted, up to one without a key */
	const struct counter_kind *counters;
	/* what is recorded, the best tried first; docs/lab/validation.md says how */
	const struct vendor_feature *features;
};

/* vendors.c; the last is NULL. */
extern const struct vendor *const vendors[];

#define vendors_foreach(v) for (const struct vendor *const *v = vendors; *v; v++)

/* "read", "replayed", "run", "measured". */
const char *vendor_trial_name(enum vendor_trial trial);

/* The API that a function is a call of, by its name alone. NULL: none. */
const struct vendor_api *vendor_api_of(const char *name, size_t size);
/* Whether it is a call that launches kernels; these may have something behind their names. */
bool vendor_is_launching_call(const char *name);
/*
 * Whether a function, by its linker name, is what a vendor's compiler puts between the program's
 * own code and the call that launches a kernel: a stub of its own making,
 * "__device_stub__Z4gemmPf", a helper of these, or a template around a call.
 */
bool vendor_is_launch_stub(const char *linker_name);
/* Whether a path is that of a library between a program and its GPU work: a vendor's, or our
 * own. */
bool vendor_is_gpu_library(const char *path);
/* Whether a path is that of a vendor's library that is mapped by every program that uses its
 * GPUs. */
bool vendor_is_driver_library(const char *path);
/* The vendors whose `joined_by` it is, by the numbers of their APIs, as bits. */
uint32_t vendor_joins_of(const char *path);
/* By which API a program can be joined that has mapped libraries of these (vendor_joins_of) and
 * drivers of these (vendor_apis_of_driver): its number. -1: it cannot be. */
int vendor_to_join(uint32_t joins, uint32_t drivers);
/* Whether it is one, of whichever programs. */
bool vendor_is_any_driver(const char *path);
/* The vendors of which it is an other driver, by the numbers of their APIs, as bits. */
uint32_t vendor_apis_of_driver(const char *path);

/* The vendor of which it is an other driver that may have probes; NULL: none. */
const struct vendor *vendor_of_probed_driver(const char *path);

/* Of the APIs of the drivers that a program has mapped those that it uses, as far as that shows. */
uint32_t vendor_apis_used(uint32_t mapped);
/* What there is to observe of the driver's library with this path; NULL: it is none, or nothing. */
const struct vendor_call *vendor_driver_calls(const char *path);
/* Whether a path is that of a vendor's tracer. */
bool vendor_is_tracer(const char *path);
