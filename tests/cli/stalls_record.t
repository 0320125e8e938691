#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof record --stalls`, from a program on the simulated CUDA to a profile that says of GPU instructions what they
# are and where they come from, without the program and its images. What the simulated GPU says of the kernel
# count_a_us5 is about functions of tests/data/cubin/inline.cubin; of the other kernels nobody has an image.
. "$(dirname "$0")/tap.sh"
build=$(cd "$build" && pwd)
export XPUPROF_BUILD="$build" LD_LIBRARY_PATH="$build/sim" XPUPROF_SIM_STALLS="$PWD/said"
unset CUDA_INJECTION64_PATH XPUPROF_SIM_FAULTS XPUPROF_SIM_DEVICES
launches=$build/tests/programs/launches

mkdir said
cp "$here/../data/cubin/inline.cubin" said/ || exit 1
cat >said/a.stalls <<'END'
image inline.cubin
kernel count_a_us5
0x0010 wait 5
function _Z7climberPf
0x0020 long_scoreboard 120
0x0020 long_scoreboard_not_issued 80
0x0100 wait 40
function _Z7chooserPfi
0x0220 barrier 40
END

# folded: the stall frames of count_a_us5, without what launched it and without weights
folded() {
	xpuprof export --view stall --to folded p.xpu 2>/dev/null | sed -n 's/.*\[GPU_Kernel\]count_a_us5;//; T; s/ [0-9]*$//p' | sort -u
}

# holds TEXT NAME: one of the stacks of folded() is TEXT
holds() {
	folded | grep -Fqx -- "$1"
	result $? "$2"
}

# same_as_before NAME: the stacks of folded() are those in `before`, and there are some
same_as_before() {
	is "$([ -s before ] || echo none; folded | diff before -)" "" "$1"
}

record() {
	rm -f p.xpu
	run timeout 60 "$build/xpuprof" record --stalls --gpu-only -o p.xpu -- "$@"
}

record "$launches" --repeat 20
is "$status" 0 "a program whose instructions are sampled ends as alone"
holds "-;/tmp/cubin-sources_[G];inline.cu_[G];climber(float*)_[G];LDC.64_[g];long_scoreboard_[g];0x20_[g]" \
	"an instruction stands in its source file and function, with its name, its reason and its place"
holds "-;/tmp/cubin-sources_[G];inline.cu_[G];climber(float*)_[G];rung8(float, float const*)_[G];FFMA_[g];wait_[g];0x100_[g]" \
	"one of an inlined function stands in that"
holds "-;/tmp/cubin-sources_[G];inline.cu_[G];chooser(float*, int)_[G];called(float, int)_[G];STL_[g];barrier_[g];0x220_[g]" \
	"one of a function that is called stands in that, though the GPU says the kernel's"
holds "-;count_a_us5_[G];wait_[g];0x10_[g]" "what is in no image is a function and an offset"
printf '%s\n' "$err" | grep -q "the code of 4 of 6 sampled GPU functions was not available"
result $? "and the recording says how many such functions there are"
run "$build/xpuprof" record -q --stalls --gpu-only -o folded:all.folded -o all.svg -- "$launches" --repeat 20
is "$status" 0 "other forms are made at once"
grep -q '\[GPU_Kernel\]count_a_us5;-;.*_\[g\]' all.folded
result $? "folded stacks go down to instructions"
grep -q "instruction samples" all.svg
result $? "and so does the picture"
xpuprof report --stalls p.xpu | grep -q "0x0020  *LDC.* inline.cu:45"
result $? "the report has the line"
xpuprof annotate count_a_us5 p.xpu | grep -q "simulated GPU"
result $? "an annotated kernel says that the GPU is simulated"
xpuprof annotate -o - count_a_us5 p.xpu | grep -q "<h1>.*simulated GPU"
result $? "and so does its page"
xpuprof report --json p.xpu | grep -q '"gpu_text":"'
result $? "the recording says who wrote the text of instructions"

folded >before
xpuprof symbolize p.xpu >/dev/null 2>&1
same_as_before "naming the code of a finished recording leaves GPU code as it is"

record sh -c "XPUPROF_SIM_MACHINE='another $$' '$launches' --repeat 20 & '$launches' --repeat 20; wait"
same_as_before "two processes that run the same code, each on a GPU of its own, have the same"

# figure due|taken: the samples that are due, or there
figure() {
	xpuprof report --stalls --json p.xpu | tr , '\n' | sed -n "s/.*\"$1\"://p" | head -n 1
}
is_from_to() { # LEAST MOST NAME
	share=$(($(figure taken) * 100 / $(figure due)))
	[ "$share" -ge "$1" ] && [ "$share" -le "$2" ]
	result $? "$3"
}
record "$launches" --repeat 100
is_from_to 98 102 "the samples are as many as the times of kernels, their blocks and the clock make due"
rm -f p.xpu
XPUPROF_SIM_FAULTS=stalls-behind=1 run "$build/xpuprof" record --stalls=4096 --gpu-only -o p.xpu -- "$launches" --repeat 100
has "$status $err" "0 " "a program ends as alone when CUPTI falls behind with its samples"
has "$err" "it had more when the recording ended; --stalls=8192 is slow enough" "which is said, with a period that is long enough"
is_from_to 0 50 "the report knows that most did not come"
xpuprof report --stalls p.xpu | grep -q "of [0-9,]* samples due: lost, or few SMs"
result $? "and says so at the kernels"
XPUPROF_SIM_FAULTS=stalls-full=2 run "$build/xpuprof" record --stalls=4096 --gpu-only -o p.xpu -- "$launches" --repeat 100
has "$err" "its memory was full, and of what ran later there are none; --stalls=8192 is slow enough" \
	"when CUPTI has no room for samples any more, that is said"

XPUPROF_SIM_FAULTS=stalls-stop=200 run "$build/xpuprof" record --stalls=4096 --gpu-only -o p.xpu -- "$launches" --repeat 100
has "$err" "samples of GPU instructions came faster than CUPTI hands them over: " "when CUPTI just stops, that is said, too"
set -- $(echo "$err" | tr -d , | sed -n 's/.*over: \([0-9]*\) of \([0-9]*\) that were due came; --stalls=8192 is slow enough.*/\1 \2/p') 0 0
is "$1" "$(figure taken)" "with the samples that came"
true_that "and those that were due, where kernels that run at once count once" [ "$2" -gt $((10 * $1)) -a "$2" -le "$(figure due)" ]
xpuprof report --stalls p.xpu | sed -n '/^Not all was sampled/,$p' | grep -q "samples of GPU instructions came faster .* that were due came; --stalls=8192 is slow enough"
result $? "and in the report"
XPUPROF_SIM_FAULTS=stalls-stop=200 run "$build/xpuprof" record --stalls=8192 --gpu-only -o p.xpu -- "$launches" --repeat 100
lacks "$err" "were due came" "at a period that is slow enough the kernels had few multiprocessors, or a slow clock"
run "$build/xpuprof" record --stalls=4096 --gpu-only -o p.xpu -- "$launches" --repeat 100
lacks "$err" "were due came" "and nothing is said where all came"

# What reads the code of the program's images has no more rights than the program.
cat >nvdisasm <<'END'
#!/bin/sh
size=$(stat -Lc %s "$3")
awk -v size="$size" -v user="$(id -un)" \
	'BEGIN { for (i = 0; i < size; i += 16) printf "        /*%04x*/   BY_%s ;\n", i, user }'
END
chmod 755 nvdisasm
export XPUPROF_NVDISASM="$PWD/nvdisasm"
if [ "$(id -u)" = 0 ]; then
	record "$launches" --repeat 20
	has "$status $err" "0 xpuprof: instructions are shown by name only: root does not run '$PWD/nvdisasm'" \
		"root runs no nvdisasm that others could change"
	make_trusted && cp nvdisasm "$trusted/" && XPUPROF_NVDISASM=$trusted/nvdisasm
fi
writer=$(id -un)
[ "$(id -u)" != 0 ] || writer=nobody
record "$launches" --repeat 20
holds "-;/tmp/cubin-sources_[G];inline.cu_[G];climber(float*)_[G];BY_${writer}_[g];long_scoreboard_[g];0x20_[g]" \
	"an installed nvdisasm writes the text of instructions, as root's never"
name="under sudo nvdisasm runs as the caller"
XPUPROF_NVDISASM=$PWD/nvdisasm
if [ "$(id -u)" = 0 ] && setpriv --reuid=nobody --clear-groups test -r "$build/sim/libcuda.so.1"; then
	chmod 755 "$PWD" said && chmod 644 said/*
	chown nobody "$PWD"
	SUDO_UID=$(id -u nobody) record "$launches" --repeat 20
	holds "-;/tmp/cubin-sources_[G];inline.cu_[G];climber(float*)_[G];BY_nobody_[g];long_scoreboard_[g];0x20_[g]" "$name"
	chmod 700 nvdisasm
	SUDO_UID=$(id -u nobody) record "$launches" --repeat 20
	is "$status" 0 "one that the caller must not run does not end a recording"
	has "$err" "shown by name only: cannot run '$PWD/nvdisasm': Permission denied" "and is named"
else
	skip "$name" "not root, or nobody cannot read the build"
fi

# A kernel with a program of a probe in it: probed.cubin is what ptxas makes of scale.cu with coalesce.
rm -f said/*
cp "$here/../data/cubin/probed.cubin" said/ || exit 1
cat >said/a.stalls <<'END'
image probed.cubin
kernel count_a_us5
function scale
0x0110 long_scoreboard 40
0x0120 wait 40
0x03d0 wait 20
END
unset XPUPROF_NVDISASM
record "$launches" --repeat 20
run xpuprof annotate scale p.xpu
has "$out" "40.0 % of the samples: /tmp/cubin-sources/scale.cu" "instructions of a kernel with a probe have the lines of its source"
has "$out" "60.0 % of the samples: [probe]
these are programs that \`xpuprof probe\` or \`record --probe\` put into kernels" "and those of the probe a row of their own"

done_testing
