// SPDX-License-Identifier: MIT
/*
 * Writes a folded file for bench/svg.sh: distinct random stacks of equal depth, the same every
 * time.
 *
 *	folded_gen STACKS DEPTH NAMES > out.folded
 *
 * Every stack takes its frames at random from NAMES names of 36 bytes that look like C++, with a
 * GPU kernel at the leaf, so hardly any two stacks share more than the first frames: the worst case
 * for anything that lives on shared beginnings.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

int main(int argc, char **argv)
{
	unsigned long stacks, depth, names;

	if (argc != 4) {
		fprintf(stderr, "usage: folded_gen STACKS DEPTH NAMES\n");
		return 2;
	}
	stacks = strtoul(argv[1], NULL, 10);
	depth = strtoul(argv[2], NULL, 10);
	names = strtoul(argv[3], NULL, 10);
	for (unsigned long i = 0; i < stacks; i++) {
		for (unsigned long level = 0; level + 1 < depth; level++) {
			unsigned long width = level < 6 ? 1ul << level : names;

			printf("ns%02lu::module_%04lu::do_some_work(int);", level,
				(unsigned long)(random_u64() % (width < names ? width : names)));
		}
		printf("[GPU_Kernel]_Z19kernel_number_%05luPfS_i %lu\n",
			(unsigned long)(random_u64() % names),
			(unsigned long)(1 + random_u64() % 5000));
	}
	return 0;
}
