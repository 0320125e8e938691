# SPDX-License-Identifier: MIT
# Readers of others for shell tests, to be sourced behind tap.sh.
readers=$here/../../build/browser

# Fetches them by name and version (tests/browser/package.json) into build/browser; where that is not possible, one
# skipped test says so, and it fails.
get_readers() {
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		skip "readers of others" "no node or npm"
		return 1
	elif ! "$here/../browser/install.sh" "$readers" >"$work/.install" 2>&1; then
		sed 's/^/# /' "$work/.install" >&2
		skip "readers of others" "cannot fetch them with npm"
		return 1
	fi
	export NODE_PATH="$readers/node_modules"
}

# Runs a script that prints TAP and takes its results over under this test's numbers.
take() { # WHAT COMMAND...
	what=$1
	shift
	timeout 600 "$@" >"$work/.tap" 2>"$work/.err"
	grep -q '^1\.\.' "$work/.tap" || echo "not ok 0 - $what ended early" >>"$work/.tap"
	while IFS= read -r line; do
		case $line in
		"ok "* | "not ok "*)
			name=${line#*ok }
			case $line in not*) result 1 "$what: ${name#* - }" ;; *) result 0 "$what: ${name#* - }" ;; esac
			;;
		"#"*) printf '%s\n' "$line" ;;
		esac
	done <"$work/.tap"
	sed 's/^/# /' "$work/.err" >&2
}

# The same of a script that uses the page of recordings, and leaves pictures of it.
use_page() { # WHAT SCRIPT RECORDING...
	what=$1 script=$2
	shift 2
	take "$what" node "$here/../browser/$script" "$build/xpuprof" pictures "$@"
}
