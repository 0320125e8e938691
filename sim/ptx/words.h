/* SPDX-License-Identifier: MIT */
/*
 * The parts of instructions, between their dots: modifiers that change what is computed. Those of
 * the second table change nothing here, since memory is coherent and has no caches.
 */
#pragma once

// clang-format off
#define SIM_PTX_WORDS(W) \
	/* which half of a product; how a funnel shift goes */ \
	W(lo) W(hi) W(wide) W(l) W(r) W(wrap) W(clamp) W(sat) W(ftz) W(cc) W(shiftamt) \
	/* comparisons; lo and hi are two of them */ \
	W(eq) W(ne) W(lt) W(le) W(gt) W(ge) W(ls) W(hs) \
	W(equ) W(neu) W(ltu) W(leu) W(gtu) W(geu) W(num) W(nan) \
	/* operations of atomics, and on predicates */ \
	W(and) W(or) W(xor) W(add) W(min) W(max) W(inc) W(dec) W(exch) W(cas) \
	/* votes, shuffles, matches */ \
	W(all) W(any) W(uni) W(ballot) W(up) W(down) W(bfly) W(idx) W(sync) W(warp) W(arrive) \
	/* rounding */ \
	W(rn) W(rz) W(rm) W(rp) W(rni) W(rzi) W(rmi) W(rpi) W(approx) W(full) \
	/* spaces */ \
	W(param) W(shared) W(local) W(const) W(global) W(to) \
	/* vectors; modes of prmt */ \
	W(v2) W(v4) W(v8) W(f4e) W(b4e) W(rc8) W(ecl) W(ecr) W(rc16) \
	W(async) W(ca) W(cg) W(cluster)

#define SIM_PTX_IGNORED(W) \
	W(relaxed) W(acquire) W(release) W(acq_rel) W(sc) W(weak) W(volatile) W(mmio) \
	W(cta) W(gpu) W(sys) W(gl) W(aligned) W(cs) W(cv) W(lu) W(wb) W(wt) W(nc) \
	W(uniform) W(noftz) W(u) W(proxy) W(alias) W(evict_first) W(L1) W(L2) W(range) W(fractional) \
	W(commit_group) W(wait_group) W(wait_all)
// clang-format on
