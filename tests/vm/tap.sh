# SPDX-License-Identifier: MIT
# tests/cli/tap.sh, and what the tests in virtual machines share. To be sourced by tests/vm/*.t.
. "$(dirname "$0")/../cli/tap.sh"
LD_LIBRARY_PATH=$build/sim
export LD_LIBRARY_PATH

# Where launch stacks can be taken: what --stack-source may say here; one empty word: there is no choice.
stack_sources() {
	xpuprof record --help | grep -q -e --stack-source && echo bpf inprocess || echo default
}

# recorded SOURCE OPTION... -- COMMAND: the command's $status, $out and $err; the profile is p.xpu
recorded() {
	source=$1
	shift
	rm -f p.xpu p.json
	[ "$source" = default ] || set -- --stack-source "$source" "$@"
	run timeout 120 "$build/xpuprof" record -q -o p.xpu "$@"
}

# told EXPRESSION: of the report in JSON, r, which is made once, and read by a Python without its site's modules: both take
# seconds where the processor is emulated
told() {
	[ -s p.json ] || xpuprof report --json p.xpu >p.json 2>/dev/null
	python3 -SE -c "import json; r = json.load(open('p.json')); s = r['stacks']; print($1)"
}

# What a recording has to say about its stacks and losses, as comments.
describe() {
	told 's, {k: v for k, v in r["losses"].items() if v}' | sed 's/^/# /'
}
. "$here/modules.sh"
