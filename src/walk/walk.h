/* SPDX-License-Identifier: MIT */
/*
 * The stack walker: from registers, stack memory and unwind tables to the frames of a thread.
 *
 * One text, three homes: the BPF programs, the recorder (stacks that were kept until their tables
 * were ready, and the tests beside libdw), and the injected library. It needs no libc, allocates
 * nothing, follows no pointer itself, and ends: every step goes up the stack. A home defines these
 * before it includes this file:
 *
 *	static bool walk_home_mapping(struct walk *w, uint64_t address, struct walk_mapping *ret);
 *		The mapping of the process that has the address; false: there is none.
 *	static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count);
 *		1 to 4 words of the tables, not across a multiple of 16; false: there are none at `at`.
 *	static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret);
 *		One word of the program's memory; false: cannot be read.
 *	WALK_INLINE: how its functions are declared ("static inline", or always inlined).
 *	WALK_HOME_REGISTERS, if it has them:
 *	static bool walk_home_register(struct walk *w, uint32_t number, uint64_t *ret);
 *		A register of the innermost frame, by its DWARF number.
 *	WALK_HOME_CODE, if it can read code, and callers may be guessed (walk_guess):
 *	static bool walk_home_code(struct walk *w, uint64_t address, uint64_t *ret);
 *		8 bytes of code; false: cannot be read.
 *	WALK_APART, if it is another: how a function is declared that is given numbers only.
 */
#pragma once

#include "walk/frame.h"

#define WALK_SIGNAL_FRAMES_MAX 4

struct walk {
	uint64_t pc;
	uint64_t sp;
	uint64_t fp;
	uint64_t lr; /* link register, where the machine has one */
	/* where on the stack the innermost evaluation loop not yet met keeps its entry frame; 0:
	 * none is left, or not known */
	uint64_t entry;
	struct walk_range loops[WALK_LOOP_RANGES];
	/* where rbx, as this frame had it, is saved; 0: it is still in the register */
	uint64_t bx_slot;
	uint32_t exact; /* 1: pc was interrupted there; 0: it is a return address */
	uint32_t end;	/* enum walk_end, once a step has failed */
	uint32_t signal_frames;
	uint32_t outer;		     /* how many frames have been left; see walk_register */
	uint64_t callee_sp;	     /* sp of the frame that was left last */
	uint32_t guessed;	     /* 1: pc was (walk_guess) */
	uint32_t guess_left;	     /* words of the stack that may still be looked at for that */
	uint64_t guess_at;	     /* the next of them; 0: none was yet */
	struct walk_mapping mapping; /* of the latest address; end 0: none */
	struct walk_table_header table; /* of that mapping */
};

static bool walk_home_mapping(struct walk *w, uint64_t address, struct walk_mapping *ret);
static bool walk_home_words(struct walk *w, uint32_t at, uint32_t *ret, uint32_t count);
static bool walk_home_read(struct walk *w, uint64_t address, uint64_t *ret);
#ifdef WALK_HOME_REGISTERS
static bool walk_home_register(struct walk *w, uint32_t number, uint64_t *ret);
#endif
#ifdef WALK_HOME_CODE
static bool walk_home_code(struct walk *w, uint64_t address, uint64_t *ret);
#endif

/* Where the kernel puts registers in a signal frame, from the stack pointer in the trampoline
 * on. */
#if defined(__x86_64__) || defined(__TARGET_ARCH_x86)
#define WALK_SIGNAL_FP                                                                             \
	120 /* ucontext: 40 bytes of header, then gregs in the order of sys/ucontext.h */
#define WALK_SIGNAL_BX 128
#define WALK_SIGNAL_SP 160
#define WALK_SIGNAL_PC 168
#define WALK_SIGNAL_CS 184  /* and other segments */
#define WALK_USER_CS   0x33 /* of 64-bit programs, asm/segment.h */
#else
#define WALK_SIGNAL_FP 544 /* siginfo of 128 bytes, then ucontext with x0 at 184 (asm/ucontext.h) */
#define WALK_SIGNAL_SP 560
#define WALK_SIGNAL_PC 568
#define WALK_SIGNAL_BX 0 /* there is none, */
#define WALK_SIGNAL_CS 0 /* nor this */
#define WALK_USER_CS   0
#endif

#define WALK_BX_LOST	       1 /* instead of its slot */
#define WALK_OUTER_OTHERS      2 /* the registers that the walk began with are of another frame */
#define WALK_SCRATCH_FRAME_MAX 65536

WALK_INLINE bool walk_fail(struct walk *w, uint32_t end)
{
	w->end = end;
	return false;
}

/* Puts the header of the table of w's mapping into w. */
WALK_INLINE bool walk_find_table(struct walk *w)
{
	return walk_home_words(w, w->mapping.table, (uint32_t *)&w->table, 4) &&
	       walk_home_words(w, w->mapping.table + 4, (uint32_t *)&w->table + 4, 4) &&
	       walk_home_words(w, w->mapping.table + 8, (uint32_t *)&w->table + 8, 1) &&
	       w->table.magic == WALK_TABLE_MAGIC;
}

/* Puts the mapping of `address`, and the header of its table, into w. */
WALK_INLINE bool walk_find_mapping(struct walk *w, uint64_t address)
{
	if (address - w->mapping.start < w->mapping.end - w->mapping.start)
		return true;
	if (walk_home_mapping(w, address, &w->mapping) &&
		(w->mapping.kind != WALK_MAPPING_TABLE || walk_find_table(w)))
		return true;
	w->mapping.start = w->mapping.end = 0;
	return false;
}

/* The row that holds at `vaddr`: its rule's number, or -1. */
WALK_INLINE int64_t walk_find_row(struct walk *w, uint64_t vaddr)
{
	uint64_t page = (vaddr >> WALK_PAGE_SHIFT) - w->table.first_page;
	uint32_t offset = vaddr & (WALK_PAGE_BYTES - 1), low, high, row;
	uint32_t base = w->mapping.table;

	if (page >= w->table.page_count ||
		!walk_home_words(w, base + w->table.pages_at + page, &low, 1) ||
		!walk_home_words(w, base + w->table.pages_at + page + 1, &high, 1))
		return -1;
	for (int i = 0; i <= WALK_PAGE_SHIFT && low < high; i++) {
		uint32_t middle = low + (high - low) / 2;

		if (!walk_home_words(w, base + w->table.rows_at + middle, &row, 1))
			return -1;
		if ((row & (WALK_PAGE_BYTES - 1)) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || !walk_home_words(w, base + w->table.rows_at + low - 1, &row, 1))
		return -1;
	return row >> WALK_PAGE_SHIFT;
}

/* Where the rule for the code at `address` is: a word address; 0: it is WALK_RULE_FRAME_POINTER. */
WALK_INLINE bool walk_locate_rule(struct walk *w, uint64_t address, uint32_t *ret_at)
{
	int64_t number;

	if (!walk_find_mapping(w, address))
		return walk_fail(w, WALK_NO_MAPPING);
	if (w->mapping.kind == WALK_MAPPING_PENDING)
		return walk_fail(w, WALK_PENDING);
	*ret_at = 0;
	if (w->mapping.kind == WALK_MAPPING_FRAME_POINTERS)
		return true;
	number = walk_find_row(w, address - w->mapping.bias);
	if (number < 0 || number >= w->table.rule_count)
		return walk_fail(w, WALK_NO_RULE);
	*ret_at = w->mapping.table + w->table.rules_at + 4 * (uint32_t)number;
	return true;
}

/* The rule for the code at `address`. */
WALK_INLINE bool walk_find_rule(struct walk *w, uint64_t address, struct walk_rule *ret)
{
	uint32_t at;

	if (!walk_locate_rule(w, address, &at))
		return false;
	if (!at)
		*ret = WALK_RULE_FRAME_POINTER;
	else if (!walk_home_words(w, at, (uint32_t *)ret, 4))
		return walk_fail(w, WALK_NO_RULE);
	return true;
}

/* From a signal frame to the interrupted one. Its stack may be another, so only their number bounds
 * these. */
WALK_INLINE bool walk_signal_step(struct walk *w)
{
	uint64_t sp = w->sp, cs = WALK_USER_CS;

	if (w->signal_frames++ >= WALK_SIGNAL_FRAMES_MAX)
		return walk_fail(w, WALK_ASTRAY);
	/* While the kernel leaves a handler, the trampoline can be seen with the stack pointer of
	 * what was interrupted. */
	if (WALK_SIGNAL_CS && !walk_home_read(w, sp + WALK_SIGNAL_CS, &cs))
		return walk_fail(w, WALK_FAULT);
	if ((uint16_t)cs != WALK_USER_CS)
		return walk_fail(w, WALK_UNKNOWN);
	if (!walk_home_read(w, sp + WALK_SIGNAL_FP, &w->fp) ||
		!walk_home_read(w, sp + WALK_SIGNAL_PC, &w->pc) ||
		!walk_home_read(w, sp + WALK_SIGNAL_SP, &w->sp))
		return walk_fail(w, WALK_FAULT);
	w->bx_slot = WALK_SIGNAL_BX ? sp + WALK_SIGNAL_BX : WALK_BX_LOST;
	w->exact = 1;
	w->guessed = 0;
	w->outer = WALK_OUTER_OTHERS;
	return w->pc ? true : walk_fail(w, WALK_ZERO);
}

/*
 * A register as the present frame had it. Compilers do not count on a scratch register during a
 * call, but assembly does, of functions of its own (OpenSSL's AES calls one while rax is the frame
 * pointer): the innermost caller's are those of its callee. A frame that makes no sense with that
 * ends the walk.
 */
WALK_INLINE bool walk_register(struct walk *w, uint32_t number, uint64_t *ret)
{
	bool bx = number == WALK_BX;

	if (bx && w->bx_slot)
		return w->bx_slot != WALK_BX_LOST && walk_home_read(w, w->bx_slot, ret);
#ifdef WALK_HOME_REGISTERS
	return (bx || w->outer <= 1) && walk_home_register(w, number, ret);
#else
	return false;
#endif
}

WALK_INLINE bool walk_cfa(struct walk *w, const struct walk_rule *rule, uint64_t *ret)
{
	uint64_t cfa = rule->cfa == WALK_CFA_FP || rule->cfa == WALK_CFA_FP_DEREF ? w->fp : w->sp;

	switch (rule->cfa) {
	case WALK_CFA_SP:
	case WALK_CFA_FP:
		cfa += (int64_t)rule->cfa_offset;
		break;
	case WALK_CFA_SP_DEREF:
	case WALK_CFA_FP_DEREF:
		if (!walk_home_read(w, cfa + (int64_t)rule->cfa_offset, &cfa))
			return walk_fail(w, WALK_FAULT);
		cfa += (int64_t)rule->cfa_add;
		break;
	case WALK_CFA_REGISTER:
		if (!walk_register(w, rule->cfa_register, &cfa))
			return walk_fail(w, WALK_UNSUPPORTED);
		cfa += (int64_t)rule->cfa_offset;
		if (w->outer && cfa - w->sp > WALK_SCRATCH_FRAME_MAX)
			return walk_fail(w, WALK_UNSUPPORTED);
		break;
	case WALK_CFA_PLT:
		cfa += 8 + ((uint64_t)((w->pc & 15) >= (uint64_t)rule->cfa_offset) << 3);
		break;
	case WALK_CFA_NONE:
		return walk_fail(w, WALK_NO_RULE);
	default:
		return walk_fail(w, WALK_UNSUPPORTED);
	}
	*ret = cfa;
	return true;
}

/* Whether the frame that reaches from w->sp up to `cfa` is of the evaluation loop. */
WALK_INLINE bool walk_is_loop(const struct walk *w, uint64_t cfa)
{
	if (w->entry)
		return w->entry >= w->sp && w->entry < cfa;
	for (int i = 0; i < WALK_LOOP_RANGES; i++)
		if (w->pc - w->loops[i].start < w->loops[i].end - w->loops[i].start)
			return true;
	return false;
}

/* The caller's registers from this frame's. */
WALK_INLINE bool walk_to_caller(struct walk *w, const struct walk_rule *rule, uint64_t cfa)
{
	uint64_t ra = w->lr, fp = w->fp;

	/* A function may have nothing on the stack while its return address is in a register. */
	if (cfa <= w->sp && !(w->exact && rule->ra != WALK_SAVED_CFA && cfa == w->sp))
		return walk_fail(w, WALK_ASTRAY);
	if (rule->ra == WALK_SAVED_REGISTER && !walk_register(w, (uint32_t)rule->ra_offset, &ra))
		return walk_fail(w, WALK_UNSUPPORTED);
	if (rule->ra == WALK_SAVED_CFA && !walk_home_read(w, cfa + (int64_t)rule->ra_offset, &ra))
		return walk_fail(w, WALK_FAULT);
	if (rule->fp == WALK_SAVED_CFA && !walk_home_read(w, cfa + (int64_t)rule->fp_offset, &fp)) {
		/* A slot below sp was popped: compilers do not describe this for a function's last
		 * instructions. */
		if (cfa + (int64_t)rule->fp_offset >= w->sp)
			return walk_fail(w, WALK_FAULT);
		fp = w->fp;
	}
	if (rule->fp == WALK_SAVED_FP && !walk_home_read(w, w->fp + (int64_t)rule->fp_offset, &fp))
		return walk_fail(w, WALK_FAULT);
	w->callee_sp = w->sp;
	w->pc = ra;
	w->fp = rule->fp == WALK_SAVED_UNKNOWN ? 0 : fp;
	w->sp = cfa;
	if (rule->bx_offset != WALK_BX_SAME)
		w->bx_slot = rule->bx_offset ? cfa + (int64_t)rule->bx_offset : WALK_BX_LOST;
	w->exact = 0;
	w->guessed = 0;
	w->outer++;
	return ra ? true : walk_fail(w, WALK_ZERO);
}

/* Where the code that w is in is looked up: a call belongs to what is before its return address. */
WALK_INLINE uint64_t walk_address(const struct walk *w)
{
	return w->pc - 1 + w->exact;
}

/* The frame that w is in, as a word. */
WALK_INLINE uint64_t walk_frame(const struct walk *w)
{
	return (w->pc & WALK_FRAME_ADDRESS) | w->exact * WALK_FRAME_EXACT |
	       w->guessed * WALK_FRAME_GUESSED;
}

/* One step outwards by the rule for the code that w is in; otherwise as walk_step. */
WALK_INLINE bool walk_step_by(struct walk *w, const struct walk_rule *rule, uint64_t *ret_frame)
{
	uint64_t cfa;

	*ret_frame = walk_frame(w);
	if (rule->cfa == WALK_CFA_END)
		return walk_fail(w, WALK_COMPLETE);
	if (rule->cfa == WALK_CFA_SIGNAL) {
		/* Nobody called the trampoline: its address is where it begins. */
		*ret_frame |= WALK_FRAME_EXACT;
		return walk_signal_step(w);
	}
	if (!walk_cfa(w, rule, &cfa))
		return false;
	if (walk_is_loop(w, cfa)) {
		*ret_frame |= WALK_FRAME_PYTHON;
		w->entry = 0;
	}
	return walk_to_caller(w, rule, cfa);
}

/*
 * One step outwards. *ret_frame is the frame that is left, as a word; it is valid also when there
 * is no step (false), and w->end then says why. When it has WALK_FRAME_PYTHON, w->entry is used up:
 * the home puts the next one there.
 */
WALK_INLINE bool walk_step(struct walk *w, uint64_t *ret_frame)
{
	struct walk_rule rule;

	*ret_frame = walk_frame(w);
	return walk_find_rule(w, walk_address(w), &rule) && walk_step_by(w, &rule, ret_frame);
}

#ifdef WALK_HOME_CODE
/*
 * Guesses, for x86-64: code has no unwind information, or what it has leads nowhere (generated code
 * that uses the frame pointer for other things). Above its stack pointer is its return address; a
 * word is taken for that when it is in code, and a call ends there:
 *
 *	sp -> [ locals, saved .. | fp? | return address | .. | saved fp | return address | .. ]
 *	                                ^ slot          fp -> ^
 *
 * Where the frame pointer shows such a word, that one is taken: a function's frame begins there,
 * though others may be between. The innermost function may have nothing on the stack yet. Most
 * functions that save the frame pointer do so first, so below the return address is the caller's,
 * if it can be one.
 */
#define WALK_GUESS_WORDS     1024 /* looked at in a whole walk, */
#define WALK_GUESS_ABSENT    16	  /* (the address of what is not in memory costs as much) */
#define WALK_GUESS_GAP	     512  /* from a frame to its caller, */
#define WALK_GUESS_TURN	     8	  /* and in a turn */
#define WALK_GUESS_FRAME_MAX 65536
#define WALK_CODE_MIN	     4096
#define WALK_CODE_MAX	     (1ull << 47)

#ifndef WALK_APART
#define WALK_APART WALK_INLINE
#endif

#define WALK_CODE_BYTE(code, i)	 ((code) >> 8 * (i)&0xff)
#define WALK_CODE_BYTES(code, i) ((code) >> 8 * (i)&0xffff)

/*
 * Whether a call ends behind these 8 bytes of code, of which the last is the highest one: e8 and a
 * distance, or ff with the number 2 in bits 3 to 5 of the byte behind it, in all its forms: a
 * register, memory without a distance, with one of a byte or of four, each with a SIB byte or not.
 */
WALK_APART long walk_is_call(uint64_t code)
{
	uint64_t two = WALK_CODE_BYTES(code, 6), three = WALK_CODE_BYTES(code, 5),
		 six = WALK_CODE_BYTES(code, 2);

	return WALK_CODE_BYTE(code, 3) == 0xe8 || (two & 0xf8ff) == 0xd0ff ||
	       ((two & 0xf8ff) == 0x10ff && two != 0x14ff && two != 0x15ff) || three == 0x14ff ||
	       ((three & 0xf8ff) == 0x50ff && three != 0x54ff) ||
	       WALK_CODE_BYTES(code, 4) == 0x54ff || six == 0x15ff ||
	       ((six & 0xf8ff) == 0x90ff && six != 0x94ff) || WALK_CODE_BYTES(code, 1) == 0x94ff;
}

/* Whether no call ends at an address. */
WALK_INLINE bool walk_is_no_return(struct walk *w, uint64_t pc)
{
	uint64_t code;

	if (pc - WALK_CODE_MIN >= WALK_CODE_MAX)
		return true;
	if (walk_home_code(w, pc - 8, &code))
		return !walk_is_call(code);
	w->guess_left -= w->guess_left < WALK_GUESS_ABSENT ? w->guess_left : WALK_GUESS_ABSENT;
	return true;
}

/* Whether a walk that has ended may be helped by guesses. */
WALK_INLINE bool walk_may_guess(const struct walk *w)
{
	return w->guess_left && (w->end == WALK_NO_RULE || w->end == WALK_ASTRAY ||
					w->end == WALK_FAULT || w->end == WALK_NO_MAPPING);
}

/*
 * Begins to guess for such a walk: false when there is no use. *ret_drop: its latest frame is none,
 * as its address was no return address. Else code of mappings that are not known yet is waited for
 * instead, as is code whose table is not ready.
 */
WALK_INLINE bool walk_begin_guess(struct walk *w, bool *ret_drop)
{
	*ret_drop = w->end == WALK_NO_MAPPING && !w->exact && walk_is_no_return(w, w->pc);
	if (!*ret_drop)
		return w->end != WALK_NO_MAPPING;
	w->sp = w->callee_sp;
	w->fp = 0;
	return true;
}

/* Whether the word in a slot is a return address, but for whether it is mapped as code. */
WALK_INLINE bool walk_seems_return(struct walk *w, uint64_t slot, uint64_t *ret_pc)
{
	return walk_home_read(w, slot, ret_pc) && !walk_is_no_return(w, *ret_pc);
}

/* Whether a frame pointer can be that of a frame above `sp`. */
WALK_INLINE bool walk_is_frame(uint64_t fp, uint64_t sp)
{
	return fp - sp < WALK_GUESS_FRAME_MAX && !(fp & 7);
}

/* The first of the slots of this turn that seems to have a return address; 0: none does. */
WALK_INLINE uint64_t walk_guess_slot(struct walk *w, uint64_t *ret_pc)
{
	for (int i = 0; i < WALK_GUESS_TURN; i++) {
		uint64_t slot;

		WALK_FORGET();
		slot = w->guess_at;
		w->guess_at = slot + 8;
		if (walk_seems_return(w, slot, ret_pc))
			return slot;
	}
	return 0;
}

/*
 * One turn of looking for the caller of the frame that the walk has ended in: false when none was
 * found, and w->guess_left says whether to go on. True: the walk goes on there.
 */
WALK_INLINE bool walk_guess(struct walk *w)
{
	uint64_t slot, from, pc = 0, fp = w->fp;
	uint32_t looked;
	bool leaf = w->exact && walk_seems_return(w, w->sp, &pc);
	bool by_fp = !leaf && !w->guess_at && walk_is_frame(fp, w->sp) &&
		     walk_seems_return(w, fp + 8, &pc);

	if (!w->guess_at)
		w->guess_at = (w->sp + 7) & ~7ull;
	from = w->guess_at;
	slot = by_fp ? fp + 8 : walk_guess_slot(w, &pc);
	looked = by_fp ? 1 : (uint32_t)(w->guess_at - from) / 8;
	w->guess_left = w->guess_left > looked && w->guess_at - w->sp <= 8 * WALK_GUESS_GAP
				? w->guess_left - looked
				: 0;
	if (!slot || !walk_find_mapping(w, pc - 1))
		return false;
	if (walk_home_read(w, slot - 8, &fp) && (by_fp || walk_is_frame(fp, slot)))
		w->fp = fp;
	w->pc = pc;
	w->sp = slot + 8;
	w->bx_slot = WALK_BX_LOST;
	w->exact = 0;
	w->guessed = 1;
	w->guess_at = 0;
	w->outer = WALK_OUTER_OTHERS;
	w->end = WALK_DEPTH;
	return true;
}
#endif
