/* SPDX-License-Identifier: MIT */
/*
 * dlsym, before the C library's: what dlsym_before returns is the answer; where that is nothing,
 * it leaves by a jump. The C library takes RTLD_NEXT relative to who calls it, which has to stay
 * who called us.
 */
	.section .note.GNU-stack, "", %progbits
	.text
	.globl dlsym
	.type dlsym, %function
	.hidden dlsym_before
	.hidden dlsym_next

#if defined(__x86_64__)
dlsym:
	.cfi_startproc
	push %rdi
	.cfi_adjust_cfa_offset 8
	push %rsi
	.cfi_adjust_cfa_offset 8
	sub $8, %rsp
	.cfi_adjust_cfa_offset 8
	call dlsym_before
	add $8, %rsp
	.cfi_adjust_cfa_offset -8
	pop %rsi
	.cfi_adjust_cfa_offset -8
	pop %rdi
	.cfi_adjust_cfa_offset -8
	test %rax, %rax
	jne 1f
	jmp *dlsym_next(%rip)
1:	ret
	.cfi_endproc
#elif defined(__aarch64__)
dlsym:
	.cfi_startproc
	stp x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_rel_offset x29, 0
	.cfi_rel_offset x30, 8
	stp x0, x1, [sp, #16]
	bl dlsym_before
	mov x9, x0
	ldp x0, x1, [sp, #16]
	ldp x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	cbnz x9, 1f
	adrp x9, dlsym_next
	ldr x9, [x9, :lo12:dlsym_next]
	br x9
1:	mov x0, x9
	ret
	.cfi_endproc
#else
#error "dlsym is not written for this machine"
#endif
	.size dlsym, . - dlsym
