/* SPDX-License-Identifier: MIT */
/*
 * The page that stays: kept.h. Position independent; its data is in the page behind it.
 *
 * A function in a slot may be on its way out of memory while we are about to call it. So a thread counts itself
 * before it looks: who takes the functions out of the slot waits until nobody is inside (hooks.c).
 */
#include "guest/kept.h"

#ifndef __x86_64__
#error "what stays needs code for this architecture"
#endif

#define SYS_nanosleep 35
#define FORK_NAPS     10000	/* a second, at least */
#define UNLOAD_NAPS   20000

#define DATA(offset) kept_begin + KEPT_PAGE + offset(%rip)

	.section .rodata.kept, "a"
	.p2align 6
	.globl kept_begin, kept_end, kept_requested, kept_completed
	.globl kept_before_fork, kept_after_fork, kept_in_child, kept_at_exit, kept_unload
	.hidden kept_begin, kept_end, kept_requested, kept_completed
	.hidden kept_before_fork, kept_after_fork, kept_in_child, kept_at_exit, kept_unload

kept_begin:

kept_requested:			/* (uint8_t **buffer, size_t *size, size_t *max_records) */
	endbr64
	xor %eax, %eax
	mov %rax, (%rdi)
	mov %rax, (%rsi)
	mov %rax, (%rdx)
	ret

kept_completed:
	endbr64
	ret

kept_before_fork:
	endbr64
	push %rbx
	mov $FORK_NAPS, %ebx
1:	lock incl DATA(KEPT_FORKING)
	cmpl $0, DATA(KEPT_UNLOADING)
	je 2f
	dec %ebx
	js 2f
	lock decl DATA(KEPT_FORKING)
	call sleep_briefly
	jmp 1b
2:	pop %rbx
	mov $KEPT_BEFORE_FORK, %eax
	jmp call_each

kept_after_fork:
	endbr64
	lock decl DATA(KEPT_FORKING)
	jns 1f
	lock incl DATA(KEPT_FORKING)	/* it began before we were there */
1:	mov $KEPT_AFTER_FORK, %eax
	jmp call_each

kept_in_child:			/* the parent's other threads are not here */
	endbr64
	movl $0, DATA(KEPT_FORKING)
	movl $0, DATA(KEPT_UNLOADING)
	mov $KEPT_IN_CHILD, %eax
	jmp call_each

kept_at_exit:
	endbr64
	mov $KEPT_AT_EXIT, %eax
	jmp call_each

kept_unload:			/* (void *handle, int (*dlclose)(void *)) */
	endbr64
	push %rbx
	push %rdi
	push %rsi
	mov $UNLOAD_NAPS, %ebx
	lock incl DATA(KEPT_UNLOADING)
1:	cmpl $0, DATA(KEPT_FORKING)
	je 2f
	dec %ebx
	js 2f
	call sleep_briefly
	jmp 1b
2:	pop %rsi
	pop %rdi
	call *%rsi
	lock decl DATA(KEPT_UNLOADING)
	pop %rbx
	ret

sleep_briefly:
	mov $SYS_nanosleep, %eax
	lea nap(%rip), %rdi
	xor %esi, %esi
	syscall
	ret

call_each:
	push %rbp
	mov %rsp, %rbp
	push %rbx
	push %r12
	mov %eax, %r12d
	lea DATA(KEPT_SLOTS_OFFSET), %rbx
1:	cmp $KEPT_IN_CHILD, %r12d
	jne 2f
	movl $0, KEPT_INSIDE(%rbx)
2:	lock incl KEPT_INSIDE(%rbx)
	mov (%rbx, %r12), %rax
	test %rax, %rax
	jz 3f
	call *%rax
3:	lock decl KEPT_INSIDE(%rbx)
	add $KEPT_SLOT_BYTES, %rbx
	lea DATA(KEPT_SLOTS_OFFSET + KEPT_SLOTS * KEPT_SLOT_BYTES), %rax
	cmp %rax, %rbx
	jb 1b
	pop %r12
	pop %rbx
	pop %rbp
	ret

	.p2align 3
nap:
	.quad 0, 100000

kept_end:

	.section .note.GNU-stack, "", @progbits
