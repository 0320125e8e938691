// SPDX-License-Identifier: MIT
#include "ebpf/nvidia/bodies.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ebpf/nvidia/translate.h"

/* While they are made. */
struct making {
	struct bodies *bodies;
	const struct bodies_options *options;
	struct flow *flows; /* of each program */
	bool *uses_cookie;
};

static int no_memory(void)
{
	return error_memory("the programs of an eBPF object");
}

static bool calls_cookie(const struct flow *f, const struct analysis *a)
{
	for (uint32_t i = 0; i < f->steps.count; i++) {
		const struct flow_step *s = &f->steps.items[i];

		if (a->facts[i].reached && s->what == FLOW_INSN && s->insn.code == INSN_CALL &&
			s->insn.imm == HELPER_COOKIE)
			return true;
	}
	return false;
}

static uint16_t parameters_of(const struct flow *f, const struct analysis *a)
{
	uint16_t parameters = 0;

	for (uint32_t i = 0; i < f->steps.count; i++) {
		const struct flow_step *s = &f->steps.items[i];
		const struct operand *o = &a->facts[i].source;

		if (a->facts[i].reached && s->what == FLOW_INSN &&
			BPF_CLASS(s->insn.code) == BPF_LDX && o->kind == VALUE_CONTEXT &&
			!ebpf_where_is_memory(f->program->site.where))
			parameters |= (uint16_t)(1u << ((int64_t)o->value + s->insn.off) / 8);
	}
	return parameters;
}

static int check_flow(struct making *m, size_t i, bool splits_calls)
{
	const struct ebpf_object *o = m->bodies->object;
	int error = flow_build(&m->flows[i], o, &o->programs.items[i], splits_calls);

	if (error)
		return error;
	error = ebpf_check(&m->bodies->analyses[i], &m->flows[i], &m->options->check);
	if (error)
		flow_release(&m->flows[i]);
	return error;
}

/* What is refused may be only a call that the compiler merged with another. Why is said of the
 * program as it was written. */
static int check_program(struct making *m, size_t i)
{
	int error = check_flow(m, i, false);

	if (error == -EACCES && check_flow(m, i, true))
		error = check_flow(m, i, false);
	else if (error == -EACCES)
		error = 0;
	if (!error)
		m->uses_cookie[i] = calls_cookie(&m->flows[i], &m->bodies->analyses[i]);
	return error;
}

static int check_all(struct making *m)
{
	int error = 0;

	for (size_t i = 0; !error && i < m->bodies->object->programs.count; i++)
		error = check_program(m, i);
	return error;
}

/* The first exit program with this pattern that asks for a cookie names the pair. */
static int pair_of(const struct making *m, const struct ebpf_program *p)
{
	const struct ebpf_object *o = m->bodies->object;

	if (p->site.where != EBPF_AT_ENTRY && p->site.where != EBPF_AT_EXIT)
		return -1;
	for (size_t i = 0; i < o->programs.count; i++)
		if (m->uses_cookie[i] &&
			!strcmp(o->programs.items[i].site.pattern, p->site.pattern))
			return (int)i;
	return -1;
}

/* Two entry programs cannot both leave a cookie for one exit. */
static int check_pairs(const struct making *m)
{
	const struct ebpf_object *o = m->bodies->object;
	const struct ebpf_program *entry[EBPF_PROGRAMS_MAX] = {NULL};

	vec_foreach (p, &o->programs) {
		int pair = pair_of(m, p);

		if (pair < 0 || p->site.where != EBPF_AT_ENTRY)
			continue;
		if (entry[pair])
			return error_set(-EINVAL,
				"programs '%s' and '%s' both leave a cookie for the exit of '%s'",
				entry[pair]->name, p->name, p->site.pattern);
		entry[pair] = p;
	}
	for (size_t i = 0; i < o->programs.count; i++)
		if (m->uses_cookie[i] && !entry[pair_of(m, &o->programs.items[i])])
			return error_set(-EINVAL,
				"program '%s' asks for a cookie, which no entry program of '%s' "
				"leaves",
				o->programs.items[i].name, o->programs.items[i].site.pattern);
	return 0;
}

static int translate(const struct making *m, size_t i)
{
	struct bodies *b = m->bodies;
	const struct ebpf_program *p = &b->object->programs.items[i];
	struct analysis *a = &b->analyses[i];
	struct body body = {
		.program = p,
		.pair = pair_of(m, p),
		.parameters = parameters_of(&m->flows[i], a),
		.site_copies = 1,
		.texts = a->texts.items,
		.text_count = a->texts.count,
	};
	const struct map_place *sites = body_site_map(&m->flows[i], a, &b->layout);
	struct body_options options = {
		.program = (uint16_t)(m->options->layout.first_program + i),
		.keeps_cookie = p->site.where == EBPF_AT_ENTRY && body.pair >= 0,
		.once_per_warp = !p->site.per_thread && p->site.where != EBPF_ALONE,
	};

	if (sites) {
		body.site_copies = sites->copies;
		body.site_stride = sites->stride;
	}
	if (vec_push(&b->items, body))
		return no_memory();
	return body_translate(&b->items.items[i].text, &m->flows[i], a, &b->layout, &options);
}

static int make(struct making *m)
{
	struct bodies *b = m->bodies;
	int error = check_all(m);

	error = error ?: check_pairs(m);
	error = error
			?: layout_make(&b->layout, b->object, b->analyses,
				   b->object->programs.count, &m->options->layout);
	for (size_t i = 0; !error && i < b->object->programs.count; i++)
		error = translate(m, i);
	return error;
}

int bodies_make(struct bodies *b, const struct ebpf_object *o, const struct bodies_options *options)
{
	struct making m = {.bodies = b, .options = options};
	size_t count = o->programs.count;
	int error;

	*b = (struct bodies){.object = o};
	m.flows = calloc(count, sizeof(*m.flows));
	m.uses_cookie = calloc(count, sizeof(*m.uses_cookie));
	b->analyses = calloc(count, sizeof(*b->analyses));
	error = m.flows && m.uses_cookie && b->analyses ? make(&m) : no_memory();
	for (size_t i = 0; m.flows && i < count; i++)
		flow_release(&m.flows[i]);
	free(m.flows);
	free(m.uses_cookie);
	if (error)
		bodies_release(b);
	return error;
}

/*
 * The oldest GPUs whose PTX has all instructions of a body. Locks and rings need the order that
 * sm_70 brought to memory, and lanes that get on without each other; PTX for older GPUs keeps lanes
 * together on newer ones, too. So the module's target is never raised.
 */
static unsigned int oldest_sm(const char *text)
{
	static const struct {
		const char *part;
		unsigned int sm;
	} parts[] = {
		{".acquire", 70},
		{".release", 70},
		{".relaxed", 70},
		{".acq_rel", 70},
		{"%xpu_lines", 70},
		{".sys.", 60},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(text, parts[i].part))
			return parts[i].sm;
	return 30; /* votes of lanes that are named */
}

void body_probe(const struct body *b, struct ptx_body *ret)
{
	static const enum ptx_site sites[] = {
		[EBPF_AT_ENTRY] = PTX_AT_ENTRY,
		[EBPF_AT_EXIT] = PTX_AT_EXIT,
		[EBPF_AT_LOAD] = PTX_AT_LOAD,
		[EBPF_AT_STORE] = PTX_AT_STORE,
		[EBPF_AT_ACCESS] = PTX_AT_ACCESS,
		[EBPF_ALONE] = PTX_AT_ENTRY,
	};
	const struct ebpf_site *site = &b->program->site;

	*ret = (struct ptx_body){
		.site = sites[site->where],
		.once_per_warp = !site->per_thread,
		.pair = b->pair < 0 ? PTX_NO_PAIR : b->pair,
		/* Of a kernel that is made for it. */
		.kernels = site->where == EBPF_ALONE ? b->program->name : site->pattern,
		.text = buf_text(&b->text),
		.site_copies = b->site_copies,
		.site_stride = b->site_stride,
		.version = BODY_PTX,
		.sm = oldest_sm(buf_text(&b->text)),
	};
}

void bodies_release(struct bodies *b)
{
	vec_foreach (body, &b->items)
		buf_release(&body->text);
	vec_release(&b->items);
	for (size_t i = 0; b->analyses && i < b->object->programs.count; i++)
		analysis_release(&b->analyses[i]);
	free(b->analyses);
	b->analyses = NULL;
}
