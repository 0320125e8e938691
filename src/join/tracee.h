/* SPDX-License-Identifier: MIT */
/*
 * One thread of another process, stopped by ptrace, for as short as can be. If we are killed, the
 * kernel lets it go with the registers that it has then.
 *
 * Functions return 0 or -errno with error_text, unless noted otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define TRACEE_XSTATE_BYTES 16384

struct tracee {
	pid_t tid;
	struct user_regs_struct registers; /* as it was stopped */
	uint64_t mask;			   /* of signals */
	uint64_t shadow_stack;		   /* its pointer; 0: it has none */
	size_t xstate_size;
	uint8_t xstate[TRACEE_XSTATE_BYTES];
};

/*
 * Stops a thread, and reads its state. -EAGAIN: it is being stopped by a signal, and is left to
 * that. -ESRCH: it is gone. -EPERM: another process traces it, or we may not. -ETIMEDOUT: it does
 * not stop in time, and is let go when we end.
 */
int tracee_stop(struct tracee *t, pid_t tid);
/* Lets it go, as it is. No error: what is gone need not be let go. */
void tracee_go(const struct tracee *t);
/* Gives it other registers. */
int tracee_set_registers(const struct tracee *t, const struct user_regs_struct *registers);
int tracee_set_mask(const struct tracee *t, uint64_t mask);
int tracee_set_xstate(const struct tracee *t);
int tracee_set_shadow_stack(const struct tracee *t);
/* Its memory by words, also where it may not write itself; `size` is a multiple of 8. */
int tracee_write(const struct tracee *t, uint64_t address, const void *data, size_t size);
int tracee_read(const struct tracee *t, uint64_t address, void *ret, size_t size);
/* Whether it was interrupted in a section that the kernel begins anew (rseq(2)), so that it cannot
 * be sent elsewhere. True also when that cannot be known. */
bool tracee_is_restartable(const struct tracee *t);
