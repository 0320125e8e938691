/* SPDX-License-Identifier: MIT */
/*
 * What monitors ask of the kernel that runs: where its events are, which modules, options and
 * functions it has, and whether we may use them.
 *
 * Everything is looked up below `root`, so that a folder of files can stand for the kernel. What is
 * read once and needed again is kept behind `kept`. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct monitor_kernel_kept;

struct monitor_kernel {
	char tracefs[256]; /* empty: there is none, or we may not; see `tracefs_reason` */
	char tracefs_reason[160];
	int tracefs_error; /* of tracefs_find */
	bool kprobes;	   /* functions can be probed */
	/* we may not load programs or open events: no CAP_SYS_ADMIN, no CAP_BPF with CAP_PERFMON */
	bool no_rights;
	/* "" or a folder that stands for "/": /sys/module, /proc/kallsyms, /boot/config-* there */
	const char *root;
	struct monitor_kernel_kept *kept; /* NULL: everything is read anew each time */
};

/* Looks around once; what is missing is in the struct. With the root "" it mounts tracefs where it
 * can. A folder that stands for "/" has to stay there, and nothing is mounted. */
void monitor_kernel_look(const char *root, struct monitor_kernel *ret);
void monitor_kernel_release(struct monitor_kernel *k);

/* Whether a kernel option ("CONFIG_KPROBES") is set: 1, 0, or -1 when this kernel does not show its
 * options. */
int monitor_kernel_option(const struct monitor_kernel *k, const char *option);

enum monitor_module_state {
	MODULE_UNKNOWN = 0, /* not loaded; which modules this kernel has cannot be read */
	MODULE_LOADED,	    /* or built in */
	MODULE_ON_DISK,	    /* not loaded, but there to be */
	MODULE_ABSENT,	    /* this kernel has no such module */
};

/* '-' and '_' in names are the same. */
enum monitor_module_state monitor_kernel_module(const struct monitor_kernel *k, const char *module);
bool monitor_kernel_has_module(const struct monitor_kernel *k, const char *module);

/* How many functions of that name there are: none, one that can be probed by its name, or several
 * that cannot. */
size_t monitor_kernel_functions(const struct monitor_kernel *k, const char *function);
