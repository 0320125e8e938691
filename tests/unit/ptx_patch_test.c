// SPDX-License-Identifier: MIT
/* Probes as functions for machine code: which can be, for which kernels, and what is in the text.
 * That they count what they should, and that an assembler takes them, is
 * tests/cli/probe_sanitizer.t's question. */
#include <errno.h>

#include "ptx/patch.h"
#include "tap.h"

static struct ptx_body body(enum ptx_site site, const char *kernels, const char *text)
{
	return (struct ptx_body){
		.site = site, .pair = PTX_NO_PAIR, .kernels = kernels, .text = text};
}

static void what_patches_do_not_have_is_said(void)
{
	struct ptx_body b = body(PTX_AT_EXIT, "*", "{ mov.b64 %e, %xpu_cookie; }");

	CHECK_TEXT(ptx_patch_lacks(&b), "what the entry leaves for the exit");
	b = body(PTX_AT_ENTRY, "*", "{ mov.b64 %xpu_cookie, %e; }");
	CHECK(!ptx_patch_lacks(&b));
	b.pair = 0;
	CHECK_TEXT(ptx_patch_lacks(&b), "what the entry leaves for the exit");
	b = body(PTX_AT_ENTRY, "*", "{ mov.b64 %e, %xpu_arg11; }");
	CHECK_TEXT(ptx_patch_lacks(&b), "the kernel's arguments");
	b = body(PTX_AT_ENTRY, "*", "{ mov.b32 %e, %xpu_argc; }");
	CHECK_TEXT(ptx_patch_lacks(&b), "the kernel's arguments");
	b = body(PTX_AT_ACCESS, "*", "{ exit; }");
	CHECK_TEXT(ptx_patch_lacks(&b), "to end its thread");
	b = body(PTX_AT_ACCESS, "*", "{ call f; }");
	b.declarations = 1;
	CHECK_TEXT(ptx_patch_lacks(&b), "functions beside it");
	b = body(PTX_AT_LOAD, "*", "{ mov.b64 %e, %xpu_addr; mov.b32 %f, %xpu_lines; }");
	CHECK(!ptx_patch_lacks(&b));
}

static void there_are_the_functions_that_programs_need(void)
{
	const struct ptx_body bodies[] = {body(PTX_AT_EXIT, "*", "{ membar.gl; // LEAVES\n}"),
		body(PTX_AT_ENTRY, "*", "{ mov.b64 %e, %xpu_arg0; // ARGUMENT\n}"),
		body(PTX_AT_STORE, "*", "{ membar.gl; // STORES\n}")};
	struct ptx_probes probes = {.bodies = bodies, .body_count = 3};
	struct ptx_patches p;

	CHECK(!ptx_patches_make(&probes, &p));
	CHECK(!p.has[PTX_AT_ENTRY] && p.has[PTX_AT_EXIT] && p.has[PTX_AT_ACCESS]);
	CHECK(p.bodies[0] == 5 && !p.bodies[1]);
	CHECK(strstr(p.text.data, " " PTX_PATCH_EXIT "(") && strstr(p.text.data, "LEAVES"));
	CHECK(strstr(p.text.data, " " PTX_PATCH_ACCESS "(") && strstr(p.text.data, "STORES"));
	CHECK(!strstr(p.text.data, PTX_PATCH_ENTRY) && !strstr(p.text.data, "ARGUMENT"));
	CHECK(strlen(p.text.data) + 1 == p.text.size);
	ptx_patches_release(&p);
	probes.bodies = &bodies[1];
	probes.body_count = 1;
	CHECK(ptx_patches_make(&probes, &p) == -ENOENT);
}

static void damaged_bodies_are_refused(void)
{
	const struct ptx_body damaged = body(PTX_AT_EXIT, "*", "{ membar.gl; } }");
	const struct ptx_body elsewhere = body(PTX_AT_EXIT, "*", "{ mov.b64 %e, %xpu_addr; }");
	struct ptx_patches p;

	CHECK(ptx_patches_make(&(struct ptx_probes){.bodies = &damaged, .body_count = 1}, &p) ==
		-EINVAL);
	CHECK(ptx_patches_make(&(struct ptx_probes){.bodies = &elsewhere, .body_count = 1}, &p) ==
		-EINVAL);
}

static void a_kernel_has_the_bodies_that_name_it(void)
{
	static struct ptx_body bodies[70];
	struct ptx_probes probes = {.bodies = bodies, .body_count = 70};
	uint64_t mask[PTX_PATCH_BODIES / 64];
	struct ptx_patches p;

	for (int i = 0; i < 70; i++)
		bodies[i] = body(PTX_AT_ENTRY, i % 3 ? "none" : "sum*", "{ membar.gl; }");
	bodies[3] = body(PTX_AT_ENTRY, "sum*", "{ mov.b64 %e, %xpu_arg0; }");
	bodies[69].kernels = "ns::add<*>";
	CHECK(!ptx_patches_make(&probes, &p));
	CHECK(ptx_patches_for(&p, &probes, "sum_all", mask) == 22);
	CHECK(mask[0] == (0x9249249249249249ull & ~8ull) && mask[1] == 4);
	/* Readable names, too. */
	CHECK(ptx_patches_for(&p, &probes, "_ZN2ns3addIiEEvPi", mask) == 1);
	CHECK(!mask[0] && mask[1] == 32);
	probes.only = "other";
	CHECK(ptx_patches_for(&p, &probes, "sum_all", mask) == 0 && !mask[0] && !mask[1]);
	ptx_patches_release(&p);
}

int main(void)
{
	RUN(what_patches_do_not_have_is_said);
	RUN(there_are_the_functions_that_programs_need);
	RUN(damaged_bodies_are_refused);
	RUN(a_kernel_has_the_bodies_that_name_it);
	return tap_end();
}
