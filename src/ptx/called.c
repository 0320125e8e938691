// SPDX-License-Identifier: MIT
/* Functions that kernels with probes call, and what the probes do not see of these. */
#include "base/error.h"
#include "base/hash.h"
#include "ptx/splice_internal.h"

static uint64_t key_of(const char *name, size_t size)
{
	return hash_bytes(name, size);
}

int ptx_called_begin(struct ptx_splicer *s)
{
	const struct ptx_function *all = s->module.functions.items;

	for (size_t i = 0; i < s->module.functions.count; i++)
		if (!all[i].entry && all[i].has_body &&
			map_put(&s->callable, key_of(all[i].name.at, all[i].name.size), i))
			return error_memory("functions of a module");
	return 0;
}

static void add(struct ptx_splicer *s, const char *name, size_t size)
{
	uint64_t n;

	/* Each once: what it calls in turn may be itself. */
	if (map_remove(&s->callable, key_of(name, size), &n) && vec_push(&s->called, (size_t)n) < 0)
		s->out_of_memory = true;
}

static void add_all(struct ptx_splicer *s)
{
	vec_foreach (f, &s->module.functions)
		if (!f->entry && f->has_body)
			add(s, f->name.at, f->name.size);
}

/* "call (result), name, (...)": what is behind the results. */
void ptx_note_call(struct ptx_splicer *s, const struct ptx_statement *i)
{
	struct ptx_lexer l = i->operands;
	struct ptx_token t = ptx_lex(&l);

	if (!s->callable.count)
		return;
	if (ptx_is_mark(&t, '(')) {
		while (t.kind != PTX_TEXT_END && !ptx_is_mark(&t, ')'))
			t = ptx_lex(&l);
		t = ptx_take_mark(&l, ',') ? ptx_lex(&l) : t;
	}
	/* By an address, it may be any. */
	if (t.kind == PTX_WORD && *t.text == '%')
		add_all(s);
	else if (t.kind == PTX_WORD)
		add(s, t.text, t.size);
}

static void count(struct ptx_splicer *s, const struct ptx_function *f)
{
	struct ptx_walk walk = ptx_walk_of(f);
	struct ptx_statement i;

	for (ptx_walk_next(&walk, &i); i.kind < PTX_BODY_END; ptx_walk_next(&walk, &i)) {
		struct ptx_memory m;

		if (i.kind != PTX_INSTRUCTION)
			continue;
		if (ptx_is_op(&i.op, "call"))
			ptx_note_call(s, &i);
		s->out.unseen_exits += ptx_is(&i.op, "exit");
		s->out.unseen_accesses += ptx_memory_of(&i.op, &i.operands, &m) != PTX_NO_ACCESS;
	}
}

int ptx_count_unseen(struct ptx_splicer *s)
{
	for (size_t i = 0; i < s->called.count; i++)
		count(s, &s->module.functions.items[s->called.items[i]]);
	return s->out_of_memory ? error_memory("functions that are called") : 0;
}
