// SPDX-License-Identifier: MIT
/*
 * A process that works under a deep stack, each frame of which is full of addresses of data, or,
 * with ABSENT, of data that nobody has used, so that it is not in memory.
 * bench/guesses.sh builds it with and without what such a stack is walked by.
 *
 * usage: guesses FRAMES SECONDS
 */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#ifndef WORDS
#define WORDS 4
#endif

static volatile uint64_t sink;

static uint64_t work(int seconds)
{
	clock_t end = clock() + seconds * CLOCKS_PER_SEC;

	while (clock() < end)
		for (int i = 0; i < 1000000; i++)
			sink += (uint64_t)i;
	return 1;
}

__attribute__((noinline)) static uint64_t down(int frames, const char *data, int seconds)
{
	const char *volatile full[WORDS];
	uint64_t result;

	for (int i = 0; i < WORDS; i++)
		full[i] = data + 8 * i;
	result = frames > 1 ? down(frames - 1, data, seconds) : work(seconds);
	return result + (uintptr_t)full[frames % WORDS];
}

int main(int argc, char **argv)
{
	static char data[8 * WORDS + 8192];

#ifndef ABSENT
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = 1;
#endif
	return argc < 3 || !down(atoi(argv[1]), data + 4096, atoi(argv[2]));
}
