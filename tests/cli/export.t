#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof export` and `xpuprof flame` on small profiles with known contents (tests/helpers/sample_profile.c),
# compared with tests/golden/.
. "$(dirname "$0")/tap.sh"
sample=$build/tests/helpers/sample_profile
for kind in small simulated unfinished early hostile python empty; do
	"$sample" $kind $kind.xpu || exit 1
done

is_xml() {
	python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' "$1"
}

run xpuprof export --to folded small.xpu
is "$status" 0 "folded export works"
is "$err" "" "and says nothing about a whole profile"
same small.folded "folded stacks are as documented"
is "$(total -v '\[GPU')" 40001 "CPU time adds up to the recorded microseconds"
is "$(total '\[GPU')" 1346 "GPU time adds up to the recorded microseconds"
run xpuprof export --to folded --unit ns small.xpu
is "$(total '\[GPU')" 1346467 "in nanoseconds the GPU time is exact"
is "$(total -v '\[GPU')" 40001000 "and so is the CPU time"
run xpuprof export --to folded --unit ns --by process,thread,device,stream --graph-stack both small.xpu
same small-grouped.folded "groups stand at the root and above the call, devices in the GPU frames"
run xpuprof export --to folded --view gpu --graph-stack capture --cuda-frames small.xpu
same small-gpu-capture.folded "graph work stands where its node was made, CUDA's frames stay when asked for"
run xpuprof export --to folded --view cpu small.xpu
same small-cpu.folded "the CPU view has no GPU work"
run xpuprof export --to folded early.xpu
same small.folded "work that came before its call had returned stands on the call all the same"
run xpuprof export --to folded simulated.xpu
same simulated.folded "a simulated GPU is named in every line"
run xpuprof export --to folded python.xpu
same python.folded "stacks with Python frames are shown without what runs Python"
run xpuprof export --to folded --native-python python.xpu
same python-native.folded "and with it when asked for"
run xpuprof export --to folded --lines python.xpu
same python-lines.folded "lines of one function are distinguished when asked for"
run xpuprof export --to extended-folded python.xpu
same python.events "extended folded shows the same frames"
run xpuprof flame --view gpu -o - python.xpu
for frame in "&lt;module&gt; (train.py)" "main (train.py)" "at::mm()" "Function.backward (torch/autograd/function.py)"; do
	has "$out" "<title>$frame," "and so does the picture: $frame"
done
lacks "$out" "PyObject_Call" "without the interpreter"
run xpuprof report python.xpu
has "$out" "100.0 % from main (train.py) > at::mm > Function.backward (torch/autograd/function.py) > at::launch" \
	"and the report's paths"
run xpuprof export --to extended-folded small.xpu
same small.events "extended folded has a line for each event"
run xpuprof export --to chrome small.xpu
same small.json "the timeline is as documented"
true_that "it is JSON" python3 -m json.tool .out /dev/null
run xpuprof export --to chrome simulated.xpu
has "$out" '"gpu":"simulated GPU"' "the timeline says that the GPU was simulated"

run xpuprof export --to folded unfinished.xpu
is "$status" 0 "a recording that was cut short is converted"
has "$err" "warning: 'unfinished.xpu' is not whole" "with a warning"
same small.folded "and loses nothing that was written"
run xpuprof export --to folded empty.xpu
is "$status:$out" "0:" "a recording without events gives no lines"
run xpuprof export --to chrome empty.xpu
true_that "and a timeline without events is JSON" python3 -m json.tool .out /dev/null
run xpuprof flame empty.xpu -o empty.svg
is "$status $(ls empty.svg* 2>&1)" "1 ls: cannot access 'empty.svg*': No such file or directory" "no picture of it is written"
has "$err" "nothing to draw: 'empty.xpu' has nothing of what this view shows; no picture was written" "and that is said"
lacks "$err" "--view" "no other view would show more"
"$build/tests/helpers/wait_profile" small cpu.xpu && "$build/tests/helpers/stall_profile" small gpu.xpu "$here/../data/stalls" || exit 1
run xpuprof flame --view gpu cpu.xpu -o empty.svg
has "$status $err" "warning: no GPU work in 'cpu.xpu': '--view cpu' shows its CPU time" "where there is no GPU work another view is named"
run xpuprof flame --view cpu gpu.xpu -o empty.svg
has "$status $err" "warning: no CPU time in 'gpu.xpu': '--view gpu' shows its GPU work" "and where there is no CPU time"
run xpuprof export --to svg empty.xpu
is "$status:$out" 1: "nor is one exported"

run xpuprof export --to folded hostile.xpu
is "$(grep -c . .out)" 14 "names with line ends do not make lines"
is "$(grep -vc ' [0-9]*$' .out)" 0 "and every line has its count"
is "$(LC_ALL=C tr -d '\n -\377' <.out)" "" "no control character is left"
run xpuprof export --to chrome hostile.xpu
true_that "hostile names leave the timeline JSON" python3 -m json.tool .out /dev/null
run xpuprof flame hostile.xpu -o hostile.svg
true_that "and the picture XML" is_xml hostile.svg
is "$(grep -c '<script' hostile.svg)" 1 "with one script, ours"

"$sample" pairs pairs.xpu 20000 && xpuprof export -o pairs.json pairs.xpu && xpuprof export -o pairs.perfetto-trace pairs.xpu || exit 1
true_that "a trace for Perfetto is at most a tenth of the timeline's JSON" \
	test $(($(stat -c %s pairs.perfetto-trace) * 10)) -le "$(stat -c %s pairs.json)"

for suffix in folded events json svg; do
	run xpuprof export small.xpu -o out.$suffix
	is "$status:$(test -s out.$suffix && echo there)" 0:there "the suffix .$suffix names the format"
done
run xpuprof export small.xpu -o out.unknown
is "$status" 2 "an unknown suffix needs --to"
run xpuprof export --to nothing small.xpu
is "$status" 2 "an unknown format is a wrong use"
has "$err" "takes folded, extended-folded, iaprof, chrome, pprof, speedscope, firefox, perfetto, perf-script, memheat, html or svg, or a time, not 'nothing'" "and the known ones are named"
run xpuprof export --to folded a b
is "$status" 2 "two files are one too many"
run xpuprof export --to folded --by nothing small.xpu
has "$err" "takes process, thread, device and stream" "groupings are checked"
for options in "--to chrome --by device" "--to chrome --graph-stack both" "--to chrome --cuda-frames" \
	"--to chrome --native-python" "--to chrome --lines" \
	"--to chrome --unit ns" "--to extended-folded --unit ns" "--to svg --unit ns"; do
	run xpuprof export $options small.xpu
	is "$status:$out" "2:" "'$options' would do nothing and is refused"
done
run xpuprof export --to chrome --by device small.xpu
has "$err" "--by, --graph-stack, --cuda-frames, --native-python and --lines mean nothing to chrome" "with the reason"
run xpuprof export --to folded --view gpu "$golden/small.folded"
is "$status" 1 "folded text has no views"
has "$err" "small.folded' is no recording, and folded text has no views, groups and times" "and the message says so"
run xpuprof export --to folded missing.xpu
is "$status" 1 "a missing file fails"
has "$err" "cannot open 'missing.xpu': No such file or directory" "and is named"
head -c 10 small.xpu >short.xpu
run xpuprof export --to folded short.xpu
is "$status" 1 "a file cut in its header fails"
has "$err" "short.xpu" "and is named"
head -c 100000 /dev/urandom >garbage
run xpuprof flame garbage -o garbage.svg
is "$status" 1 "garbage fails"
has "$err" "garbage" "and is named"
true_that "and leaves no picture" test ! -e garbage.svg

for name in a.png a.b.PDF a.html svg.jpeg; do
	run xpuprof flame -o $name small.xpu
	is "$status" 2 "no picture is written to $name"
	has "$err" "cannot write '$name': pictures are SVG, which browsers show, as in '${name%.*}.svg'" "and the right name is said"
	if [ $name != a.html ]; then # which is a page
		run xpuprof export -o $name small.xpu
		has "$err" "as in '${name%.*}.svg'" "by export, too"
	fi
	run xpuprof record -o $name touch started
	is "$status" 2 "and record does not write a recording there"
	has "$err" "as in '${name%.*}.svg'" "but says the same"
done
run xpuprof flame -o a.json small.xpu
has "$err" "flame draws SVG: 'xpuprof export -o a.json' writes the other form" "flame names who writes what is not its own"
run xpuprof flame -o a.xpu small.xpu
has "$err" "'a.xpu' would be taken for a recording" "nor is a picture called like a recording"
true_that "of all these there is no file" test -z "$(ls a.* svg.* started 2>/dev/null)"

xpuprof report --wide small.xpu >report.txt
run xpuprof report --wide -o report.out small.xpu
is "$status:$out:$(diff report.txt report.out)" "0::" "a report goes into a file"
run xpuprof report --wide -o - small.xpu
is "$out" "$(cat report.txt)" "or to standard output"
cp small.xpu read.xpu
run xpuprof report -o read.xpu read.xpu
is "$status" 1 "but not over what is read"
xpuprof symbolize -o - small.xpu >named.xpu
is "$(xpuprof report --json named.xpu | sed 's/named/small/')" "$(xpuprof report --json small.xpu)" \
	"a recording may go to standard output by symbolize"
xpuprof record -q -o - true | xpuprof report /dev/stdin >stdin.txt
has "$(cat stdin.txt)" "command       true" "and by record"

cp small.xpu copy.xpu && ln -s copy.xpu link.xpu
for output in copy.xpu ./copy.xpu link.xpu; do
	run xpuprof export --to svg -o $output copy.xpu
	is "$status" 1 "a recording is not replaced by its picture ($output)"
done
has "$err" "'link.xpu' is what is read: give what is written another name" "and the message says so"
run xpuprof export --to folded -o copy.xpu copy.xpu
is "$status" 1 "nor by its stacks"
true_that "and stays as it is" cmp small.xpu copy.xpu
run xpuprof export --to folded small.xpu -o /dev/full
is "$status" 1 "a full disk fails"
has "$err" "cannot write '/dev/full': No space left on device" "and says so"
run xpuprof export --to folded small.xpu -o nowhere/x.folded
has "$err" "cannot write 'nowhere/x.folded': No such file or directory" "a missing folder is named"
xpuprof export --to folded small.xpu | cat >piped
true_that "a pipe gets everything" cmp -s piped "$golden/small.folded"
xpuprof export --to folded small.xpu -o /dev/stdout >stdout
true_that "and so does /dev/stdout" cmp -s stdout "$golden/small.folded"
xpuprof export --to folded small.xpu -o /dev/fd/3 3>third
true_that "and an open file, in its place" cmp -s third "$golden/small.folded"
name="files below /dev are files where there are any"
if shm=$(mktemp -d /dev/shm/export.XXXXXX 2>/dev/null); then
	run xpuprof export --to folded small.xpu -o "$shm/x.folded"
	true_that "$name" cmp -s "$shm/x.folded" "$golden/small.folded"
	rm -r "$shm"
else
	skip "$name" "no /dev/shm here"
fi
is "$(ls -A | grep -c xpuprof)" 0 "no temporary file is left"

printf 'a;b 3\nno count\na;c 4\n' >some.folded
run xpuprof flame some.folded -o some.svg
is "$status" 0 "folded text with a bad line is drawn"
has "$err" "warning: 1 line of 'some.folded' left out; the first is line 2: no count at its end" \
	"and the line is reported"
has "$(cat some.svg)" "1 of 3 lines of the text left out" "in the picture too"
printf 'nothing\n' >bad.folded
run xpuprof flame bad.folded
is "$status" 1 "text without any count fails"
has "$err" "'bad.folded' is neither a profile nor folded text: line 1: no count at its end" "with the line"
run xpuprof flame some.folded
is "$out" "wrote some.svg" "the picture is named after its source"
xpuprof flame - -o - <"$golden/small.folded" >from-stdin.svg
true_that "folded text is read from standard input" is_xml from-stdin.svg
is "$(printf 'a 3\nb\nc\n' | xpuprof export --to folded - 2>&1 >/dev/null)" \
	"xpuprof: warning: 2 lines of 'standard input' left out; the first is line 2: no count at its end" \
	"its bad lines are reported"
is "$(printf 'XPUPROF\0' | xpuprof flame - 2>&1)" \
	"xpuprof: 'standard input' is a profile, which is only read from a file" "a profile there is refused"
xpuprof export --to folded "$golden/small.folded" | sort >again.folded
is "$(sort "$golden/small.folded" | diff - again.folded)" "" "folded text goes through unchanged"
run xpuprof export --to chrome some.folded
is "$status" 1 "a timeline cannot be made of folded text"

run xpuprof flame simulated.xpu -o simulated.svg
has "$(grep '<title>' simulated.svg | head -1)" "(simulated GPU)" "the picture's title says simulated GPU"
picture=$(cat simulated.svg)
has "$picture" "CPU time 40.001 ms" "the picture states the CPU time"
has "$picture" "GPU time 1.346 ms" "and the GPU time"
has "$picture" "elapsed 10.000 ms" "and the elapsed time"
lacks "$picture" "41.34" "and never their sum"
has "$picture" "launches without work (not finished): 1" "and launches without work"
has "$picture" "3 CPU samples lost" "and what was lost"
done_testing
