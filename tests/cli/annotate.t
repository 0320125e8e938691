#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof annotate` on profiles with known samples (tests/helpers/stall_profile.c).
. "$(dirname "$0")/tap.sh"
sample=$build/tests/helpers/stall_profile
mkdir src && cp "$here/../data/stalls/kernel.cu" src/
for kind in small unfinished hostile refused none; do
	"$sample" $kind $kind.xpu src || exit 1
done
export COLUMNS=120

run xpuprof annotate matmul small.xpu
is "$status:$err" "0:" "a kernel is shown"
same annotate.text "by source line, with its instructions below hot ones"
run xpuprof annotate --sass matmul small.xpu
same annotate.sass "by instruction, with the line of each"
run xpuprof annotate --source matmul small.xpu
lacks "$out" "LDG" "--source leaves out the instructions"
has "$out" "96.7 % waiting for a global or local memory load" "and shows the reasons of lines"
run xpuprof annotate --all matmul small.xpu
has "$out" "NOP" "--all shows what has no samples"
has "$out" "template <int N>" "and the lines between"
run env COLUMNS=70 "$build/xpuprof" annotate matmul small.xpu
is "$(sed "/^About/,\$d; /^source not/d" .out | awk 'length > 70')" "" "no row is wider than the terminal"
run env COLUMNS=40 "$build/xpuprof" annotate matmul small.xpu
is "$(sed "/^About/,\$d; /source/d; /changed after/d" .out | awk 'length > 40')" "" "also where there is no room for reasons"
lacks "$out" "$(printf '\033')" "nothing is coloured where there is no terminal"
if command -v script >/dev/null; then
	script -qec "'$build/xpuprof' annotate matmul small.xpu" /dev/null >.tty </dev/null
	true_that "shares are coloured in a terminal" grep -q "$(printf '\033')\[1;31m" .tty
	NO_COLOR=1 script -qec "'$build/xpuprof' annotate matmul small.xpu" /dev/null >.tty </dev/null
	true_that "unless NO_COLOR is set" sh -c '! grep -q "$(printf "\033")" .tty'
else
	skip "shares are coloured in a terminal" "no script(1)"
fi
run xpuprof annotate --image 2 matmul small.xpu
has "$out" "image         2 of 2" "the other image of the same name can be asked for"
has "$out" "samples       25, 100.0 % of them issuing" "and has samples of its own"
run xpuprof annotate --image 3 matmul small.xpu
is "$status" 1 "a third is refused"

# How kernels are found.
run xpuprof annotate _Z6reducePf small.xpu
has "$out" "kernel        reduce(float*)" "a mangled name finds a kernel"
run xpuprof annotate 'reduce(float*)' small.xpu
has "$out" "kernel        reduce(float*)" "so does a readable one"
is "$err" "" "alone, also if it is part of another's name"
run xpuprof annotate norm small.xpu
has "$out" "norm(float) (called by reduce(float*))" "a function that kernels call has samples, too"
lacks "$out" "GPU time" "but no GPU time"
run xpuprof annotate REDUCE small.xpu
has "$out" "kernel        reduce(float*)" "capital letters do not matter where nothing fits with them"
run xpuprof annotate e small.xpu
is "$status" 0 "what fits several kernels shows the hottest"
has "$err" "2 kernels fit 'e'; this is the hottest, 'reduce(float*)'; not 'norm(float)" "and names the others"
run xpuprof annotate redoce small.xpu
is "$status:$out" "1:" "what fits none shows nothing"
has "$err" "no kernel 'redoce' in 'small.xpu'; near it: 'reduce'" "and says what is near it"
run xpuprof annotate something_else small.xpu
has "$err" "('xpuprof report --stalls' names them)" "or where the names are"
run xpuprof annotate tiny small.xpu
is "$status" 1 "a kernel without samples is not shown"
has "$err" "kernel 'tiny()' has no samples: it ran for 2.00 us in all" "and reported to have none"
run xpuprof annotate
is "$status" 2 "no kernel is a wrong use"
has "$err" "which kernel?" "and asked for"
run xpuprof annotate small.xpu
is "$status" 2 "a recording alone is a wrong use"
has "$err" "which kernel of 'small.xpu'?" "and not taken for a kernel's name"
run xpuprof annotate '' small.xpu
is "$status" 2 "an empty name, too"
run xpuprof annotate a b c
is "$status" 2 "and two files"

# Sources.
run xpuprof annotate matmul small.xpu
has "$out" "source not found: src/math.h (No such file or directory)" "a missing source is reported"
mkdir elsewhere && printf 'a\nb\nreturn x * x;\n' >elsewhere/math.h
run xpuprof annotate --source-dir elsewhere matmul small.xpu
has "$out" "return x * x;" "a source is found below a folder"
run xpuprof annotate --source-map src=elsewhere matmul small.xpu
has "$out" "return x * x;" "and where another folder is named"
run xpuprof annotate --source-map sr=elsewhere matmul small.xpu
lacks "$out" "return x * x;" "for whole names only"
run xpuprof annotate --source-map nonsense matmul small.xpu
is "$status" 2 "a replacement needs both sides"
run xpuprof annotate --source-dir elswhere --source-dir src/kernel.cu matmul small.xpu
is "$status" 0 "a folder that does not exist ends nothing"
is "$err" "xpuprof: warning: no sources below 'elswhere' (--source-dir): No such file or directory
xpuprof: warning: no sources below 'src/kernel.cu' (--source-dir): Not a directory" "and is reported, once, as is what is no folder"
has "$out" "math.h (No such file or directory; nor is it below elswhere, src/kernel.cu)" "a missing source says below which folders it is not"
run xpuprof annotate --source-map "src/math.h=$(printf 'n\033ew')" matmul small.xpu
has "$out" "math.h (No such file or directory; nor is it n" "and what it was replaced by"
is "$(tr -d '\n\t -~' <.out | iconv -f UTF-8 -t UTF-8 2>&1)" "" "without control characters"
mkfifo src/math.h
run timeout 10 "$build/xpuprof" annotate matmul small.xpu
is "$status" 0 "a source that is a pipe is not waited for"
rm src/math.h && head -c 100 /dev/zero >src/math.h
run xpuprof annotate matmul small.xpu
has "$out" "source not found: src/math.h (not a text file)" "what is no text is no source"
rm src/math.h
touch -d 2101-01-01 src/kernel.cu
run xpuprof annotate matmul small.xpu
has "$out" "changed after the recording began" "a source that is newer than the recording is reported"
touch -d 2001-01-01 src/kernel.cu
run xpuprof annotate matmul small.xpu
lacks "$out" "changed after" "an older one is not"

# Recordings.
run xpuprof annotate matmul none.xpu
is "$status" 1 "a recording without samples shows nothing"
has "$err" "'xpuprof record --stalls' records them" "and the option is named"
run xpuprof annotate matmul refused.xpu
has "$err" "or they were refused: the driver lets only administrators sample" "or why there are none"
run xpuprof annotate matmul unfinished.xpu
is "$status" 0 "a recording that was cut short is shown"
has "$err" "is not whole" "with a warning"
run xpuprof annotate matmul missing.xpu
is "$status" 1 "a missing file fails"
for size in 100 700 1500 2500; do
	head -c $size small.xpu >cut.xpu
	run xpuprof annotate matmul cut.xpu
	true_that "a file that ends at byte $size is survived" [ "$status" -le 1 ]
done
run xpuprof annotate img hostile.xpu
is "$status" 0 "names of all kinds are shown"
is "$(tr -d '\n\t -~' <.out | iconv -f UTF-8 -t UTF-8 2>&1)" "" "without control characters or broken text"

# The page.
run xpuprof annotate -o page.html matmul small.xpu
is "$status:$out$err" "0:" "a page is written"
page=$(cat page.html)
has "$page" "<title>void matmul&lt;16&gt;(float const*, float const*, float*, int)</title>" "of the kernel"
has "$page" '<code>        float value = from[at]; /* &lt;long&gt; &amp; &quot;far&quot; */</code>' "with the source, escaped"
has "$page" '<code title="./app --size 4096">app --size 4096</code><span>recorded 2100-01-01 00:00 UTC</span>' \
	"what was recorded and when"
has "$page" 'in load_tile, inlined at :15' "how lines were inlined"
has "$page" '<code>LDG.E R2, [R4.64]</code>' "instructions"
has "$page" 'waiting for a global or local memory load (long_scoreboard)' "and reasons in words"
is "$(grep -cE '(src|href)="?[^#"]' page.html)" 0 "it refers to nothing outside"
xpuprof annotate -o - matmul small.xpu | cmp -s - page.html
true_that "the same goes to standard output" [ $? = 0 ]
cp small.xpu copy.xpu
run xpuprof annotate -o copy.xpu matmul copy.xpu
is "$status:$err" "1:xpuprof: 'copy.xpu' is what is read: give what is written another name" \
	"a recording is not replaced by its page"
true_that "and stays as it is" cmp small.xpu copy.xpu
for option in --source --sass --wide; do
	run xpuprof annotate -o page.html $option matmul small.xpu
	is "$status" 2 "$option means nothing to a page"
done
run xpuprof annotate -o nowhere/page.html matmul small.xpu
is "$status" 1 "a page that cannot be written fails"
for part in script img; do
	run xpuprof annotate -o hostile.html $part hostile.xpu
	is "$(grep -c '<script>' hostile.html):$(grep -cE '<img|<script>document' hostile.html)" "1:0" \
		"names of all kinds do not break out of it ($part)"
	true_that "and are UTF-8 ($part)" iconv -f UTF-8 -t UTF-8 -o /dev/null hostile.html
done
done_testing
