#!/bin/sh
# SPDX-License-Identifier: MIT
# The unlikely part of a function is found in a stripped file: where the symbol table had it.
. "$(dirname "$0")/tap.sh"

cat > loop.c <<'END'
#include <stdlib.h>
volatile int input;
void *volatile kept;
__attribute__((noinline, cold)) void *rare(int n) { return malloc(n); }

#define CASE(n) case n: if (__builtin_expect(input == 1000 + n, 0)) { \
	kept = rare(n); input = n; for (int i = 0; i < n; i++) kept = rare(i); } total += n * input; break;

__attribute__((noinline)) int loop(int kind)
{
	int total = 0;

	for (int i = 0; i < 100; i++)
		switch (kind + i) {
			CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
		}
	return total;
}

__attribute__((noinline)) int other(int kind)
{
	if (__builtin_expect(kind == 7, 0)) { kept = rare(kind); return input; }
	return kind + input;
}

int main(int argc, char **argv) { return loop(argc) + other(argc); }
END

# parts FUNCTION: "body START END cold START END" of the stripped file
parts() {
	"$build/tests/helpers/python_stack" --parts stripped "$1" | tr '\t\n' '  '
}

# symbol NAME: "START END" of the symbol table
symbol() {
	nm -S loop | while read -r start size type name; do
		[ "$name" = "$1" ] && printf '%x %x\n' "0x$start" $((0x$start + 0x$size))
	done
}

cc -O2 -rdynamic -o loop loop.c && cp loop stripped && strip stripped || skip_all "no compiler"
if [ "$(symbol loop.cold)" ]; then
	is "$(parts loop)" "body $(symbol loop) cold $(symbol loop.cold) " \
		"the unlikely part is where the symbol table had it"
else
	skip "the unlikely part is where the symbol table had it" "this compiler leaves it in the function"
fi
is "$(parts rare)" "body $(symbol rare) cold 0 0 " "a function without unlikely part has none"
done_testing
