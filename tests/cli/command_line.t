#!/bin/sh
# SPDX-License-Identifier: MIT
# The command line of every command: help, wrong use, exit statuses and the form of error lines.
. "$(dirname "$0")/tap.sh"

# One line, "xpuprof: " first, then lower case or an option, no full stop.
error_form() { # TEXT NAME
	case $1 in
	*"
"*) ;;
	"xpuprof: "[a-z-]*[!.])
		result 0 "$2"
		return
		;;
	esac
	result 1 "$2"
	printf '%s\n' "$1" | sed 's/^/# /'
}

usage_error() { # TEXT NAME; for the last run
	is "$status" 2 "$2: exit status 2"
	is "$out" "" "$2: nothing on standard output"
	has "$err" "$1" "$2: says so"
	error_form "$err" "$2: one line in the common form"
}

run xpuprof
is "$status" 2 "without a command the exit status is 2"
is "$out" "" "without a command nothing is on standard output"
has "$err" "usage: xpuprof COMMAND" "without a command the help is on standard error"

run xpuprof --help
help=$out
is "$status" 0 "--help: exit status 0"
is "$err" "" "--help: nothing on standard error"
for word in -h help; do
	run xpuprof $word
	is "$out" "$help" "$word prints what --help prints"
done

run xpuprof --version
is "$status" 0 "--version: exit status 0"
true_that "--version prints the name and a number" expr "$out" : 'xpuprof [0-9][0-9.]*$' >/dev/null

run xpuprof no-such-command
usage_error "unknown command 'no-such-command' (see 'xpuprof --help')" "an unknown command"
run xpuprof --no-such-option
usage_error "'--no-such-option'" "an option before the command"

commands=$(printf '%s\n' "$help" | sed -n '/^commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p')
for command in record flame report export doctor; do
	has " $(echo $commands) " " $command " "the help lists $command"
done

for command in $commands; do
	run xpuprof "$command" --help
	command_help=$out
	is "$status" 0 "$command --help: exit status 0"
	is "$err" "" "$command --help: nothing on standard error"
	has "$command_help" "usage: xpuprof $command " "$command --help begins with how it is used"
	run xpuprof "$command" -h
	is "$out" "$command_help" "$command -h prints what --help prints"
	run xpuprof help "$command"
	is "$out" "$command_help" "help $command prints it, too"
	run xpuprof "$command" --no-such-option
	usage_error "unknown option '--no-such-option' (see 'xpuprof $command --help')" \
		"$command with an unknown option"
	# "  -o, --output FILE   help": the long name where an argument follows.
	for option in $(printf '%s\n' "$command_help" |
		sed -n 's/^  .*\(--[a-z-]*\) [][A-Z:]*[A-Z].*/\1/p'); do
		run xpuprof "$command" "$option"
		usage_error "option '$option' needs a value" "$command $option without a value"
	done
done

for words in --help --version 'record --help'; do
	is "$(xpuprof $words 2>&1 >/dev/full; echo $?)" "xpuprof: cannot write to standard output: No space left on device
1" "$words that cannot be written fails"
done
run xpuprof record
usage_error "no command to record" "record without a command"
run xpuprof record -p 1 -- true
usage_error "give one of COMMAND, -p and -a" "record with a command and -p"
run xpuprof record --help
is "$(printf '%s\n' "$out" | sed '1,/^examples:$/d' | grep -c '^  .*xpuprof record')" 3 "record's help ends with three examples"
run xpuprof record --cpu-only --gpu-only -- true
usage_error "--cpu-only and --gpu-only leave nothing to record" "record with both restrictions"
run xpuprof record -F 0 -- true
usage_error "option '-F' takes a number from 1 to" "record with a frequency of 0"
run xpuprof record -F 99x -- true
usage_error "'99x'" "record with a frequency that is no number"
run xpuprof record -d -1 -- true
usage_error "option '-d' takes a number of seconds above 0" "record with a negative duration"
run xpuprof record -o '' -- true
usage_error "needs a file name" "record with an output without a name"
run xpuprof record -o a.xpu -o b.xpu -- true
usage_error "'a.xpu'" "record with two profiles"
run xpuprof record -o a.svg -o folded:a.svg -- true
usage_error "option '-o' names 'a.svg' twice" "record with two outputs of one name"
if script -qec true /dev/null >/dev/null 2>&1; then
	for words in "record -o - -- true" "symbolize -o - missing.xpu"; do
		has "$(script -qec "$build/xpuprof $words" /dev/null)" "a recording is no text for a terminal" \
			"no recording goes to a terminal: ${words%% *}"
	done
else
	skip "no recording goes to a terminal" "no script(1), or no pseudo-terminals"
fi
is "$(ls)" "" "wrong command lines leave no file behind"

run xpuprof record -- ./no-such-program
is "$status" 127 "a program that is not there: exit status 127"
has "$err" "./no-such-program" "a program that is not there is named"
error_form "$err" "a program that is not there: one line in the common form"
run xpuprof record -- no-such-program
is "$status" 127 "a program that is not in PATH: exit status 127"
echo 'not a program' >data
run xpuprof record -- ./data
is "$status" 126 "a file that cannot be executed: exit status 126"
has "$err" "./data" "a file that cannot be executed is named"
run xpuprof record -o no/such/folder/x.xpu -- touch started
is "$status" 1 "an output that cannot be written: exit status 1"
has "$err" "no/such/folder/x.xpu" "an output that cannot be written is named"
run xpuprof record -o no/such/folder/x.svg -- touch started
is "$status" 1 "a picture that cannot be written: exit status 1"
is "$(ls)" "data" "a recording that cannot be written does not start the program"

timeout 20 "$build/xpuprof" --version >&- 2>err
is "$?" 1 "standard output that is closed: exit status 1"
timeout 20 "$build/xpuprof" monitor list >&- 2>>err
is "$?" 1 "and a command that opens something of its own does not write to that"
is "$(grep -c 'Bad file descriptor' err)" 2 "both say so"

run xpuprof help no-such-command
usage_error "unknown command 'no-such-command'" "help of an unknown command"
run xpuprof symbolize --debug-dir no-such-folder
usage_error "option '--debug-dir' cannot look in 'no-such-folder': No such file or directory" \
	"symbolize with a folder that is not there"
run xpuprof symbolize --debug-dir data
usage_error "option '--debug-dir' takes a folder, not 'data'" "symbolize with a file for a folder"
run xpuprof export "$here/tap.sh"
usage_error "say which format with --to" "export without a format"
for command in flame report "export --to folded"; do
	run xpuprof $command missing.xpu
	is "$status" 1 "$command of a missing file: exit status 1"
	has "$err" "'missing.xpu': No such file or directory" "$command of a missing file says which"
	has "$err" "(make it with: xpuprof record -o missing.xpu -- COMMAND)" "$command says how it is made"
	error_form "$err" "$command of a missing file: one line in the common form"
	run xpuprof $command a.xpu b.xpu
	is "$status" 2 "$command of two files: exit status 2"
done

done_testing
