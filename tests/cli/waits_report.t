#!/bin/sh
# SPDX-License-Identifier: MIT
# Where threads waited, in `xpuprof report`, on profiles with known waits (tests/helpers/wait_profile.c).
. "$(dirname "$0")/tap.sh"
for kind in small hostile ways pool held endless none idle named own; do
	"$build/tests/helpers/wait_profile" $kind $kind.xpu || exit 1
done

run xpuprof report small.xpu
has "$out" "
Waits of threads: I/O 60.0 ms, sleep 9.00 ms, lock 8.00 ms, run queue 5.00 ms
     total       count   longest run queue  reason      threads, and where
   60.0 ms           1   60.0 ms     0.0 %  I/O         worker 11 at read (app.py)
   10.0 ms           1   10.0 ms    10.0 %  sleep       main 10 at nap (app.py) > nanosleep (app.py)
   5.00 ms           6   2.00 ms     0.0 %  lock        main 10 at work (app.py) > lock (app.py)
                                            woken by nobody recorded (100.0 %), known of 40.0 % of the time
   4.00 ms           1   4.00 ms   100.0 %  run queue   main 10 at main (app.py) > work (app.py)
   3.00 ms         100         -     0.0 %  lock        main 10, without a stack
" "all waiting time by reason, and the places with the most of it"
run xpuprof report --top 2 small.xpu
has "$out" "Waits of threads (2 of 5): I/O 60.0 ms" "as many as are wanted"
run xpuprof report ways.xpu
has "$out" "   7.00 ms           2   4.00 ms    14.3 %  I/O         main 10 at main (app.py) > save (app.py)
   5.00 ms           1   5.00 ms     0.0 %  I/O         worker 11 at main (app.py) > save (app.py)
   2.00 ms           1   2.00 ms   100.0 %  run queue   main 10 at main (app.py) > save (app.py)" \
	"a row for each thread, reason and way through the program, whatever the kernel does there"
run xpuprof report pool.xpu
has "$out" "threads, and where
   12.0 ms           6   3.00 ms   100.0 %  run queue   worker (5 threads of 10) at run > spin
   4.00 ms           1   4.00 ms     0.0 %  events      worker 23 at [libcuda.so.1]
   2.00 ms           1   2.00 ms     0.0 %  I/O         worker 23 at run
   1.00 ms           1   1.00 ms     0.0 %  events      main 10 at pause
" "threads of one name that wait alike are one row; the C library and the vDSO say where only if nothing else does, and CUDA's threads are in CUDA"
run xpuprof report held.xpu
has "$out" "threads, and where
   11.0 ms           2   10.0 ms     0.0 %  lock        main 10 at main (app.py) > update (app.py)
                                            woken by worker 11 (90.9 %), meanwhile sleep (80.0 %) at main (app.py) > nap (app.py)
   10.0 ms           3   6.00 ms     0.0 %  lock        main 10 at main (app.py) > queue (app.py)
                                            woken by nobody recorded (60.0 %), xpuprof (2 threads, 40.0 %)
   10.0 ms          11   1.00 ms     0.0 %  lock        worker 11 at main (app.py) > storm (app.py)
                                            woken by nobody recorded (100.0 %), known of 10.0 % of the time
   10.0 ms           1   10.0 ms     0.0 %  I/O         xpuprof 13 at main (app.py) > save (app.py)
" "who ended waits for locks and what it did meanwhile, threads of one name together, or nobody; as far as it is known"
has "$out" "xpuprof 12 at main (app.py) > insert (app.py)
                                            woken by xpuprof 13 (100.0 %), meanwhile I/O (100.0 %) at main (app.py) > save (app.py)
" "who has the lock"
has "$out" "worker 11 at main (app.py) > insert (app.py)
                                            woken by xpuprof 12 (100.0 %), meanwhile xpuprof 13: I/O (100.0 %) at main (app.py) > save (app.py)
" "which for those that stand in line is not who woke them"
has "$out" "main 10 at main (app.py) > crowd (app.py)
                                            woken by many, none of them 20.0 % or more
   1.00 ms         100         -     0.0 %  lock        xpuprof 12 at main (app.py) > storm (app.py)
" "many are not named, nor is one that is not known"
xpuprof report --json held.xpu >held.json
is "$(python3 -c '
import json
for row in json.load(open("held.json"))["waits"]["rows"]:
    if "wakers" in row:
        print(row["tid"], row["path"][-1], [list(waker.values()) for waker in row["wakers"]], row["no_waker_ns"], row["waker_not_known_ns"],
              [list(doing.values()) for doing in row["meanwhile"]], row["meanwhile_of_ns"])')" "\
10 update (app.py) [[1, 11, 'worker', 1, 10000000]] 1000000 0 [[1, 11, 'worker', 'sleep', ['main (app.py)', 'nap (app.py)'], 8000000]] 10000000
10 queue (app.py) [[1, 12, 'xpuprof', 1, 3000000], [1, 13, 'xpuprof', 1, 1000000]] 6000000 0 [] 4000000
11 storm (app.py) [] 1000000 9000000 [] 0
12 insert (app.py) [[1, 13, 'xpuprof', 1, 9000000]] 0 0 [[1, 13, 'xpuprof', 'I/O', ['main (app.py)', 'save (app.py)'], 9000000]] 9000000
11 insert (app.py) [[1, 12, 'xpuprof', 1, 8000000]] 0 0 [[1, 13, 'xpuprof', 'I/O', ['main (app.py)', 'save (app.py)'], 8000000]] 8000000
10 crowd (app.py) [[1, 20, 'a', 1, 1000000], [1, 21, 'b', 1, 1000000], [1, 22, 'c', 1, 1000000]] 0 0 [] 6000000" \
	"JSON has the three largest of each thread, and how much time that is of"
for kind in none idle; do
	run xpuprof report $kind.xpu
	lacks "$out" "Waits of threads" "nothing where there are no waits: $kind"
done
run xpuprof report hostile.xpu
has "$out" "Waits of threads: I/O 60.0 ms" "hostile names do no harm"
run xpuprof report endless.xpu
is "$status" 1 "times that 64 bits do not hold are refused"
has "$err" "add up to more than 64 bits" "with the reason"
xpuprof report --json --top 1 small.xpu >small.json
is "$(python3 -c '
import json
waits = json.load(open("small.json"))["waits"]
print({reason: ns for reason, ns in waits["reasons_ns"].items() if ns})
print(*[list(row.values()) for row in waits["rows"]])')" \
	"{'run queue': 5000000, 'lock': 8000000, 'sleep': 9000000, 'I/O': 60000000}
[1, 11, 'worker', 'I/O', ['read (app.py)'], 1, 60000000, 0, 60000000]" "JSON has the same"
for kind in named own; do
	xpuprof report $kind.xpu | sed -n '/^Waits of threads/,/^$/p' >$kind.waits
done
is "$(diff named.waits own.waits)" "" "the profiler's own thread is left out"
has "$(cat own.waits)" "xpuprof 12 at main (app.py) > watch (app.py)" "but not one of the program's that is called so"
run xpuprof report own.xpu
has "$out" "     10 ms  xpuprof (profiler) 13 (app 10)
" "what it ran is reported under its name"
has "$out" "profiler      10 ms of the CPU time (25 %) is that of its own threads in programs, whose waits are left out" "and of the whole recording"
run xpuprof report named.xpu
lacks "$out" "profiler " "but only where it ran"
xpuprof report --json own.xpu >own.json
is "$(python3 -c '
import json
report = json.load(open("own.json"))
print([t["tid"] for t in report["threads"] if t.get("profiler")], sorted({row["tid"] for row in report["waits"]["rows"]}))')" \
	"[13] [10, 11, 12]" "JSON has the same"
done_testing
