#!/bin/sh
# SPDX-License-Identifier: MIT
# Assemblers take what the splicer makes of nvcc's PTX, for every GPU that they know.
. "$(dirname "$0")/tap.sh"

data=$here/../data/ptx
ptxas=$(command -v ptxas || ls /usr/local/cuda/bin/ptxas 2>/dev/null)
splice() {
	"$build/tests/helpers/splice_ptx" "$@"
}

# Independent truth: instructions that begin a line and are none of those that access other memory.
accesses() { # FILE
	grep -E '^(.*;)?[[:space:]]*(@!?%[a-z]+[0-9]* )?(ld|st|atom|red|cp\.async\.c[ag])[. ]' "$1" |
		grep -Ecv '(ld|st|atom|red)(\.[a-z0-9]+)*\.(param|shared|local|const)'
}

for file in "$data"/*.ptx; do
	name=$(basename "$file" .ptx)
	run splice "$file" access
	is "$err" "$(grep -o '\.entry' "$file" | grep -c .) kernels, $(accesses "$file") accesses, $(
		grep -c '^	exit;' "$file") exits and 0 accesses not seen" \
		"$name: every kernel and every access is found"
done

archs=$("$ptxas" --help 2>/dev/null | grep -o "'sm_[0-9]*'" | tr -d "'" | sort -u -V)
tried=0
for file in "$data"/*.ptx; do
	name=$(basename "$file" .ptx)
	[ "$archs" ] || {
		skip "$name is assembled" "ptxas (of a CUDA toolkit) is not installed"
		continue
	}
	target=$(sed -n 's/.*\.target sm_\([0-9]*\).*/\1/p' "$file")
	refused=
	for site in entry exit load store access all; do
		splice "$file" $site 2>/dev/null >spliced.ptx
		for arch in $archs; do
			number=${arch#sm_}
			[ "$number" -ge "$target" ] || continue
			# What all sites have must do for each GPU; each site alone does for one.
			[ $site = all ] || [ "$number" = "$target" ] || continue
			"$ptxas" -arch="$arch" -o /dev/null spliced.ptx >ptxas.log 2>&1 ||
				refused="$refused $site/$arch: $(head -1 ptxas.log)"
			tried=$((tried + 1))
		done
	done
	is "$refused" "" "$name is assembled with probes at each kind of site, for sm_$target and every later one"
done
[ $tried = 0 ] || comment "$tried texts were assembled"

[ "$archs" ] && {
	"$ptxas" -v -arch=sm_90 -o /dev/null "$data/shapes-sm90.ptx" 2>&1 | grep -A2 "'vector_add'" >before
	splice "$data/shapes-sm90.ptx" entry vector_add 2>/dev/null >spliced.ptx
	"$ptxas" -v -arch=sm_90 -o /dev/null spliced.ptx 2>&1 | grep -A2 "'vector_add'" >after
	has "$(cat after)" "0 bytes stack frame" "a probe needs no local memory"
	has "$(cat before)" "0 bytes stack frame" "nor did the kernel"
	is "$(grep -c '__xpuprof_words+8' spliced.ptx)" 1 "the word that detaches is read once, by the kernel that is named"
}

# Assemblers read constants again where they like: what decides whether a thread's probes run must be read once.
for arch in sm_75 sm_80 sm_90; do
	[ "$archs" ] || {
		skip "code for $arch reads the word that detaches once" "ptxas (of a CUDA toolkit) is not installed"
		continue
	}
	splice "$data/compute.ptx" all diverge 2>/dev/null >spliced.ptx
	"$ptxas" -arch=$arch -o spliced.cubin spliced.ptx
	# The arena's address is the first 8 bytes of .const, the word the next 4: in one line of a cache.
	is "$(python3 "$here/constant_reads.py" spliced.cubin diverge 8)" 1 "code for $arch reads the word that detaches once"
done

# if (i >= n) return; then a loop with a barrier, which waits for all lanes that have not left, also for those that wait.
cat >early.ptx <<'EOF'
.version 7.8
.target sm_75
.address_size 64
.visible .entry early(.param .u64 a, .param .u32 n)
{
	.reg .pred %p<3>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [a];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	setp.ge.u32 %p1, %r2, %r1;
	@%p1 bra DONE;
	mov.u32 %r4, 0;
	mul.wide.u32 %rd2, %r2, 4;
	add.u64 %rd3, %rd1, %rd2;
AGAIN:
	atom.global.add.u32 %r3, [%rd3], 1;
	bar.sync 0;
	add.u32 %r4, %r4, 1;
	setp.lt.u32 %p2, %r4, %r1;
	@%p2 bra AGAIN;
DONE:
	ret;
}
EOF
# So too in PTX for GPUs that kept the lanes of a warp together.
for target in sm_75 sm_60; do
	for arch in sm_75 sm_80 sm_90; do
		told="lanes that leave early do not wait behind a barrier in code for $arch from PTX for $target"
		[ "$archs" ] || {
			skip "$told" "ptxas (of a CUDA toolkit) is not installed"
			continue
		}
		sed "s/sm_75/$target/" early.ptx >target.ptx
		splice target.ptx exit 2>/dev/null >spliced.ptx
		"$ptxas" -arch=$arch -o spliced.cubin spliced.ptx
		is "$(python3 "$here/awaited_barriers.py" spliced.cubin early)" 0 "$told"
	done
done

# Lanes that leave a loop with a barrier, straight to the end: no more of its barriers are awaited than without probes.
loop() { # NAME BODY
	{
		printf '.version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n)\n{\n'
		printf '.reg .pred %%p<3>; .reg .b32 %%r<6>; .reg .b64 %%rd<3>;\n'
		printf 'ld.param.u64 %%rd1, [a]; ld.param.u32 %%r4, [n]; mov.u32 %%r1, %%tid.x; mov.u32 %%r2, 0;\n'
		printf 'mul.wide.u32 %%rd2, %%r1, 4; add.u64 %%rd2, %%rd1, %%rd2;\n'
		echo "$2"
	} >"loop_$1.ptx"
}
loop returns 'L: ld.volatile.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r3, %r1; @%p1 ret;
	bar.sync 0; add.u32 %r2, %r2, 1; st.global.u32 [%rd2], %r2; bra L; }'
loop two_ways 'L: bar.sync 0; ld.volatile.global.u32 %r3, [%rd2]; setp.eq.u32 %p1, %r3, %r1; @%p1 bra D;
	st.global.u32 [%rd2], %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r4; @%p2 bra L; D: ret; }'
loop while 'L: setp.ge.u32 %p1, %r2, %r1; @%p1 bra D; bar.sync 0; st.global.u32 [%rd2], %r2; add.u32 %r2, %r2, 1; bra L; D: ret; }'
loop falls 'L: bar.sync 0; st.global.u32 [%rd2], %r2; add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, %r1; @%p2 bra L; ret; }'
for name in returns two_ways while falls; do
	for arch in $archs; do
		case $arch in sm_1[0-9]*) continue ;; esac # of a later encoding
		"$ptxas" -arch=$arch -o loop.cubin loop_$name.ptx
		splice loop_$name.ptx exit 2>/dev/null >spliced.ptx
		"$ptxas" -arch=$arch -o spliced.cubin spliced.ptx
		is "$(python3 "$here/awaited_barriers.py" spliced.cubin k)" "$(python3 "$here/awaited_barriers.py" loop.cubin k)" \
			"no lane waits behind a loop with a barrier ($name) in code for $arch"
	done
	[ "$archs" ] || skip "no lane waits behind a loop with a barrier ($name)" "ptxas (of a CUDA toolkit) is not installed"
done
done_testing
