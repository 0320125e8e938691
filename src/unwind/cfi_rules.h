/* SPDX-License-Identifier: MIT */
/*
 * One function's call frame information (DWARF 5, section 6.4) run row by row, and each row made a
 * rule of the walkers.
 */
#pragma once

#include "base/reader.h"
#include "unwind/table.h"

/* The DWARF numbers of the registers that a walk follows. */
struct cfi_machine {
	uint16_t elf_machine;
	uint8_t sp;
	uint8_t fp;
	uint8_t ra;
	uint8_t bx; /* a callee-saved one that code may keep the CFA in (walk/table.h); NO_BX: none
		     */
};

#define NO_BX UINT8_MAX

enum cfi_kind {
	CFI_UNSPECIFIED = 0,
	CFI_SAME,
	CFI_UNDEFINED,
	CFI_OFFSET,	/* saved at CFA + value */
	CFI_VAL_OFFSET, /* is CFA + value */
	CFI_REGISTER,	/* in the register with the number `value` */
	CFI_OTHER,	/* an expression for the value */
	CFI_EXPRESSION, /* saved where the expression says */
};

/* Where the caller's value of a register is (DWARF's "register rule"). */
struct register_rule {
	enum cfi_kind kind;
	int64_t value;
	const uint8_t *expression;
	uint64_t expression_size;
};

/* A row. The CFA is an expression, or register + offset. */
struct cfi_state {
	bool has_cfa;
	const uint8_t *cfa_expression;
	uint64_t cfa_expression_size;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct register_rule sp;
	struct register_rule fp;
	struct register_rule ra;
	struct register_rule bx;
};

/* What the functions of one CIE have in common. */
struct cfi_common {
	const struct cfi_machine *machine;
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_column;
	uint8_t encoding; /* of addresses */
	bool augmented;
	bool signal_frame;
	bool follows_bx;
	struct cfi_state initial;
};

/* Addresses in the instructions are read by the section they are in. */
typedef bool (*cfi_read_address)(
	const void *section, struct reader *r, uint8_t encoding, uint64_t *ret);

/* The instructions of one CIE (`rows` NULL: its last row becomes c->initial) or FDE. */
struct cfi_program {
	struct cfi_common *common;
	struct reader instructions;
	uint64_t start; /* of the function */
	struct table_builder *rows;
	const void *section;
	cfi_read_address read_address;
	uint64_t *unsupported; /* is counted up by rows of that kind */
};

/* False: the instructions are damaged. */
bool cfi_run(struct cfi_program *p);

/* The walkers' rule for a row. */
struct walk_rule cfi_rule(const struct cfi_common *c, const struct cfi_state *s);
