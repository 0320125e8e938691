/* SPDX-License-Identifier: MIT */
/*
 * Probes that a program or library has in its own code (USDT, "user statically defined tracing"):
 * an instruction that does nothing, and a note of its name, and of where its arguments are then.
 * The layout of these notes is that of SystemTap's sys/sdt.h, version 3:
 *
 *	owner "stapsdt", type 3 | address of the instruction | address of .stapsdt.base when that was
 *	written | address of a counter, 0: none | provider NUL name NUL arguments NUL
 *
 * Arguments are "8@-40(%rbp) -4@$5 8@%rax": size, negative where signed, and an operand of the
 * assembler's. A program that has a counter works out arguments only while it is not 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

#define USDT_ARGUMENTS	   4	/* of a probe that are read */
#define USDT_NAME_MAX	   64	/* of "provider:name", with its NUL */
#define USDT_OPERAND_MAX   32	/* of the text of one that cannot be read, with its NUL */
#define USDT_SITES_MAX	   128	/* of all probes that are looked for, in a file */
#define USDT_NO_REGISTER   0xff /* in the place of base and index */
#define USDT_REGISTERS	   16	/* by DWARF's numbers */
#define USDT_NOTES_BYTES   ((size_t)4 << 20)
#define USDT_FIRST_UNKNOWN 1 /* of usdt_site.unknown */

enum usdt_operand_kind {
	USDT_CONSTANT = 1, /* `value` */
	USDT_REGISTER,	   /* `base`, without its lowest `shift` bits */
	USDT_MEMORY,	   /* at base + index * scale + value */
};

struct usdt_argument {
	uint8_t kind;
	uint8_t size; /* 1, 2, 4, 8 bytes */
	uint8_t is_signed;
	uint8_t shift;
	uint8_t base, index; /* registers */
	uint8_t scale;
	uint8_t unused;
	int64_t value;
};

/* A place where a probe is: the compiler may have copied its function. */
struct usdt_site {
	uint64_t offset;  /* of its instruction, in the file */
	uint64_t counter; /* of its counter; 0: it has none */
	uint32_t probe;	  /* index of the name that was looked for */
	uint32_t argument_count;
	/* 0: all arguments can be read that there are, up to USDT_ARGUMENTS; else the first that
	 * cannot, counted from USDT_FIRST_UNKNOWN, and its text */
	uint32_t unknown;
	uint32_t cannot; /* 1: its instruction is not to be probed, as whoever reads it says */
	char operand[USDT_OPERAND_MAX];
	struct usdt_argument arguments[USDT_ARGUMENTS];
};

/* The sites of the probes with these names ("provider:name", each with a NUL behind it): 0, -ENOENT
 * (the file has no notes of probes), -EFBIG (more than any real ones), -EINVAL for the names, or
 * another -errno. */
int usdt_find(struct elf_file *f, const char *names, size_t names_size,
	struct usdt_site ret[USDT_SITES_MAX], size_t *ret_count);
/* Whether a site that came from elsewhere can be used: every number is within its bounds. */
bool usdt_site_is_sound(const struct usdt_site *s);

/* An argument, of which `text` begins with size and operand, up to a blank or the end. False: it is
 * in no form that is known. For the machine that this is built for (usdt_operand_*.c). */
bool usdt_read_operand(const char *text, struct usdt_argument *ret);
