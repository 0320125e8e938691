// SPDX-License-Identifier: MIT
#include "base/digits.h"

#include <stdio.h>

const char *digits_group(char text[DIGITS_SIZE], uint64_t number)
{
	char digits[DIGITS_SIZE];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number), at = 0;

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}
