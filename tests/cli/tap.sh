# SPDX-License-Identifier: MIT
# TAP from the shell, to be sourced by tests/cli/*.t:
#
#	. "$(dirname "$0")/tap.sh"
#	run xpuprof flame missing.xpu                 # -> $status, $out (stdout), $err (stderr)
#	is "$status" 1 "a missing file fails"
#	has "$err" "cannot open 'missing.xpu'" "and says which"
#	done_testing
#
# Every test works in a fresh folder ($work), removed at the end. $build is the build folder, $here the
# folder of the tests, $golden that of what they expect, xpuprof the program.
#
# What fails must be understood from the output alone: with the first failure behind a `run` comes what that command
# was, how it ended and what it said, and with every failure $context, where a test puts what its comparisons
# are made from.

here=$(cd "$(dirname "$0")" && pwd)
build=${XPUPROF_BUILD:-$here/../../build}
golden=$here/../golden
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export XPUPROF_SIM_MACHINE="test $$" # simulated GPUs of its own
exec 3>&1 # for results, so that a test may send its command's output elsewhere
tests=0
failed=0
cpu_side=
ran=     # by run, and not told yet
context=

xpuprof() {
	"$build/xpuprof" "$@"
}

# A folder of libraries that only root can change: as root no others are loaded. Sets $trusted to it; removed at the end.
make_trusted() {
	trusted=$(mktemp -d /run/xpuprof-test.XXXXXX) || return
	trap 'rm -rf "$work" "$trusted"' EXIT
	chmod 755 "$trusted"
}

# Whether all CPU samples and launch stacks can be recorded here; what an ordinary user has is less.
cpu_side() {
	[ "$cpu_side" ] || {
		cpu_side=no
		xpuprof record -q -a --cpu-only -d 0.01 -o "$work/.cpu_side.xpu" >/dev/null 2>&1 && cpu_side=yes
	}
	[ $cpu_side = yes ]
}

run() {
	ran=$*
	context=
	"$@" >"$work/.out" 2>"$work/.err" </dev/null
	status=$?
	out=$(cat "$work/.out")
	err=$(cat "$work/.err")
}

comment() { # TEXT...: the first of its lines
	printf '%s\n' "$@" | sed -e '61{s/.*/.../;q;}' -e 's/^/# /' >&3
}

explain() {
	[ "$ran" ] && comment "ran: $ran" "status: $status" "stderr: $err" "stdout: $out"
	ran=
	[ "$context" ] && comment "from: $context"
}

result() { # 0|1 NAME
	tests=$((tests + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tests - $2" >&3
	else
		failed=$((failed + 1))
		echo "not ok $tests - $2" >&3
		explain
	fi
}

is() { # GOT EXPECTED NAME
	if [ "$1" = "$2" ]; then
		result 0 "$3"
	else
		result 1 "$3"
		comment "got:      $1" "expected: $2"
	fi
}

has() { # TEXT PART NAME
	case $1 in
	*"$2"*) result 0 "$3" ;;
	*)
		result 1 "$3"
		comment "no '$2' in:" "$1"
		;;
	esac
}

lacks() { # TEXT PART NAME
	case $1 in
	*"$2"*)
		result 1 "$3"
		comment "'$2' is in:" "$1"
		;;
	*) result 0 "$3" ;;
	esac
}

true_that() { # NAME COMMAND...
	name=$1
	shift
	if "$@"; then result 0 "$name"; else result 1 "$name"; fi
}

# What the last run printed, or a file, is that golden file.
same() { # GOLDEN NAME [FILE]
	if cmp -s "$golden/$1" "${3-$work/.out}"; then
		result 0 "$2"
	else
		result 1 "$2"
		diff "$golden/$1" "${3-$work/.out}" | sed 's/^/# /'
	fi
}

# The sum of the counts of the last run's folded lines that match (or do not match, with -v) a pattern.
total() {
	grep "$@" "$work/.out" | awk '{ sum += $NF } END { print sum + 0 }'
}

skip() { # NAME REASON
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}

skip_all() { # REASON
	echo "1..0 # SKIP $1"
	exit 0
}

done_testing() {
	echo "1..$tests"
	[ "$failed" = 0 ]
	exit
}
