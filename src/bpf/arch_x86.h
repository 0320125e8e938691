/* SPDX-License-Identifier: MIT */
/* What the programs must know about x86-64 registers. */
#pragma once

#define USER_CS64 0x33 /* arch/x86/include/asm/segment.h: __USER_CS with RPL 3 */

/* The registers were those of a program, not of the kernel. */
static __always_inline bool arch_user_mode(const struct pt_regs *regs)
{
	return regs->cs & 3;
}

/* A 64-bit program, whose frames look as stack.h expects. */
static __always_inline bool arch_user_64bit(const struct pt_regs *regs)
{
	return regs->cs == USER_CS64;
}

/* On the first instruction of a function the return address is still on top of the stack, where the
 * window has been moved. */
static __always_inline uint64_t arch_return_address(const struct pt_regs *regs,
	const struct stack_walk *w)
{
	return *(const uint64_t *)w->window;
}
