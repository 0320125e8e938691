#!/bin/sh
# SPDX-License-Identifier: MIT
# `--view off-cpu` and `--view wall` of `xpuprof export` and `xpuprof flame` on profiles with known waits (tests/helpers/wait_profile.c).
. "$(dirname "$0")/tap.sh"
sample=$build/tests/helpers/wait_profile
for kind in small many hostile none idle gpu unreported stalls named own; do
	"$sample" $kind $kind.xpu || exit 1
done

off_cpu() { run xpuprof export --to folded --view off-cpu "$@"; }

off_cpu small.xpu
is "$status:$err" "0:" "the off-CPU view is exported"
same off-cpu.folded "each thread's waits stand where it went to sleep, with the reason as leaf"
off_cpu --unit ns small.xpu
is "$(total main-10)" 22000000 "a thread has the time of all its waits, to the nanosecond"
is "$(total 'run queue')" 5000000 "time in the run queue at the end of a wait stands beside its reason"
is "$(total 'futex_wait.*lock')" 5000000 "time of waits without a stack stands with that of their place"
lacks "$out" "schedule" "what the scheduler and the recorder add to a stack is no frame"
has "$out" "work (app.py);[waiting: run queue] 4000000" "and no more is what interrupted a thread for another"
off_cpu --by process small.xpu
lacks "$out" "main-10" "threads can be taken together"
is "$(total '^app-10;')" 82000 "with all their waits"
off_cpu --by stream small.xpu
has "$out" "app-10;main-10;" "groups that mean nothing here change nothing"
off_cpu --reverse small.xpu
is "$(total '^\[waiting: lock\]')" 8000 "reversed stacks begin with the reason"
xpuprof export --to folded --view off-cpu small.xpu >small.folded
run xpuprof export --to folded small.folded
same off-cpu.folded "folded stacks of it read back as they were written"
off_cpu --weight samples small.xpu
is "$status" 2 "waits have no instruction samples to count"

run xpuprof flame --view off-cpu -o - small.xpu
has "$out" "waiting 82.000 ms" "the picture says how long all threads waited"
has "$out" "apportioned 3.7 %" "how much of that is a sample's share"
has "$out" "without stack 3.7 %" "and how much has no stack"
lacks "$(grep "<title>" .out)" "CPU" "and calls nothing of it CPU time"
has "$out" 'class="wait s' "reasons have a colour of their own"
has "$out" "<title>do_syscall_64" "where a thread waits in the kernel is one frame"
lacks "$out" "futex_wait" "and what that calls is none"
lacks "$out" "--by process" "a few threads need no advice"
for view in off-cpu wall; do
	run xpuprof flame --view $view -o - many.xpu
	has "$out" "threads 30; --by process adds them up" "where threads are too many to be read the remark is how to add them up: $view"
	run xpuprof flame --view $view --by process,thread -o - many.xpu
	lacks "$out" "--by process adds" "unless threads were asked for: $view"
done
run xpuprof flame --view off-cpu -o - small.folded
is "$status" 1 "folded text has no views"
run xpuprof flame --view off-cpu -o - hostile.xpu
is "$status" 0 "names that try to break out are drawn"
true_that "as well-formed XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' .out

off_cpu none.xpu
is "$status" 0 "a recording without waits is no mistake"
has "$err" "no waits of threads in 'none.xpu': 'xpuprof record --off-cpu' records them" "but with what would help"
run xpuprof flame --view off-cpu -o - none.xpu
is "$status:$out" 1: "and no picture of nothing"
has "$err" "no waits of threads in 'none.xpu': 'xpuprof record --off-cpu' records them" "which says the same"
off_cpu idle.xpu
lacks "$err" "xpuprof record" "nothing would help where no thread waited"

wall() { run xpuprof export --to folded --view wall "$@"; }

wall gpu.xpu
is "$status:$err" "0:" "the wall view is exported"
same wall.folded "running, waiting, and waiting for the GPU with the work waited for"
wall --unit ns gpu.xpu
is "$(total '')" 100000000 "a thread has its whole life, to the nanosecond"
is "$(total 'waiting for the GPU')" 50000000 "calls that wait for the GPU have all of their time"
lacks "$out" "waiting: lock" "asleep or spinning"
lacks "$out" "send" "but not the call of a copy that it does not wait for"
is "$(grep -c 'fetch (app.py)' .out):$(grep -c 'fetch.*fetch' .out)" "2:0" "a copy that waits for itself is led to once"
wall unreported.xpu
is "$(total 'GPU_Kernel')" 29000 "where what a call waits for is not reported, it is all work of the process"
is "$(total 'GPU idle')" 15000 "and nothing but that"
wall --unit ns stalls.xpu
is "$(total 'loss.*gemm.*long_scoreboard'):$(total 'loss.*gemm.*wait_\[g\]')" "15000000:5000000" \
	"what a kernel waited for that was waited for stands on it"
is "$(total 'loss.*norm'):$(total '')" "5000000:100000000" "and all others are as before"
wall --reverse stalls.xpu
is "$(total '^long_scoreboard_\[g\];gemm_\[G\];-;\[GPU_Kernel\]gemm;')" 15000 "reversed it begins with the reason"
wall --by device,stream gpu.xpu
has "$out" "app-10;main-10;main (app.py);loss (app.py);cudaStreamSynchronize;[waiting for the GPU];main (app.py);step (app.py);cudaLaunchKernel;stream 7;[GPU0_Kernel]gemm " \
	"work can be grouped by device and stream"
wall --unit ns small.xpu
is "$(total main-10):$(total worker-11)" "100000000:60000000" "each thread has its own life"
is "$(total 'think (app.py) '):$(total 'work (app.py) ')" "26000000:52000000" "its samples share the time that it ran"
wall --reverse gpu.xpu
is "$(total '^\[GPU_Kernel\]gemm;cudaLaunchKernel;step.*;\[waiting for the GPU\];cudaStreamSynchronize;loss')" 20000 "it can be reversed"
run xpuprof flame --view wall -o - gpu.xpu
has "$out" "time of threads 100.000 ms" "the picture says how long all threads were there"
has "$out" "running 44.0 % · waiting 6.0 % · waiting for the GPU 50.0 %" "and what they did"
lacks "$(grep "<title>" .out)" "CPU " "and calls nothing of it CPU time"
true_that "reasons and GPU work have their colours" grep -q 'class="gpu s' .out
run xpuprof flame --view wall -o - hostile.xpu
true_that "names that try to break out are drawn" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' .out
wall none.xpu
is "$status:$(total '')" "0:10000" "without waits there is what was sampled"
has "$err" "no waits of threads in 'none.xpu': 'xpuprof record --off-cpu' records them" "and with what would help"
run xpuprof flame --view wall -o - none.xpu
has "$out" "not all time of threads is shown: waits were not recorded, see xpuprof record --off-cpu" "in the picture, too"

# The profiler's own thread in the program, and the program's own thread of that name.
for view in off-cpu wall; do
	for by in process,thread process device; do
		xpuprof export --to folded --unit ns --view $view --by $by named.xpu >named.folded
		run xpuprof export --to folded --unit ns --view $view --by $by own.xpu
		is "$(diff named.folded .out)" "" "the profiler's own thread is not in --view $view --by $by"
	done
	has "$out" "xpuprof-12" "but one of the program's that is called so is"
	for kind in named own; do
		xpuprof flame --view $view -o $kind.svg $kind.xpu
		sed -n 's/.*<desc>//p; /apportioned/p; /not all/p' $kind.svg | sed "s/$kind.xpu//" >$kind.head
	done
	is "$(diff named.head own.head)" "" "nor in what the picture says of all time"
	has "$(cat own.head)" "apportioned" "which is something"
done
wall --unit ns own.xpu
is "$(total xpuprof-12)" 100000000 "and has its whole life"
run xpuprof export --to folded --by thread own.xpu
has "$out" "xpuprof_(profiler)-13;collector (app.py);flush (app.py) 10000" "what the profiler ran stands in other views, under its name"

# Threads that hold a lock, wait for it, wait for each other, sleep and run.
cat >threads.py <<'END_OF_PYTHON'
import hashlib, queue, threading, time
lock = threading.Lock()
jobs = queue.Queue()
def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        hashlib.sha256(b"x" * 1000).digest()
def hold():
    for _ in range(10):
        with lock:
            time.sleep(0.005)
        busy(0.002)
def work():
    while jobs.get() is not None:
        busy(0.003)
def produce():
    for n in range(20):
        jobs.put(n)
        time.sleep(0.005)
    jobs.put(None)
threads = [threading.Thread(target=run) for run in (hold, hold, work, produce)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END_OF_PYTHON

# Of each thread: its lives (exec begins a new one) and its time in the last run, if these are not the same.
unlike_lives() {
	awk 'FNR == NR { life[$1] += $2; next }
		{ split($0, f, ";"); sub(/.*-/, "", f[2]); sum[f[2]] += $NF }
		END { for (tid in sum) if (sum[tid] != life[tid]) printf "%s %.0f %.0f\n", tid, life[tid], sum[tid] }' lives .out
}

if cpu_side && xpuprof record -q --cpu-only --off-cpu -o r.xpu sh -c "sleep 0.2; sleep 0.2" 2>.refused && ! grep -q "no waits" .refused; then
	off_cpu r.xpu
	has "$out" ";[waiting: sleep] " "sleep(1) sleeps" # unless the whole machine sleeps meanwhile
	true_that "for most of its time" [ "$(total 'waiting: sleep')" -ge 100000 ] # others may take its CPU before it does
	lacks "$out" "schedule_[k]" "without the scheduler"
	lacks "$out" "bpf" "or the recorder as a frame"
	wall r.xpu
	true_that "all of its time is shown" [ "$(total '^sleep-')" -ge 200000 ]
	run xpuprof record -q --cpu-only --off-cpu -o p.xpu python3 threads.py
	"$build/tests/helpers/lives" p.xpu >lives
	wall --unit ns p.xpu
	context=$out
	true_that "the lives of five threads are recorded" [ "$(wc -l <lives)" -ge 5 ]
	is "$(unlike_lives)" "" "each thread has its life in the wall view, to the nanosecond"
	has "$out" "hold (threads.py)" "with Python's functions"
	has "$out" "[waiting: lock]" "and what it waited for"
else
	for name in "sleep(1) sleeps" "for most of its time" "without the scheduler" "or the recorder as a frame" \
		"all of its time is shown" "the lives of five threads are recorded" \
		"each thread has its life in the wall view, to the nanosecond" "with Python's functions" "and what it waited for"; do
		skip "$name" "waits cannot be recorded here"
	done
fi
done_testing
