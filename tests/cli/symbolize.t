#!/bin/sh
# SPDX-License-Identifier: MIT
# Names for code whose file was deleted, replaced, stripped or in another mount namespace, or that was made at
# run time; and `xpuprof symbolize`, which names what is left.
. "$(dirname "$0")/tap.sh"

cpu_side || skip_all "CPU stacks cannot be had here"
command -v cc >/dev/null && command -v objcopy >/dev/null || skip_all "no compiler or binutils"

cat >spin.c <<'END'
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static inline __attribute__((always_inline)) void inner(volatile long *x)
{
	for (int i = 0; i < 100000; i++)
		*x += i;
}

__attribute__((noinline)) static void spin_here(volatile long *x)
{
	inner(x);
}

/* Runs for a third of a second of its own CPU time, after removing the files it is given. */
int main(int argc, char **argv)
{
	volatile long x = 0;

	for (int i = 1; i < argc; i++)
		if (unlink(argv[i]))
			return 1;
	while (clock() < CLOCKS_PER_SEC / 3)
		spin_here(&x);
	return 0;
}
END
cc -O1 -g -Wl,--build-id -o spin spin.c || skip_all "the C compiler does not work"

# The frames of a recording as text, one stack a line.
stacks() {
	xpuprof export --to folded "$@" | sed 's/ [0-9]*$//'
}

leaf_of() { # OPTIONS AND FILE -> the most frequent user frame at a leaf
	xpuprof export --to folded "$@" | grep -v '_\[k\]' | sort -t' ' -k2 -n | tail -1 | sed 's/ [0-9]*$//; s/.*;//'
}

record() {
	run xpuprof record -q --cpu-only -F 499 -o p.xpu "$@"
}

# --- at the end of a recording

cp spin gone
record ./gone "$work/gone"
is "$status $(leaf_of p.xpu)" "0 spin_here" "a program that was deleted while it ran has its names"

cat >replace.sh <<'END'
#!/bin/sh
cp spin taken
./taken &
until [ "$(readlink /proc/$!/exe)" = "$PWD/taken" ]; do sleep 0.01; done
mv "$1" taken
wait
END
cc -O1 -x c - -Wl,--build-id -o other <<'END'
int wrong_name(void) { return 1; }
int wrong_too(void) { return 2; }
int main(void) { return wrong_name() + wrong_too(); }
END
record sh ./replace.sh other
has "$(stacks p.xpu)" "spin_here" "one that was replaced is named by the file that ran"
lacks "$(stacks p.xpu)" "wrong" "and never by its successor"

if unshare -m true 2>/dev/null; then
	mkdir -p root/bin
	cc -O1 -static -o root/bin/spin spin.c 2>/dev/null || cp spin root/bin/spin
	mkdir -p bound && cp root/bin/spin bound/hidden
	record unshare -m sh -c 'mkdir -p inside && mount --bind bound inside && exec inside/hidden'
	is "$status $(leaf_of p.xpu)" "0 spin_here" "a program that only its own mount namespace has is named"
	if chroot root /bin/spin 2>/dev/null; then
		record chroot root /bin/spin
		is "$status $(leaf_of p.xpu)" "0 spin_here" "and one in a root folder of its own"
	else
		skip "and one in a root folder of its own" "no static libc"
	fi
	# Stripped there, with its debug file in the same root folder only.
	if [ -x root/bin/spin ]; then
		cc -O1 -g -static -Wl,--build-id -o static spin.c 2>/dev/null && {
			id=$(readelf -n static | sed -n 's/.*Build ID: //p')
			mkdir -p root/usr/lib/debug/.build-id/"${id%"${id#??}"}"
			objcopy --only-keep-debug static root/usr/lib/debug/.build-id/"${id%"${id#??}"}"/"${id#??}".debug
			strip -o root/bin/spin static
			record chroot root /bin/spin
			is "$(leaf_of p.xpu)" "spin_here" "by the debug files that are in there"
		}
	fi
else
	skip "a program that only its own mount namespace has is named" "mount namespaces cannot be made"
fi

cat >memfd.py <<'END'
import os, sys
fd = os.memfd_create("program")
os.write(fd, open("spin", "rb").read())
os.execv(f"/proc/self/fd/{fd}", ["spin"])
END
record /usr/bin/python3 memfd.py
has "$(stacks p.xpu)" "spin_here" "a program that is in memory only is named"

cat >jit.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* mov $100000,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char code[] = {0xb9, 0xa0, 0x86, 1, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

int main(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		return 1;
	memcpy(p, code, sizeof(code));
	fprintf(map, "%lx %x Lexer::scan (jitted)\n", (unsigned long)p, (unsigned int)sizeof(code));
	fclose(map);
	while (clock() < CLOCKS_PER_SEC / 3)
		((void (*)(void))p)();
	printf("%s\n", path);
	return 0;
}
END
if [ "$(uname -m)" = x86_64 ] && cc -o jit jit.c; then
	record ./jit
	has "$(stacks p.xpu)" "Lexer::scan (jitted)" "code made at run time is called as its map says"
	rm -f "$out"
	if unshare -fp true 2>/dev/null && [ ! -e /tmp/perf-1.map ]; then
		record unshare -fp ./jit
		is "$out" /tmp/perf-1.map "a process with another number in its own namespace"
		has "$(stacks p.xpu)" "Lexer::scan (jitted)" "writes its map under that, and it is found"
		rm -f /tmp/perf-1.map
	else
		skip "a process with another number in its own namespace" "no such namespaces"
	fi
else
	skip "code made at run time is called as its map says" "not x86-64"
fi

# --- symbolize

strip -o stripped spin
objcopy --only-keep-debug spin debug
record ./stripped
lacks "$(stacks p.xpu)" "spin_here" "a stripped program has no names"
is "$(leaf_of p.xpu)" "stripped+0x$(nm spin | sed -n 's/^0*\([0-9a-f]*\) t spin_here/\1/p')" \
	"and its functions are told by where they begin"
is "$(stacks p.xpu | grep -v '_\[k\]' | grep -o 'stripped+0x[0-9a-f]*;stripped.*' | sort -u | wc -l)" 1 \
	"each as one frame, wherever in it its samples are"
cp p.xpu before.xpu

# What a name would be looked up by, in a file whose offsets are not its addresses.
address_is_the_files() { # HOW, OPTIONS OF THE COMPILER
	how=$1
	shift
	if ! cc -O1 -g "$@" -o linked spin.c 2>/dev/null; then
		skip "a program $how" "cannot be built here"
		return
	fi
	strip -o bare linked
	xpuprof record -q --cpu-only -F 499 -o bare.xpu ./bare
	leaf=$(leaf_of bare.xpu)
	is "${leaf%+*} $(addr2line -f -e linked "0x${leaf#*+0x}" | head -1)" "bare spin_here" \
		"the address shown of a program $how is what addr2line takes"
}
address_is_the_files "that is not position independent" -no-pie
address_is_the_files "that was linked to run elsewhere" -pie -fPIE -Wl,-Ttext-segment=0x200000

run xpuprof symbolize p.xpu
has "$status $out" "0 p.xpu: named 0 of " "without its debug file it stays so"
has "$out" "without a table of symbols, and no debug file was found:
" "and the file is listed"
has "$out" "/stripped" "by its path"
has "$out" "their debug packages (-dbgsym, -debuginfo) or DEBUGINFOD_URLS would name them" "with what would help"
id=$(readelf -n spin | sed -n 's/.*Build ID: //p')
mkdir -p symbols/.build-id/"${id%"${id#??}"}"
cp debug symbols/.build-id/"${id%"${id#??}"}"/"${id#??}".debug
run xpuprof symbolize --debug-dir symbols -o named.xpu p.xpu
has "$status $out" "0 named.xpu: named " "a debug file that came later"
is "$(leaf_of named.xpu)" "spin_here" "names it"
lacks "$out" "/stripped" "and its program is listed no more"
lacks "$(stacks p.xpu)" "spin_here" "and with -o the recording itself stays as it was"

rm stripped
run xpuprof symbolize p.xpu
has "$out" "not found, or not the same any more:
" "what is missing is listed"
has "$out" "/stripped" "by its path"
is "$(leaf_of p.xpu)" "$(leaf_of before.xpu)" "and changes nothing"
chmod 640 p.xpu
run xpuprof symbolize --debug-dir symbols p.xpu
is "$status $(leaf_of p.xpu)" "0 spin_here" "the debug file is enough without the program"
is "$(stat -c %a p.xpu)" 640 "rights stay as they were"
is "$(ls -A | grep -c '^\.xpuprof')" 0 "and no other file is left"
is "$(xpuprof report --json p.xpu | sed 's/"path":"[^"]*"//g' | grep -c spin_here)" \
	"$(xpuprof report --json named.xpu | sed 's/"path":"[^"]*"//g' | grep -c spin_here)" "both ways are the same"

cp spin stripped
objcopy --remove-section .note.gnu.build-id stripped anonymous
record ./anonymous
cp p.xpu later.xpu
lacks "$(xpuprof symbolize later.xpu)" "error" "a recording with all its names can be named again"

# Cut short: the recorder was killed.
"$build/xpuprof" record -q --cpu-only -F 499 -o cut.xpu sh -c 'exec 2>/dev/null; until [ -e enough ]; do ./spin; done' &
recorder=$!
for _ in $(seq 600); do # until some samples of it are in the file
	[ "$(stacks cut.xpu 2>/dev/null | grep -c ';spin+0x')" = 0 ] || break
	sleep 0.1
done
run xpuprof symbolize cut.xpu
has "$status $err" "1 xpuprof: cannot name 'cut.xpu': it is still being recorded" \
	"a recording under way is left alone"
kill -9 $recorder
wait $recorder 2>/dev/null
: >enough
lacks "$(stacks cut.xpu 2>/dev/null)" "spin_here" "a recording whose recorder was killed has no names"
has "$(xpuprof report cut.xpu)" "where names are found, is not there: run 'xpuprof symbolize'" "and what names it is said"
lacks "$(xpuprof report cut.xpu)" "debug package" "which is no debug package"
run xpuprof flame -o cut.svg cut.xpu
has "$err" "without names, which 'xpuprof symbolize' finds" "nor when it is drawn"
run xpuprof symbolize cut.xpu
is "$status" 0 "and can be named"
has "$err" "is not whole" "with a warning"
is "$(leaf_of cut.xpu 2>/dev/null)" spin_here "so that it has them"
lacks "$(xpuprof report cut.xpu)" "run 'xpuprof symbolize'" "and is not told again what would name it"
run xpuprof export --to folded cut.xpu
has "$err" "cut short" "and it is still marked as cut short"

# --- servers of debug files

strip -o stripped spin
record ./stripped
mkdir -p "server/buildid/$id" cache
cp debug "server/buildid/$id/debuginfo"
if python3 -c 'import ctypes; ctypes.CDLL("libdebuginfod.so.1")' 2>/dev/null; then
	export DEBUGINFOD_CACHE_PATH="$work/cache" DEBUGINFOD_URLS="file://$work/server"
	run xpuprof symbolize -o asked.xpu p.xpu
	is "$status $(leaf_of asked.xpu)" "0 spin_here" "servers that the user names are asked for debug files"
	has "$out" "servers had 1 debug file" "and it is said what they had"
	rm -rf cache
	record ./stripped
	is "$(leaf_of p.xpu)" "spin_here" "also at the end of a recording"
	DEBUGINFOD_URLS="file://$work/nowhere"
	DEBUGINFOD_CACHE_PATH="$work/cache2"
	record ./stripped
	is "$status $(leaf_of p.xpu | sed 's/+.*//')" "0 stripped" "a server that has nothing does no harm"
	# A server that takes the question and never answers.
	python3 -c 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print(s.getsockname()[1], flush=True)
asked = s.accept(); asked[0].recv(1); open("asked", "w"); time.sleep(600)' >port &
	server=$!
	until [ -s port ]; do sleep 0.05; done
	DEBUGINFOD_URLS="http://127.0.0.1:$(cat port)"
	DEBUGINFOD_CACHE_PATH="$work/cache3"
	cp p.xpu waiting.xpu
	"$build/xpuprof" symbolize waiting.xpu >out 2>err &
	symbolizer=$!
	for _ in $(seq 1200); do
		[ ! -e asked ] || break
		sleep 0.05
	done
	kill -INT $symbolizer
	wait $symbolizer
	is "$? $(cat err)" "1 xpuprof: interrupted: 'waiting.xpu' is as it was" "waiting for a server can be interrupted"
	true_that "and the recording is as it was" cmp -s p.xpu waiting.xpu
	is "$(ls -A | grep -c '^\.xpuprof')" 0 "without anything left behind"
	kill $server
	unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH
else
	skip "servers that the user names are asked for debug files" "no libdebuginfod"
fi

# --- inlined functions and lines

if xpuprof doctor | grep -q '^ok *names'; then
	record ./spin
	is "$(leaf_of --inline p.xpu)" "spin_here" "without --inline nothing inlined is known"
	run xpuprof symbolize --inline p.xpu
	has "$status $out" "0 p.xpu: named 0 of" "lines can be found later, too"
	is "$(leaf_of --inline p.xpu)" "inner" "and inlined functions become frames"
	has "$(stacks --inline p.xpu)" "spin_here;inner" "in the functions they were put into"
	is "$(leaf_of p.xpu)" "spin_here" "if that is wanted"
	has "$(stacks --inline --lines p.xpu)" "spin_here (spin.c:13);inner (spin.c:" "lines are those of the source"
	record --inline ./spin
	is "$(leaf_of --inline p.xpu)" "inner" "a recording can find them at its end"
	run xpuprof flame --inline -o p.svg p.xpu
	is "$status $(grep -c '>inner<\|"inner"\|inner' p.svg | sed 's/[1-9][0-9]*/some/')" "0 some" "flame graphs show them"
fi

# --- wrong uses

run xpuprof symbolize missing.xpu
has "$status $err" "1 xpuprof: cannot open 'missing.xpu'" "a file that is not there is said so"
run xpuprof symbolize spin.c
has "$status $err" "1 xpuprof: cannot read 'spin.c': it is not an xpuprof profile" "and one that is no recording"
run xpuprof symbolize a b
is "$status" 2 "one file at a time"
run xpuprof symbolize -o nowhere/p.xpu p.xpu
is "$status" 1 "an output that cannot be written fails"

done_testing
