// SPDX-License-Identifier: MIT
/*
 * Each function:
 *
 *	past the end where the kernel has no record, or its programs are off
 *	what the bodies are given
 *	{	past the body where it is not for this kernel, or not for this kind of access
 *		{ the body, as at a site of text }
 *	xpu_next:
 *	}
 *	... each body
 * xpu_past:
 *	returns 0
 *
 * What is the same in all lanes of a warp does not part them.
 */
#include "ptx/patch.h"

#include <errno.h>

#include "base/error.h"
#include "ptx/names.h"
#include "ptx/splice_internal.h"

#define PATCH_VERSION 63 /* PTX that has all instructions that are written here */
#define PATCH_SM      70

/* enum Sanitizer_DeviceMemoryFlags has the same bits. */
_Static_assert(PTX_READS == 1 && PTX_WRITES == 2, "as SANITIZER_MEMORY_DEVICE_FLAG_READ, _WRITE");
_Static_assert(sizeof(struct ptx_patched) == 64 && offsetof(struct ptx_patched, on) == 8 &&
		       offsetof(struct ptx_patched, kernel) == 16 &&
		       offsetof(struct ptx_patched, pc) == 24 &&
		       offsetof(struct ptx_patched, bodies) == 32,
	"as the text has it");

static const char *lacks(const struct ptx_body *body, uint32_t uses)
{
	bool keeps = body->site == PTX_AT_ENTRY && body->pair != PTX_NO_PAIR;

	if (uses & PTX_USES_ARGC || uses & ((1u << PTX_ARGUMENTS) - 1))
		return "the kernel's arguments";
	if (keeps || (body->site == PTX_AT_EXIT && uses & PTX_USES_COOKIE))
		return "what the entry leaves for the exit";
	if (uses & (PTX_USES_SITE | PTX_USES_SITES))
		return "numbers of accesses in PTX";
	if (uses & PTX_ENDS_THREADS)
		return "to end its thread";
	return body->declarations ? "functions beside it" : NULL;
}

const char *ptx_patch_lacks(const struct ptx_body *body)
{
	uint32_t uses;

	return ptx_body_uses(body, &uses) ? NULL : lacks(body, uses);
}

static enum ptx_site function_of(enum ptx_site site)
{
	return site < PTX_AT_LOAD ? site : PTX_AT_ACCESS;
}

static const char guard_text[] =
	"\t.reg .pred %xpu_p;\n\t.reg .b32 %xpu_t, %xpu_u, %xpu_x, %xpu_flags;\n"
	"\t.reg .b64 %xpu_v, %xpu_record, %xpu_arena;\n"
	"\tld.param.b64 %xpu_record, [xpu_data];\n"
	"\tsetp.eq.u64 %xpu_p, %xpu_record, 0;\n\t@%xpu_p bra xpu_past;\n"
	"\tld.global.u64 %xpu_v, [%xpu_record+8];\n"
	"\tld.volatile.global.u32 %xpu_t, [%xpu_v];\n"
	"\tsetp.eq.u32 %xpu_p, %xpu_t, 0;\n\t@%xpu_p bra xpu_past;\n"
	"\tld.global.u64 %xpu_arena, [%xpu_record];\n";

/* Atomics read and write. */
static const char memory_text[] =
	"\t.reg .b64 %xpu_addr;\n\tld.param.b64 %xpu_addr, [xpu_address];\n"
	"\t.reg .b32 %xpu_size;\n\tld.param.b32 %xpu_size, [xpu_bytes];\n"
	"\tld.param.b32 %xpu_flags, [xpu_flag_bits];\n"
	"\tand.b32 %xpu_flags, %xpu_flags, 3;\n"
	"\t.reg .b32 %xpu_kind;\n\tsetp.eq.u32 %xpu_p, %xpu_flags, 3;\n"
	"\tselp.b32 %xpu_kind, 7, %xpu_flags, %xpu_p;\n"
	"\t.reg .b32 %xpu_insn;\n\tld.param.b64 %xpu_v, [xpu_pc];\n"
	"\t{\n\t.reg .b64 %xpu_w;\n\tld.global.u64 %xpu_w, [%xpu_record+24];\n"
	"\tsub.u64 %xpu_v, %xpu_v, %xpu_w;\n\t}\n\tshr.u64 %xpu_v, %xpu_v, 4;\n"
	"\tcvt.u32.u64 %xpu_insn, %xpu_v;\n";

static void write_chosen(struct ptx_splicer *s, const struct ptx_chosen *c)
{
	struct buf *b = &s->out.text;
	enum ptx_site site = c->body->site;

	buf_printf(b, "\t{\n\tld.global.u32 %%xpu_t, [%%xpu_record+%zu];\n",
		offsetof(struct ptx_patched, bodies) + c->number / 32 * 4);
	buf_printf(b, "\tand.b32 %%xpu_t, %%xpu_t, 0x%x;\n", 1u << c->number % 32);
	buf_puts(b, "\tsetp.eq.u32 %xpu_p, %xpu_t, 0;\n\t@%xpu_p bra xpu_next;\n");
	if (site == PTX_AT_LOAD || site == PTX_AT_STORE)
		buf_printf(b, "\tsetp.ne.u32 %%xpu_p, %%xpu_kind, %u;\n\t@%%xpu_p bra xpu_next;\n",
			site == PTX_AT_LOAD ? PTX_READS : PTX_WRITES);
	ptx_write_body(s, c, false);
	buf_puts(b, "xpu_next:\n\t}\n");
}

static void write_function(struct ptx_splicer *s, enum ptx_site site, const char *name)
{
	struct buf *b = &s->out.text;
	uint32_t uses = 0;

	buf_printf(b,
		".visible .func (.param .b32 xpu_result) %s(.param .b64 xpu_data, "
		".param .b64 xpu_pc%s)\n{\n",
		name,
		site == PTX_AT_ACCESS ? ", .param .b64 xpu_address, .param .b32 xpu_bytes, "
					".param .b32 xpu_flag_bits, .param .b64 xpu_new"
				      : "");
	vec_foreach (c, &s->chosen)
		if (function_of(c->body->site) == site)
			uses |= c->uses | (ptx_needs_active(c) ? PTX_USES_ACTIVE : 0);
	buf_puts(b, guard_text);
	if (uses & PTX_USES_KERNEL)
		buf_puts(b, "\t.reg .b64 %xpu_kernel;\n"
			    "\tld.global.u64 %xpu_kernel, [%xpu_record+16];\n");
	if (site == PTX_AT_ACCESS)
		buf_puts(b, memory_text);
	if (uses & PTX_USES_ACTIVE)
		buf_puts(b, ptx_active_text);
	if (uses & PTX_USES_LINES)
		buf_puts(b, ptx_lines_text);
	vec_foreach (c, &s->chosen)
		if (function_of(c->body->site) == site)
			write_chosen(s, c);
	buf_puts(b, "xpu_past:\n\tst.param.b32 [xpu_result], 0;\n\tret;\n}\n");
}

/* The bodies that patches can have. */
static int choose(
	struct ptx_splicer *s, struct ptx_patches *p, unsigned int *version, unsigned int *sm)
{
	const struct ptx_probes *probes = s->probes;

	if (probes->body_count > PTX_PATCH_BODIES)
		return error_set(-EINVAL, "more than %d programs", PTX_PATCH_BODIES);
	for (size_t i = 0; i < probes->body_count; i++) {
		struct ptx_chosen c = {.body = &probes->bodies[i], .number = (uint32_t)i};
		int error = ptx_body_uses(c.body, &c.uses);

		if (error)
			return error;
		if (lacks(c.body, c.uses))
			continue;
		if (vec_push(&s->chosen, c))
			return error_memory("patches");
		p->bodies[i / 64] |= 1ull << i % 64;
		p->has[function_of(c.body->site)] = true;
		*version = c.body->version > *version ? c.body->version : *version;
		*sm = c.body->sm > *sm ? c.body->sm : *sm;
	}
	return s->chosen.count ? 0 : error_set(-ENOENT, "no program can be a patch");
}

static int make(struct ptx_splicer *s, struct ptx_patches *p)
{
	unsigned int version = PATCH_VERSION, sm = PATCH_SM;
	int error = choose(s, p, &version, &sm);

	if (error)
		return error;
	buf_printf(&s->out.text, ".version %u.%u\n.target sm_%u\n.address_size 64\n", version / 10,
		version % 10, sm);
	if (p->has[PTX_AT_ENTRY])
		write_function(s, PTX_AT_ENTRY, PTX_PATCH_ENTRY);
	if (p->has[PTX_AT_EXIT])
		write_function(s, PTX_AT_EXIT, PTX_PATCH_EXIT);
	if (p->has[PTX_AT_ACCESS])
		write_function(s, PTX_AT_ACCESS, PTX_PATCH_ACCESS);
	buf_putc(&s->out.text, 0);
	return s->out.text.failed ? error_memory("patches") : 0;
}

int ptx_patches_make(const struct ptx_probes *probes, struct ptx_patches *ret)
{
	struct ptx_splicer s = {.probes = probes};
	struct ptx_patches p = {.text = BUF_INIT};
	int error = make(&s, &p);

	p.text = s.out.text;
	vec_release(&s.chosen);
	if (error)
		ptx_patches_release(&p);
	else
		*ret = p;
	return error;
}

void ptx_patches_release(struct ptx_patches *p)
{
	buf_release(&p->text);
}

int ptx_patches_for(const struct ptx_patches *p, const struct ptx_probes *probes,
	const char *kernel, uint64_t ret[PTX_PATCH_BODIES / 64])
{
	struct ptx_names names = {0};
	bool failed = !ptx_names_set(&names, kernel, strlen(kernel));
	bool named = !failed && (!probes->only || ptx_names_match(&names, probes->only, &failed));
	int count = 0;

	memset(ret, 0, PTX_PATCH_BODIES / 8);
	for (size_t i = 0; named && !failed && i < probes->body_count; i++)
		if (p->bodies[i / 64] >> i % 64 & 1 &&
			ptx_names_match(&names, probes->bodies[i].kernels, &failed)) {
			ret[i / 64] |= 1ull << i % 64;
			count++;
		}
	ptx_names_release(&names);
	return failed ? error_memory("a kernel's name") : count;
}
