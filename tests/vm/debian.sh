# SPDX-License-Identifier: MIT
# Packages of another release of Debian's, without installing any. To be sourced by what fetches them, as which the caller has named
# itself in $me.
#
# The packages come by the mirror that this machine's apt is configured with, and are checked against the keys of
# Debian's archive. apt's own configuration, lists and cache stay as they are: apt gets folders of its own, below
# $work, and believes that nothing is installed.
keys=/usr/share/keyrings/debian-archive-keyring.gpg

fail() {
	echo "$me: $*" >&2
	exit 1
}

try() { # COMMAND...: says what it said when it fails
	"$@" >"$work/log" 2>&1 && return
	sed 's/^/# /' "$work/log" >&2
	return 1
}

# about_kernel NAME: what tests/vm/kernels/NAME says (fetch-kernel has what), and the folder for it in $kernel.
about_kernel() {
	[ -f "$here/kernels/$1" ] || fail "no kernel '$1': there are $(ls "$here/kernels" | xargs)"
	name=$1
	suite=
	mirror=Debian
	. "$here/kernels/$name"
	cache=${XPUPROF_CACHE:-$here/../../build/vm}
	mkdir -p "$cache/kernels"
	cache=$(cd "$cache" && pwd)
	kernel=$cache/kernels/$name
}

archive_of() { # LABEL
	apt-get indextargets 'Created-By: Packages' 'Origin: Debian' "Label: $1" --format '$(REPO_URI)' | head -1
}

# use_suites LABEL SUITE...: the packages that apt will know of
use_suites() {
	url=$(archive_of "$1")
	[ "$url" ] || fail "apt knows no archive with the label '$1' to fetch from"
	shift
	for each; do
		echo "deb [signed-by=$keys] $url $each main"
	done >>"$work/apt/sources.list"
}

begin_apt() {
	command -v apt-get >/dev/null || fail "kernels come from Debian's archive, and there is no apt here"
	[ -e "$keys" ] || fail "without '$keys' packages cannot be checked"
	mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial"
	: >"$work/apt/status"
}

# Suites that get no more updates have lists that count as expired; their signatures are good all the same.
apt() {
	command=$1
	shift
	"$command" -q -o Dir::State="$work/apt" -o Dir::State::lists=lists -o Dir::State::status="$work/apt/status" \
		-o Dir::Cache="$work/apt" -o Dir::Etc::sourcelist="$work/apt/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null \
		-o APT::Sandbox::User="$(id -un)" -o APT::Default-Release= -o Acquire::Check-Valid-Until=false "$@"
}

unpack() { # FOLDER: all packages that were fetched
	for package in "$work"/apt/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -f - -C "$1"
	done
}

# use_sid: apt knows the packages of Debian's sid
use_sid() {
	begin_apt
	use_suites Debian sid
	try apt apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=15 -o Acquire::Languages=none update || fail "no lists of packages"
}

# libraries_of PACKAGE...: those of Debian's sid, with all that they want, the C library and its ld.so too, in $work/root and
# $libraries there
libraries_of() {
	try apt apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=15 -y --no-install-recommends --download-only install "$@" ||
		fail "no packages"
	mkdir "$work/root"
	unpack "$work/root"
	libraries=$work/root/usr/lib/x86_64-linux-gnu
	[ -e "$libraries/ld-linux-x86-64.so.2" ] || cp "$work/root/usr/lib64/ld-linux-x86-64.so.2" "$libraries"
}
