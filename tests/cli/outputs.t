#!/bin/sh
# SPDX-License-Identifier: MIT
# Where outputs go, and whose they are.
. "$(dirname "$0")/tap.sh"

cpu_side || skip_all "CPU samples cannot be had here"

record() {
	"$build/xpuprof" record -q --cpu-only "$@"
}

# For about as many samples as this, so that there is something to draw.
busy='i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done'

first() { # BYTES, of all that comes
	head -c "$1"
	cat >/dev/null
}

record -o p.xpu -- sh -c 'touch begun; while [ ! -e go ]; do sleep 0.05; done' &
pid=$!
while [ ! -e begun ]; do sleep 0.05; done
run record -o p.xpu touch started
is "$status" 1 "a second recorder of one file is refused"
has "$err" "cannot create 'p.xpu': another recorder is writing it" "and says why"
true_that "its command does not begin" test ! -e started
: >other.svg
record -o q.xpu -o new.svg -o other.svg 2>/dev/null -F 5000 -- sh -c "touch drawing; $busy; while [ ! -e go ]; do sleep 0.05; done" &
while [ ! -e drawing ]; do sleep 0.05; done
for name in new.svg other.svg; do
	run record -o svg:$name touch started
	is "$status $err" "1 xpuprof: cannot write '$name': another recorder is going to write it" "so is one of one picture: $name"
done
true_that "whose command does not begin either" test ! -e started
: >go
wait
true_that "and the pictures are the first one's" test -s new.svg -a -s other.svg
run record -o none.svg -o p.none.xpu ./missing
is "$status $(ls none.svg 2>&1)" "127 ls: cannot access 'none.svg': No such file or directory" "no empty picture stays"
has "$(xpuprof report --json p.xpu)" '"incomplete":null' "and the first one's recording is whole"

first=$(md5sum <p.xpu)
record -o p.xpu true
is "$(md5sum <p.xpu.old)" "$first" "an earlier recording is kept"
is "$(stat -c %a p.xpu)" 600 "a recording is its owner's"
second=$(md5sum <p.xpu)
printf '#!/nowhere\n' >bad && chmod 755 bad
run record -o p.xpu ./bad
is "$status $(md5sum <p.xpu)" "127 $second" "a command that cannot be run leaves the earlier recording where it was"
(umask 027 && record -F 5000 -o q.svg sh -c "$busy")
is "$(stat -c %a q.svg)" 640 "a picture is as private as the umask says"
echo earlier >nothing.svg
run xpuprof record -q --gpu-only -o nothing.svg true
is "$status $(cat nothing.svg)" "0 earlier" "a picture of nothing is not drawn by record"
has "$err" "nothing to draw: " "which says so"

if [ "$(id -u)" != 0 ]; then
	skip "outputs under sudo" "needs root"
	done_testing
fi
chmod 755 .
mkdir theirs && chown nobody theirs
sudo() {
	env SUDO_UID="$(id -u nobody)" "$@"
}

run sudo "$build/xpuprof" record -q --cpu-only -F 5000 -o theirs/p.xpu -o theirs/p.folded sh -c "$busy"
sudo "$build/xpuprof" flame -o theirs/p.svg theirs/p.xpu 2>/dev/null
sudo "$build/xpuprof" export -o theirs/p.json theirs/p.xpu 2>/dev/null
sudo "$build/xpuprof" symbolize -o theirs/named.xpu theirs/p.xpu >/dev/null
for file in p.xpu p.folded p.svg p.json named.xpu; do
	is "$(stat -c %U theirs/$file)" nobody "under sudo $file is the caller's"
done
run sudo "$build/xpuprof" record -q --cpu-only -o here.xpu touch started
is "$status $err" "1 xpuprof: cannot create 'here.xpu' as nobody, who called sudo: Permission denied" \
	"where the caller may write nothing, nothing is written"
for command in 'record -q --cpu-only -o here.svg true' 'flame -o here.svg theirs/p.xpu' 'export -o here.svg theirs/p.xpu'; do
	# shellcheck disable=SC2086 # words
	run sudo "$build/xpuprof" $command
	has "$err" "cannot write 'here.svg' as nobody, who called sudo: Permission denied" "nor by ${command%% *}"
done
run sudo "$build/xpuprof" symbolize -o here.xpu theirs/p.xpu
has "$err" "cannot write 'here.xpu' as nobody, who called sudo: Permission denied" "nor by symbolize"
true_that "and no file is made" test ! -e here.xpu -a ! -e here.svg -a ! -e started

for command in 'flame -o theirs/here.svg' 'report' 'export -o theirs/here.svg' 'annotate kernel' 'symbolize -o theirs/here.xpu'; do
	# shellcheck disable=SC2086 # words
	run sudo "$build/xpuprof" $command p.xpu
	is "$status $err" "1 xpuprof: cannot read 'p.xpu' as nobody, who called sudo: Permission denied" \
		"${command%% *} reads nothing that the caller may not"
done

cd theirs || exit 1
umask 077
is "$(sudo "$build/xpuprof" record -q --cpu-only -o /dev/stdout true | first 7)" XPUPROF \
	"a recording goes to a pipe of root's"
sudo "$build/xpuprof" record -q --cpu-only -o /dev/fd/7 true 7>../seven.xpu
is "$(head -c 7 ../seven.xpu)" XPUPROF "and into a file of root's that is open"
is "$(sudo "$build/xpuprof" record -q --cpu-only -o chrome:/dev/stdout true 2>/dev/null | first 1)" "{" "a trace too"
run sudo "$build/xpuprof" record -q --cpu-only -o /dev/fd/7 true 7<../seven.xpu
has "$err" "cannot create '/dev/fd/7' as nobody, who called sudo: Permission denied" "but not if it is open for reading"
is "$(sudo "$build/xpuprof" record --cpu-only -o /dev/null true 2>&1 | grep -c cannot)" 0 "a device is written"
mkfifo pipe && chown nobody pipe
sudo "$build/xpuprof" record -q --cpu-only -o pipe true &
is "$(first 7 <pipe)" XPUPROF "and a named pipe, when somebody reads it"
wait
done_testing
