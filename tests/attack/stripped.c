// SPDX-License-Identifier: MIT
/* Spins, without a symbol table. */
int main(void)
{
	for (volatile int i = 1; i; i = 1)
		;
	return 0;
}
