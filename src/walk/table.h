/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables: what walkers need to know about code that keeps no frame pointer.
 *
 * A table says for every address of one ELF file how to get from a function's frame to its
 * caller's. It is made from .eh_frame, .debug_frame or .gopclntab (src/unwind/), is the same for
 * every process, and is an array of 32-bit words in the machine's byte order, so that a BPF
 * program, the recorder and the injected library read it alike:
 *
 *	word 0     struct walk_table_header
 *	pages_at   page_count + 1 words: the first row of each page of 4 KiB, from first_page on
 *	rows_at    row_count words, by address:
 *	             31                    12 11              0
 *	            +------------------------+-----------------+
 *	            |          rule          |  offset in page |
 *	            +------------------------+-----------------+
 *	           a row holds from its address up to the next row, also on later pages
 *	rules_at   rule_count times struct walk_rule, each distinct one once; at a multiple of 4 words
 *
 * Addresses are virtual addresses of the file (see elf/elf_file.h). What no row covers, or only one
 * whose rule is WALK_CFA_NONE, has no unwind information.
 *
 * Tables lie one after the other, each at a multiple of 16 words, in one space of words that is
 * made of chunks:
 *
 *	word address   31           20 19                  0
 *	              +---------------+---------------------+
 *	              |     chunk     |   word in the chunk |     a table may reach over several chunks
 *	              +---------------+---------------------+
 *
 * Word address 0 never begins a table. Tables are made by us from untrusted files: a walker bounds
 * every index, so that a wrong table gives a wrong or shorter stack and nothing worse.
 */
#pragma once

#include "base/bare/integers.h"

#define WALK_TABLE_MAGIC 0x32545758u /* "XWT2" in memory */
#define WALK_PAGE_SHIFT	 12
#define WALK_PAGE_BYTES	 (1u << WALK_PAGE_SHIFT)
#define WALK_RULES_MAX	 (1u << (32 - WALK_PAGE_SHIFT))
#define WALK_TABLE_ALIGN 16u /* words */
#define WALK_CHUNK_WORDS (1u << 20)
#define WALK_CHUNK_BYTES (WALK_CHUNK_WORDS * 4)
#define WALK_CHUNKS_MAX	 64u /* 256 MiB */

struct walk_table_header {
	uint32_t magic;
	uint32_t words; /* of the whole table, a multiple of WALK_TABLE_ALIGN */
	uint32_t first_page;
	uint32_t page_count;
	uint32_t pages_at; /* counted in words from the header, as all of these */
	uint32_t row_count;
	uint32_t rows_at;
	uint32_t rule_count;
	uint32_t rules_at;
	uint32_t reserved[7];
};

/* How the canonical frame address (CFA: the stack pointer as it was before the call) is found. */
enum walk_cfa {
	WALK_CFA_NONE = 0,    /* no unwind information here */
	WALK_CFA_END,	      /* the outermost function of a thread: there is no caller */
	WALK_CFA_SP,	      /* sp + cfa_offset */
	WALK_CFA_FP,	      /* fp + cfa_offset */
	WALK_CFA_SP_DEREF,    /* *(sp + cfa_offset) + cfa_add */
	WALK_CFA_FP_DEREF,    /* *(fp + cfa_offset) + cfa_add: a realigned stack */
	WALK_CFA_REGISTER,    /* register + cfa_offset: known in the innermost frame only */
	WALK_CFA_PLT,	      /* x86-64: sp + 8 + (((pc & 15) >= cfa_offset) << 3) */
	WALK_CFA_SIGNAL,      /* a signal frame: the registers are in the kernel's ucontext at sp */
	WALK_CFA_UNSUPPORTED, /* there is information, but of a kind that walkers do not follow */
};

/* Where the caller's value of a register is. */
enum walk_saved {
	WALK_SAVED_SAME = 0, /* unchanged */
	WALK_SAVED_CFA,	     /* *(cfa + offset) */
	WALK_SAVED_FP,	     /* *(fp + offset) */
	WALK_SAVED_UNKNOWN,  /* lost */
	/* in the register with the DWARF number `offset`: known in the innermost frame only */
	WALK_SAVED_REGISTER,
};

/*
 * rbx is followed for the sake of one function, in which the dynamic linker binds a call when it is
 * first made: it realigns its stack and keeps the CFA there. Only tables of files with such code
 * have rules for rbx.
 */
#define WALK_BX	     3 /* its DWARF number */
#define WALK_BX_SAME 1

/* 16 bytes, never across a multiple of 16 words. */
struct walk_rule {
	uint8_t cfa;	      /* enum walk_cfa */
	uint8_t fp;	      /* enum walk_saved: the frame pointer, rbp or x29 */
	uint8_t ra;	      /* enum walk_saved: the return address; SAME: in the link register */
	uint8_t cfa_register; /* DWARF number, for WALK_CFA_REGISTER */
	int32_t cfa_offset;
	int16_t fp_offset;
	int16_t cfa_add;   /* for the DEREF kinds */
	int16_t ra_offset; /* -8 on x86-64 */
	/* where rbx is saved, from the CFA; 0: lost or unknown; or WALK_BX_SAME */
	int16_t bx_offset;
};

/* Used where code has no table: generated code, and files without unwind information. */
#define WALK_RULE_FRAME_POINTER                                                                    \
	((struct walk_rule){.cfa = WALK_CFA_FP,                                                    \
		.fp = WALK_SAVED_CFA,                                                              \
		.ra = WALK_SAVED_CFA,                                                              \
		.cfa_offset = 16,                                                                  \
		.fp_offset = -16,                                                                  \
		.ra_offset = -8})

enum walk_mapping_kind {
	WALK_MAPPING_FRAME_POINTERS = 0, /* no table: generated code and the like */
	WALK_MAPPING_TABLE,
	WALK_MAPPING_PENDING, /* its table is being made: a walk stops here for now */
};

/* Executable memory of one process. Arrays of these are sorted by address and disjoint. */
struct walk_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t bias;	/* an address less this is the file's virtual address */
	uint32_t table; /* word address */
	uint32_t kind;	/* enum walk_mapping_kind */
};

/* The one that has the address, of so many; false: none has. */
static inline bool walk_search_mappings(const struct walk_mapping *mappings, uint32_t count,
	uint64_t address, struct walk_mapping *ret)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		*ret = mappings[middle];
		if (address < ret->start)
			high = middle;
		else if (address >= ret->end)
			low = middle + 1;
		else
			return true;
	}
	return false;
}
