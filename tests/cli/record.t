#!/bin/sh
# SPDX-License-Identifier: MIT
# `xpuprof record` leaves the program as if alone, and says clearly what it could not do. (Wrong command
# lines: command_line.t.)
. "$(dirname "$0")/tap.sh"

record() {
	"$build/xpuprof" record -q -o "$work/p.xpu" "$@"
}

run record true
is "$status" 0 "a program that succeeds gives 0"
if cpu_side; then
	is "$err" "" "a quiet recording of a healthy program says nothing"
else
	has "$err" "CPU" "one line says what is missing here"
fi
true_that "it leaves the profile" test -s "$work/p.xpu"
run env XPUPROF_CACHE_DIR=/proc/none "$build/xpuprof" record -q -o "$work/p.xpu" true
is "$status" 0 "a folder in which no unwind tables can be kept is no reason not to record"
has "$err" "unwind tables are not kept for the next recording: cannot make the folder '/proc/none'" "but is reported"
run record sh -c 'exit 7'
is "$status" 7 "a program's exit status is passed on"
run record sh -c 'kill -SEGV $$'
is "$status" 139 "a program killed by a signal ends us by the same signal"
if cpu_side; then
	run record --cpu-only sh -c 'exit 3'
	is "$status" 3 "also without the GPU side"
else
	skip "the exit status without the GPU side" "CPU samples cannot be had here"
fi

echo untouched >profile.xpu
run xpuprof record no-such-command
is "$status" 127 "a command that does not exist gives 127"
is "$err" "xpuprof: cannot run 'no-such-command': No such file or directory" "and one line"
mkdir shut
chmod 0 shut
as_stranger=
[ "$(id -u)" = 0 ] && as_stranger="setpriv --reuid 4242 --regid 4242 --clear-groups"
err=$(PATH=$PWD/shut:$PATH $as_stranger "$build/xpuprof" record -o /dev/null no-such-command 2>&1)
is "$? $err" "127 xpuprof: cannot run 'no-such-command': No such file or directory" \
	"also where PATH names a folder that may not be searched"
run xpuprof record ./profile.xpu
is "$status" 126 "a file that is not executable gives 126"
is "$err" "xpuprof: cannot run './profile.xpu': Permission denied" "and one line"
is "$(cat profile.xpu)" untouched "neither touches an earlier profile"
run xpuprof record -q --cpu-only -p 4194304
is "$status" 1 "a process that is not there fails"
is "$(cat profile.xpu)" untouched "and an earlier profile stays as it was"
run xpuprof record -q -o none.xpu --cpu-only -p 4194304
true_that "and none is made" test ! -e none.xpu
if cpu_side; then
	sleep 30 &
	run xpuprof record -q -d 0.2 -o p.xpu -p $!
	has "$(xpuprof report --json p.xpu)" "\"command\":\"process $!: sleep 30\"" "a process that ran already is identified by its command"
	kill $!
else
	skip "a process that ran already is identified by its command" "CPU samples cannot be had here"
fi
run xpuprof record -q -o /dev/full -- true
is "$status" 1 "a full disk fails"
has "$err" "No space left on device" "and says so"
run xpuprof record -q -o p.xpu -o chrome:/dev/full -- true
is "$status" 1 "a form that does not fit on the disk fails"
has "$err" "No space left on device" "and says so"
run xpuprof record -q -o p.xpu -o chrome:/dev/full -- sh -c 'exit 5'
is "$status" 5 "but the program's own failure comes first"

is "$(printf 'a\nb\n' | record cat)" "$(printf 'a\nb')" "standard input and output are the program's"
alone=$(ls /proc/self/fd | wc -l)
is "$(record ls /proc/self/fd | wc -l)" "$alone" "no file descriptor leaks into the program"
# Numbers 32 and 33 are the C library's own, and it takes them where it needs them.
dispositions() {
	sed 's/^\(SigIgn:.\{8\}\)../\1--/'
}
alone=$(grep Sig /proc/self/status | grep -v SigQ | dispositions)
is "$(record grep Sig /proc/self/status | grep -v SigQ | dispositions)" "$alone" \
	"its signal mask and dispositions are ours at the start"
is "$(trap '' HUP; record grep SigIgn /proc/self/status | dispositions)" \
	"$(trap '' HUP; grep SigIgn /proc/self/status | dispositions)" \
	"a signal ignored at the start stays ignored"
env -u _ | sort >alone
record env -u _ | sort >recorded
gained="CUDA_INJECTION64_PATH OPENCL_LAYERS XPUPROF_SOCKET"
if ls /usr/lib/x86_64-linux-gnu/libze_loader.so.1 /usr/lib/aarch64-linux-gnu/libze_loader.so.1 \
	/usr/lib64/libze_loader.so.1 /usr/lib/libze_loader.so.1 /usr/local/lib/libze_loader.so.1 2>/dev/null | grep -q .; then
	gained="CUDA_INJECTION64_PATH LD_PRELOAD OPENCL_LAYERS XPUPROF_SOCKET ZE_ENABLE_TRACING_LAYER"
fi
is "$(comm -13 alone recorded | sed 's/=.*//' | xargs)" "$gained" \
	"the environment gains the documented variables, two of them where Level Zero is installed"
if cpu_side; then
	record --cpu-only env -u _ | sort >recorded
	is "$(comm -3 alone recorded)" "" "and nothing with --cpu-only"
else
	skip "the environment with --cpu-only" "CPU samples cannot be had here"
fi
run env CUDA_INJECTION64_PATH=/other.so "$build/xpuprof" record -q -o p.xpu -- printenv CUDA_INJECTION64_PATH
is "$out" /other.so "another injected library is respected"
has "$err" "CUDA_INJECTION64_PATH already names '/other.so'" "and reported"
run env CUDA_INJECTION64_PATH=/opt/libxpuprof-inject.so "$build/xpuprof" record -q -o p.xpu -- printenv CUDA_INJECTION64_PATH
is "$out$err" "$(cd "$build" && pwd)/libxpuprof-inject.so" "one of ours, of a prepared machine, gives way to that of the recorder"
run xpuprof record -q -o p.xpu -- sh -c 'ls -d "${XPUPROF_SOCKET%/*}"'
is "$status" 0 "the socket's folder is there while the program runs"
true_that "and removed at the end" test ! -e "$out"

# Signals: what is sent to us alone is passed on once. A program counts them until the file `enough` is there.
cat >count.sh <<'E2'
n=0
trap 'n=$((n + 1)); : >got' $1
: >ready
echo ready
for _ in $(seq 600); do
	[ ! -e enough ] || break
	sleep 0.1
done
exit $((40 + n))
E2
wait_for_file() { # FILE: for a minute at most
	for _ in $(seq 1200); do
		[ ! -e "$1" ] || return
		sleep 0.05
	done
}
record_counting() {
	rm -f ready got enough
	"$build/xpuprof" record -q -o p.xpu -- sh count.sh TERM &
	pid=$!
	wait_for_file ready
	kill -TERM $pid
	wait_for_file got
}
record_counting
sleep 0.5 # in which a second one would come
: >enough
wait $pid
is $? 41 "a SIGTERM sent to us reaches the program once"
record_counting
kill -TERM $pid
wait $pid
is $? 0 "a second one ends the recording and leaves the program alone"
true_that "with its profile written" "$build/xpuprof" report p.xpu >/dev/null
: >enough

# What is sent to the whole group reaches the program by itself: it is sent at once, or else once more.
cat >group.py <<'E2'
import os, signal, subprocess, sys, time


def wait_for(condition):
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)


def status_and_time():
    for name in ("ready", "got", "enough"):
        if os.path.exists(name):
            os.unlink(name)
    recorder = subprocess.Popen([sys.argv[1], "record", "-q", "-o", "g.xpu", "--", "sh", "count.sh", "TERM"],
                                stdout=subprocess.DEVNULL, start_new_session=True)
    wait_for(lambda: os.path.exists("ready"))
    begin = time.monotonic()
    os.kill(recorder.pid, signal.SIGTERM)
    os.killpg(recorder.pid, signal.SIGTERM)
    took = time.monotonic() - begin
    wait_for(lambda: os.path.exists("got"))
    time.sleep(0.5)
    open("enough", "w").close()
    return recorder.wait(60), took


for _ in range(10):
    status, took = status_and_time()
    if took < 0.02:
        break
print(status)
E2
name="a signal to us and to our whole group, as timeout sends it, reaches the program once"
if cpu_side; then
	is "$(python3 group.py "$build/xpuprof")" 41 "$name"
else
	skip "$name" "without BPF it cannot be distinguished"
fi

# The pipe takes a page of the picture: so the program has ended, and its recorder not yet.
cat >late.py <<'E2'
import fcntl, os, select, signal, subprocess, sys
os.mkfifo("late.svg")
pipe = os.open("late.svg", os.O_RDONLY | os.O_NONBLOCK)
fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 4096)
recorder = subprocess.Popen([sys.argv[1], "record", "-q", "-o", "p.xpu", "-o", "svg:late.svg", "--",
                             "sh", "-c", "timeout 0.3 sh -c 'while :; do :; done'; exit 5"])
select.select([pipe], [], [], 60)
recorder.send_signal(signal.SIGTERM)
os.set_blocking(pipe, True)
while os.read(pipe, 65536):
    pass
print(recorder.wait(60))
E2
name="a signal after the program's end does not take its status away"
if cpu_side; then
	is "$(python3 late.py "$build/xpuprof")" 5 "$name"
else
	skip "$name" "the picture of nothing is too small"
fi

# How we are started ourselves.
cat >start_with.py <<'E2'
import os, signal, sys
if sys.argv[1] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
else:
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    os.kill(os.getpid(), signal.SIGTERM)
os.execv(sys.argv[2], sys.argv[2:])
E2
run timeout 60 python3 start_with.py ignored "$build/xpuprof" record -q -o p.xpu -- grep SigIgn /proc/self/status
is "$status" 0 "an ignored SIGCHLD does not hide the end of the program"
true_that "which has it ignored as well" test $((0x${out#SigIgn:?} & 0x10000)) != 0
rm -f p.xpu
run timeout 60 python3 start_with.py pending "$build/xpuprof" record -q -o p.xpu -- touch began
is "$status" 143 "a signal that comes before the program has begun ends the recording"
true_that "and the program never begins" test ! -e began -a ! -e p.xpu

cat >zombie.py <<'E2'
import os, subprocess, sys, time
program = subprocess.Popen(["sleep", "600"])
recorder = subprocess.Popen([sys.argv[1], "record", "-q", "-o", "z.xpu", "-p", str(program.pid)])


def watches():
    """Whether it has a descriptor for a process: that which it was asked to record."""
    folder = f"/proc/{recorder.pid}/fd"
    try:
        return any("pidfd" in os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
    except FileNotFoundError:
        return False


end = time.monotonic() + 60
while not watches() and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.5)
program.kill()
print(recorder.wait(60))
E2
name="-p ends with its process, also while nobody reaps that"
if cpu_side; then
	is "$(python3 zombie.py "$build/xpuprof")" 0 "$name"
else
	skip "$name" "CPU samples cannot be had here"
fi

name="-p follows what its process had started before, down to the last"
if cpu_side; then
	sh -c 'sh -c "sh -c \"while :; do :; done\" & echo \$! >busy; wait" & wait' &
	parent=$!
	for _ in $(seq 1200); do
		[ ! -s busy ] || break
		sleep 0.05
	done
	for seconds in 0.5 3 20; do # more of them where it gets little of the CPU
		"$build/xpuprof" record -q -d $seconds -o tree.xpu -p $parent
		report=$("$build/xpuprof" report --json tree.xpu)
		case $report in *"\"pid\":$(cat busy),"*) break ;; esac
	done
	has "$report" "\"pid\":$(cat busy)," "$name"
	kill $parent "$(cat busy)"
	wait $parent 2>/dev/null
else
	skip "$name" "CPU samples cannot be had here"
fi

cat >terminal.py <<'E2'
import os, pty, signal, sys, time
pid, fd = pty.fork()
if not pid:
    signal.signal(signal.SIGINT, signal.SIG_DFL) # we may run in the background, where it is ignored
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while b"ready" not in seen:
    seen += os.read(fd, 1000)
os.write(fd, b"\x03")
end = time.monotonic() + 60
while not os.path.exists("got") and time.monotonic() < end:
    time.sleep(0.01)
time.sleep(0.5)
open("enough", "w").close()
while True:
    try:
        part = os.read(fd, 1000)
    except OSError:
        break
    if not part:
        break
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
E2
name="Ctrl-C at the terminal reaches the program once, and the recording waits for it"
if python3 -c 'import pty; pty.openpty()' 2>/dev/null; then
	rm -f ready got enough
	is "$(timeout 120 python3 terminal.py "$build/xpuprof" record -q -o p.xpu -- sh count.sh INT)" 41 "$name"
else
	skip "$name" "no pseudo-terminals here"
fi

# A command that goes into the background.
run record --wait 60 sh -c '(sleep 0.5; : >late) & exit 3'
is "$status" 3 "the status is that of the command, whatever it leaves running"
true_that "and the recording goes on until that has ended" test -e late
lacks "$err" "still running" "and nothing is said about it"
run env LD_LIBRARY_PATH="$(cd "$build/sim" && pwd)" "$build/xpuprof" record -q --wait 60 -o p.xpu -- \
	sh -c '"$0" launch 10 & exit 0' "$build/tests/targets/inject_target"
has "$("$build/xpuprof" report --json p.xpu)" '"works":10,' "with its GPU work"
name="also if it is nobody's child and in a session of its own"
if python3 -c 'import shutil, sys; sys.exit(not shutil.which("setsid"))'; then
	run record --wait 60 sh -c '(setsid sh -c "sleep 0.5; : >later" &)'
	true_that "$name" test -e later
else
	skip "$name" "no setsid here"
fi
run record --wait 0 sh -c 'sleep 60 & echo $!'
has "$err" " ($out); not recorded further" "what is not awaited is named"
has "$(xpuprof report --json p.xpu)" '"still_running":1' "and counted"
kill "$out"
"$build/xpuprof" record -q --wait 600 -o p.xpu -- sh -c 'sleep 600 & echo $$ $! >left' 2>left.err &
pid=$!
wait_for_file left
sleep 0.1
read -r command sleeper <left
for _ in $(seq 1200); do
	kill -0 "$command" 2>/dev/null || break
	sleep 0.05
done
kill -TERM $pid
wait $pid
is $? 0 "a signal ends the waiting"
has "$(cat left.err)" "still running: sleep ($sleeper); not recorded further" "and what runs on is named"
kill "$sleeper"

"$build/xpuprof" record -q -d 0.3 -o d.xpu -- sh -c 'while [ ! -e seen ]; do sleep 0.05; done; exit 9' &
pid=$!
for _ in $(seq 300); do
	run xpuprof report --json d.xpu
	[ "$(echo "$out" | grep -c '"incomplete":null')" = 1 ] && break
	sleep 0.1
done
has "$out" '"incomplete":null' "-d writes the profile while the program goes on"
: >seen
wait $pid
is $? 9 "and its exit status is still passed on"

run xpuprof record -q -o two.xpu -o two.folded -o two.svg -o two.json -o extended-folded:two.txt -- \
	sh -c 'i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'
is "$status" 0 "one run gives several forms"
for file in two.xpu two.folded two.json two.txt; do
	true_that "$file is there" test -e $file
done
if cpu_side; then
	true_that "two.svg is there" test -e two.svg
else
	has "$err" "nothing to draw" "a picture of nothing is not drawn"
fi
run xpuprof record -q gpu -o words.folded sh -c 'exit 0'
is "$status" 0 "xpu-perf's word 'gpu' is understood"
run xpuprof record -q --gpu-only -o words.folded sh -c 'exit 0'
is "$status" 0 "and its options without '--'"
true_that "a profile nobody asked for is removed" test -z "$(find . -name 'words.folded.*')"
run xpuprof record -q -o chrome:gpu.txt -o extended-folded:cpu.txt -o folded:merged.txt -- true
is "$status:$(ls gpu.txt cpu.txt merged.txt | wc -l)" 0:3 "three forms come from one run, in files of any name"
run xpuprof record -q -o chrome:/dev/stdout -- true
true_that "a form may go to /dev/stdout alone" python3 -m json.tool .out /dev/null
run xpuprof record -q --gpu-only -o chrome:/dev/stdout -- true
is "$(echo "$err" | grep warning)" "xpuprof: warning: the chrome output is empty: nothing it shows was recorded" \
	"and an empty one is said to be"
is "$(ls -d /dev/stdout.* xpuprof.*.xpu 2>/dev/null)" "" "and nothing is left beside it or here"

xpuprof record -o unread.folded -o folded:- -- sh -c 'exec >&-; exit 9' 2>&1 | true
true_that "forms are written also when nobody reads what we say" test -e unread.folded
is "$(find . -name 'unread.folded.*')" "" "and nothing is left beside them"

name="a form of a profile that did not fit on the disk comes with a warning"
mkdir small
if mount -t tmpfs -o size=16k none small 2>/dev/null; then
	run xpuprof record -F 5000 -o small/p.xpu -o p.folded -o small/p.svg -- \
		timeout 0.5 sh -c 'while :; do ls -d . >/dev/null; done'
	has "$err" "warning: 'small/p.xpu' is not whole" "$name"
	true_that "and is made" test -e p.folded
	is "$(echo "$err" | grep 'wrote')" "xpuprof: wrote p.folded" "only what was written is said to be"
	is "$(echo "$err" | grep -c "cannot write 'small/p.xpu'")" 1 "and what was not, once"
	umount small
else
	skip "$name" "no right to mount"
fi

name="a profile that may not grow further ends the recording, and the program goes on"
if cpu_side; then
	run sh -c 'ulimit -f 40; exec "$0" record -F 5000 -o cut.xpu -- sh -c "timeout 0.5 sh -c \"while :; do ls -d . >/dev/null; done\"; echo end"' \
		"$build/xpuprof"
	is "$status:$out" 1:end "$name"
	has "$err" "cannot write 'cut.xpu': File too large" "what was wrong is said"
	has "$err" "cut.xpu has the recording up to there (" "and how much there is"
	run xpuprof report cut.xpu
	has "$out" "ends at byte $(stat -c %s cut.xpu) without an end mark" "which ends with whole events"
	lacks "$out" "elapsed       not known" "and has some"
else
	skip "$name" "CPU samples cannot be had here"
fi
is "$(ulimit -f 40; record grep SigIgn /proc/self/status | dispositions)" "$(grep SigIgn /proc/self/status | dispositions)" \
	"what the recorder does about that is not the program's"

name="a recorder that is killed leaves what there was up to a second before"
if cpu_side; then
	"$build/xpuprof" record -q --cpu-only -o killed.xpu -- sh -c 'echo $$ >busy; while :; do :; done' &
	pid=$!
	has_a_second() {
		xpuprof report killed.xpu 2>/dev/null | grep -Eq "^elapsed +[1-9][0-9.]* s"
	}
	for _ in $(seq 300); do
		if has_a_second; then break; fi
		sleep 0.2
	done
	kill -KILL $pid
	wait $pid 2>/dev/null
	kill "$(cat busy)"
	run xpuprof report killed.xpu
	true_that "$name" has_a_second
	has "$out" "sh -c 'echo \$\$ >busy;" "with the command"
	run xpuprof flame -o killed.svg killed.xpu
	is "$status" 0 "which can be drawn"
else
	skip "$name" "CPU samples cannot be had here"
fi

if [ "$(id -u)" = 0 ]; then
	chmod 755 "$work"
	mkdir drop && chown nobody drop
	run env SUDO_UID="$(id -u nobody)" SUDO_USER=nobody "$build/xpuprof" record -q -o drop/s.xpu -- \
		sh -c 'id -un; echo "$HOME $SUDO_UID"'
	is "$out" "nobody
$(getent passwd nobody | cut -d: -f6) " "under sudo the program runs as the caller, with the caller's HOME"
	is "$(stat -c %U drop/s.xpu)" nobody "and the profile is the caller's"
	name="and the GPU work of a program that runs as another user is recorded"
	if setpriv --reuid=nobody --clear-groups test -r "$build/sim/libcuda.so.1"; then
		run env SUDO_UID="$(id -u nobody)" LD_LIBRARY_PATH="$(cd "$build/sim" && pwd)" "$build/xpuprof" \
			record -q -o drop/g.xpu -- "$build/tests/targets/inject_target" launch 10
		has "$("$build/xpuprof" report --json drop/g.xpu)" '"works":10,' "$name"
	else
		skip "$name" "nobody cannot read the build"
	fi
	run env SUDO_UID="$(id -u nobody)" "$build/xpuprof" record -q --as-root -o drop/s.xpu -- id -un
	is "$out" root "--as-root keeps root"
	# A shell under sudo's name shows in /proc what sudo's own process would: the caller's environment.
	cp /bin/sh sudo
	run env -u HOME -u SHELL HOME=/h SHELL=/s TAKEN=back ./sudo -c \
		'unset TAKEN; SUDO_UID=$(id -u nobody) "$0" record -o drop/s.xpu -- sh -c "echo \$TAKEN"; exit $?' \
		"$build/xpuprof"
	is "$out" back "what sudo took from the environment is put back"
	has "$err" "with what sudo had changed put back: HOME, SHELL, TAKEN" "and named"
	run env HOME=/h SHELL=/s T1=1 T2=2 T3=3 T4=4 T5=5 T6=6 T7=7 T8=8 ./sudo -c 'unset T1 T2 T3 T4 T5 T6 T7 T8
		SUDO_UID=$(id -u nobody) "$0" record -o drop/s.xpu -- sh -c "echo \$T8"; exit $?' "$build/xpuprof"
	is "$out" 8 "however much that is"
	has "$err" " and 2 more" "with the first of it named"
	cp -r "$build/xpuprof" "$build/libxpuprof-inject.so" drop/ && chmod 755 drop/*
	run setpriv --reuid=nobody --regid=nogroup --clear-groups drop/xpuprof record -q -o drop/u.xpu -- id -un
	is "$out $status" "nobody 0" "without rights the program still runs"
	has "$err" "cannot load BPF programs: this needs root" "and one line says what is missing"
	run setpriv --reuid=nobody --regid=nogroup --clear-groups drop/xpuprof record -q --stack-source=bpf -o drop/u.xpu -- id -un
	has "$err" "cannot load BPF programs" "also where only BPF may take stacks"
	run setpriv --reuid=nobody --regid=nogroup --clear-groups drop/xpuprof record -q --wait 60 -o drop/u.xpu -- \
		sh -c '(setsid sh -c "sleep 0.5; : >drop/late" &)'
	true_that "and what the command left running is awaited" test -e drop/late
	run setpriv --reuid=nobody --regid=nogroup --clear-groups drop/xpuprof record -a -d 1 -o drop/u.xpu
	is "$status" 1 "the whole system without rights fails"
else
	skip "the users of a recording" "needs root"
fi
done_testing
