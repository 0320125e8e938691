// SPDX-License-Identifier: MIT
/* A library that calls back: built twice, alike but for the name of its function. */
void PLUGIN_STEP(void (*call)(void *context), void *context);

void PLUGIN_STEP(void (*call)(void *context), void *context)
{
	call(context);
}
