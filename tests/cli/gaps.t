#!/bin/sh
# SPDX-License-Identifier: MIT
# Why GPUs were idle and for what threads waited, in `xpuprof report`, on profiles with known gaps (tests/helpers/wait_profile.c).
. "$(dirname "$0")/tap.sh"
for kind in gpu small hostile cut; do
	"$build/tests/helpers/wait_profile" $kind $kind.xpu || exit 1
done

run xpuprof report gpu.xpu
has "$out" "GPU 0: idle 33.3 % of the time between its first and last work: 25.0 ms of 75.0 ms, in 4 gaps" \
	"the report says how long a GPU was idle"
has "$out" "app (10) is mostly compute-bound: of 50.0 ms kernels ran for 78.0 %, only copies for 22.0 %" \
	"and what a process is bound by"
has "$out" "   18.0 ms   72.0 %         2  synchronization; at main (app.py) > fetch (app.py)" \
	"with the likely causes, and where they are"
has "$out" "   7.00 ms   28.0 %         2  between work that was queued" "the largest first"
has "$out" "   11.0 ms   69.0 ms  synchronization; at main (app.py) > fetch (app.py)
                        main 10 ran 27.3 %, in API calls 9.1 %, synchronizing 9.1 %, waited 54.5 % (mostly sleep): nap (app.py)" \
	"and of each gap what threads did meanwhile"
has "$out" "     total       count   longest  thread and call, and what it waited for
   40.0 ms           1   40.0 ms  main 10 in cudaStreamSynchronize at main (app.py) > loss (app.py)
                                  for norm launched at main (app.py) > step (app.py)" "which work a thread waited for, and who launched it"
has "$out" "Longest gaps of GPU 0 (3 of 4)" "three of them, unless more are wanted"
run xpuprof report --top 4 gpu.xpu
has "$out" "   2.00 ms   50.0 ms  as at 40.0 ms
" "and what is the same for several is said once"
run xpuprof report --top 1 gpu.xpu
has "$out" "Longest gaps of GPU 0 (1 of 4)" "as many as are wanted"
run xpuprof report small.xpu
lacks "$out" "idle" "without GPU work nothing is reported"
xpuprof report --json gpu.xpu >gpu.json
is "$(python3 -c '
import json
idle = json.load(open("gpu.json"))["idle"]
gap = idle["devices"][0]["gaps"][0]
print(len(idle["devices"][0]["gaps"]), gap["duration_ns"], gap["cause"], gap["path"][-1], gap["threads"][0]["waits_ns"])
print(idle["waits_recorded"], idle["processes"][0]["kernels_ns"], sum(g["duration_ns"] for g in idle["devices"][0]["gaps"]))')" \
	"4 11000000 synchronization fetch (app.py) {'sleep': 6000000}
True 39000000 25000000" "JSON has all gaps"
is "$(python3 -c '
import json
for w in json.load(open("gpu.json"))["gpu_waits"]:
    print(*w.values())')" \
	"1 10 main cudaStreamSynchronize ['main (app.py)', 'loss (app.py)'] kernel norm norm ['main (app.py)', 'step (app.py)'] 1 40000000 40000000
1 10 main cudaMemcpy ['main (app.py)', 'fetch (app.py)'] copy DtoH ['main (app.py)', 'fetch (app.py)'] 1 10000000 10000000" \
	"JSON has who waited for which work"
run xpuprof report cut.xpu
has "$out" "Stacks
    66.7 % of 3 stacks of waits are complete
    66.7 % of them have Python frames
    33.3 %           1 too deep
" "why stacks of waits are incomplete"
xpuprof report --json cut.xpu >cut.json
is "$(python3 -c '
import json
print({k: v for k, v in json.load(open("cut.json"))["stacks"].items() if k.startswith("waits")})')" \
	"{'waits': 3, 'waits_incomplete': 1, 'waits_python': 2, 'waits_reasons': [{'reason': 'too deep', 'count': 1}]}" \
	"so does JSON"
run xpuprof report hostile.xpu
is "$status" 0 "hostile names do no harm"
done_testing
