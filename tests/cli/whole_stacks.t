#!/bin/sh
# SPDX-License-Identifier: MIT
# Nearly all CPU samples have a stack up to main or a thread's start, without any preparation: of code without frame
# pointers, of Python, of programs that end soon after they began.
. "$(dirname "$0")/tap.sh"

cpu_side || skip_all "CPU stacks cannot be had here"

cat >work.c <<'END'
#include <pthread.h>
#include <stdlib.h>

static volatile unsigned long sink;

__attribute__((noinline)) static unsigned long leaf(unsigned long x)
{
	for (int i = 0; i < 20000; i++)
		sink = x = x * 6364136223846793005ul + 1;
	return x;
}

static int compare(const void *a, const void *b)
{
	return (int)(leaf(*(const unsigned *)a) >> 60) - (int)(leaf(*(const unsigned *)b) >> 60);
}

static void *run(void *rounds)
{
	unsigned numbers[64];

	for (long r = (long)rounds; r; r--) {
		for (int i = 0; i < 64; i++)
			numbers[i] = (unsigned)rand();
		qsort(numbers, 64, sizeof(*numbers), compare);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	void *rounds = (void *)strtol(argv[1], NULL, 10);
	pthread_t threads[3];

	for (int i = 0; argc > 2 && i < 3; i++)
		pthread_create(&threads[i], NULL, run, rounds);
	run(rounds);
	for (int i = 0; argc > 2 && i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
END

cat >work.py <<'END'
import threading

def leaf(n):
    return sum(i * i for i in range(n))

def middle(n):
    return sum(map(leaf, [n] * 4))

def outer():
    for _ in range(150):
        middle(5000)

threads = [threading.Thread(target=outer) for _ in range(3)]
for t in threads:
    t.start()
outer()
for t in threads:
    t.join()
END

# record PART COMMAND... -> $folded: stacks with how many samples they are of, $complete: of those with this part, in
# per mille
record() {
	part=$1
	shift
	xpuprof record -q --cpu-only -F 499 -o p.xpu -- "$@" || return
	folded=$(xpuprof export --to folded --native-python -o - p.xpu)
	complete=$(printf '%s\n' "$folded" | grep -F "$part" |
		awk '{ n = $NF; all += n } !/^\[incomplete stack/ { whole += n }
			END { printf "%d", all ? 1000 * whole / all : 0 }')
}

# at_least PER_MILLE NAME
at_least() {
	[ "$complete" -ge "$1" ]
	result $? "$2"
	[ "$complete" -ge "$1" ] || printf '%s\n' "$folded" | grep '^\[incomplete' | head -5 | sed 's/^/# /'
}

# others PART PATTERN -> how many stacks with this part do not match
others() {
	printf '%s\n' "$folded" | grep -F "$1" | grep -v '^\[incomplete' | grep -vcE "$2"
}

if cc -O2 -fomit-frame-pointer -o work work.c -pthread 2>/dev/null; then
	record "" ./work 30 threads
	has "$folded" ";leaf" "its samples are there"
	at_least 990 "stacks of code without frame pointers are whole"
	is "$(others ';leaf' '^(_start;.*;main;|(clone3?;)?start_thread;)')" 0 "and begin with main or a thread's start"
	has "$folded" ";run;qsort_r;" "and go through the C library"

	# Not those of exec, which come in between so often.
	record leaf sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do ./work 1; done'
	at_least 990 "so are those of programs that end at once"
	is "$(others ';leaf' '^_start;.*;main;')" 0 "from their first samples on"
else
	skip "stacks of code without frame pointers" "no compiler"
fi

# In the middle of exec, in the dynamic linker, and where a program begins and ends.
xpuprof record -q --cpu-only -F 5000 -o p.xpu sh -c 'for i in 1 2 3 4 5 6 7 8 9 10; do for n in 1 2 3 4; do /bin/true; done; done'
is "$(xpuprof report --json p.xpu | python3 -c '
import json, sys
lost = json.load(sys.stdin)["losses"]
print({name: lost[name] for name in ("walk_fault", "walk_no_rule") if lost.get(name)})')" "{}" \
	"stacks of programs that come and go all the time are whole, from exec to exit"

# The interpreter itself, not a script that looks for it.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
if [ "$python" ]; then
	record "" "$python" work.py
	at_least 990 "stacks of Python are whole"
	is "$(others 'leaf (' '^(_start;.*;[Mm]ain;|_start;.*main.*;|(clone3?;)?start_thread;)')" 0 \
		"and begin with main or a thread's start"
	is "$(others 'leaf (' 'outer \([^;]*\);.*middle \([^;]*\);.*leaf \(')" 0 "and have all Python functions in order"
else
	skip "stacks of Python" "no python3"
fi

done_testing
