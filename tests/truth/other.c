// SPDX-License-Identifier: MIT
/* A shared library between the functions of chains.c. */
#include "truth.h"

KNOWN int other_nothing(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KNOWN void other_call(void (*callback)(void))
{
	truth_enter("other_call!"); /* also the dynamic linker, at its first call of ours */
	callback();
	truth_leave();
}
