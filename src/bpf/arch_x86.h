/* SPDX-License-Identifier: MIT */
/* What the programs must know about x86-64 registers. */
#pragma once

#define USER_CS64 0x33 /* arch/x86/include/asm/segment.h: __USER_CS with RPL 3 */

/* arch/x86/include/asm/page_64_types.h: THREAD_SIZE, without KASAN; the entry registers are at its
 * end up to 6.8. */
#define KERNEL_STACK_BYTES 16384

/* The registers were those of a program, not of the kernel. */
static __always_inline bool arch_user_mode(const struct pt_regs *regs)
{
	return regs->cs & 3;
}

/* By member, as the verifier wants it of a context. */
static __always_inline void arch_copy_registers(struct pt_regs *to, const struct pt_regs *from)
{
	to->cs = from->cs;
	to->r15 = from->r15;
	to->r14 = from->r14;
	to->r13 = from->r13;
	to->r12 = from->r12;
	to->rbp = from->rbp;
	to->rbx = from->rbx;
	to->r11 = from->r11;
	to->r10 = from->r10;
	to->r9 = from->r9;
	to->r8 = from->r8;
	to->rax = from->rax;
	to->rcx = from->rcx;
	to->rdx = from->rdx;
	to->rsi = from->rsi;
	to->rdi = from->rdi;
	to->rip = from->rip;
	to->rsp = from->rsp;
}

/* A 64-bit program; the walker supports no other. */
static __always_inline bool arch_user_64bit(const struct pt_regs *regs)
{
	return regs->cs == USER_CS64;
}

static __always_inline uint64_t arch_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

/*
 * The registers with which a task entered the kernel, on kernels without a helper for that (before
 * 5.15): at the upper end of the task's stack. False when the words there do not look like
 * registers.
 */
static __always_inline const struct pt_regs *arch_entry_address(struct task_struct *task)
{
	return (const struct pt_regs *)((uint64_t)BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES) -
	       1;
}

static __always_inline bool arch_entry_registers(struct task_struct *task, struct pt_regs *ret)
{
	return !bpf_probe_read_kernel(ret, sizeof(*ret), arch_entry_address(task)) &&
	       arch_user_mode(ret);
}

/* The first argument of the system call that a program entered the kernel by, of numbered
 * registers. */
static __always_inline uint64_t arch_call_argument(const uint64_t *registers)
{
	return registers[5];
}

/* Where a task entered the kernel, as it is kept in its entry registers from `orig_rax` on. */
struct arch_entry {
	uint64_t call; /* number of the system call; -1: it was interrupted */
	uint64_t ip;
	uint64_t cs;
	uint64_t flags; /* unused */
	uint64_t sp;
};

static __always_inline bool arch_entry_64bit(const struct arch_entry *entry)
{
	return entry->cs == USER_CS64;
}

/* By probe, which costs as much as all else at a switch. */
static __always_inline bool arch_read_entry(const struct pt_regs *regs, struct arch_entry *ret)
{
	return !bpf_probe_read_kernel(ret, sizeof(*ret), &regs->orig_rax) && ret->cs & 3;
}

/* Of registers that the kernel gave the program as such. Since 6.9 (commit cd19bab825bd) `cs` has
 * 16 bits there. */
static __always_inline bool arch_copy_entry(const struct pt_regs *regs, struct arch_entry *ret)
{
	ret->call = regs->orig_rax;
	ret->ip = regs->rip;
	ret->cs = *(const volatile uint16_t *)&regs->cs;
	ret->sp = regs->rsp;
	return ret->cs & 3;
}

/* A walk from where the program was interrupted, or entered the kernel. */
static __always_inline void arch_begin_interrupted(struct walk *w, const struct pt_regs *regs)
{
	w->pc = regs->rip;
	w->sp = regs->rsp;
	w->fp = regs->rbp;
	w->lr = 0;
	w->exact = 1;
	w->outer = 0;
}

/* All of them, by DWARF's numbers (the x86-64 psABI, figure 3.36). */
static __always_inline void arch_number_registers(uint64_t *ret, const struct pt_regs *regs)
{
	ret[0] = regs->rax;
	ret[1] = regs->rdx;
	ret[2] = regs->rcx;
	ret[3] = regs->rbx;
	ret[4] = regs->rsi;
	ret[5] = regs->rdi;
	ret[6] = regs->rbp;
	ret[7] = regs->rsp;
	ret[8] = regs->r8;
	ret[9] = regs->r9;
	ret[10] = regs->r10;
	ret[11] = regs->r11;
	ret[12] = regs->r12;
	ret[13] = regs->r13;
	ret[14] = regs->r14;
	ret[15] = regs->r15;
}

/* The same for a walk that is not made here. */
static __always_inline void arch_begin_later(struct bpf_raw_stack *ret, const struct pt_regs *regs)
{
	ret->pc = regs->rip;
	ret->sp = regs->rsp;
	ret->fp = regs->rbp;
	ret->lr = 0;
	ret->exact = 1;
	arch_number_registers(ret->registers, regs);
}

/* A walk from the caller of a function whose first instruction has not run yet: the return address
 * is still on top of the stack. */
static __always_inline bool arch_begin_called(struct walk *w, const struct pt_regs *regs)
{
	w->pc = 0;
	w->sp = regs->rsp;
	w->fp = regs->rbp;
	w->lr = 0;
	w->exact = 0;
	w->outer = WALK_OUTER_OTHERS; /* the caller's other registers may be the callee's, */
	w->bx_slot = WALK_BX_LOST;    /* and are not kept */
	move_window(walker_of(w), w->sp);
	if (!walk_home_read(w, w->sp, &w->pc))
		return false;
	w->sp += 8;
	return true;
}

/* A walk from the caller of a function that has just returned to it. */
static __always_inline void arch_begin_returned(struct walk *w, const struct pt_regs *regs)
{
	w->pc = regs->rip;
	w->sp = regs->rsp;
	w->fp = regs->rbp;
	w->lr = 0;
	w->exact = 0;
	w->outer = WALK_OUTER_OTHERS;
	w->bx_slot = WALK_BX_LOST;
}
