// SPDX-License-Identifier: MIT
/*
 * A function's text becomes instructions, one after the other. Labels that come later are filled in
 * at its end.
 */
#include "sim/ptx/decode.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"

static const char *const words[] = {
#define WORD_TEXT(w) #w,
	SIM_PTX_WORDS(WORD_TEXT)};
static const char *const ignored[] = {SIM_PTX_IGNORED(WORD_TEXT)};

int decode_error(struct decoder *d, int error, const char *what)
{
	const char *at = d->insn.text.at ? d->insn.text.at : d->lexer.at;
	size_t size = (size_t)(d->lexer.end - at);
	const char *end = memchr(at, ';', size);

	size = end ? (size_t)(end - at) : size;
	return error_set(error, "PTX line %u: %s: '%.*s'", ptx_line_of(&d->lexer, at), what,
		(int)(size < 100 ? size : 100), at);
}

/* "global" of "global" and of "global::x". */
static bool is_word(struct ptx_text part, const char *word)
{
	size_t size = strlen(word);

	return part.size >= size && !memcmp(part.at, word, size) &&
	       (part.size == size || part.at[size] == ':');
}

static bool take_part(struct insn *i, struct ptx_text part)
{
	struct type type;

	if (decode_type(part, &type)) {
		i->from = i->type.kind ? i->type : type;
		i->type = type;
		return true;
	}
	for (unsigned int w = 0; w < WORD_COUNT; w++)
		if (is_word(part, words[w])) {
			i->words[w / 64] |= 1ull << w % 64;
			return true;
		}
	for (size_t w = 0; w < sizeof(ignored) / sizeof(*ignored); w++)
		if (is_word(part, ignored[w]))
			return true;
	return false;
}

static int take_op(struct decoder *d, const struct ptx_token *t)
{
	struct insn *i = &d->insn;
	const char *end = t->text + t->size, *at = memchr(t->text, '.', t->size);

	i->op = sim_ptx_op(t);
	if (!i->op)
		return decode_error(d, -ENOTSUP, "an instruction that is not interpreted");
	for (at = at ? at + 1 : end; at < end;) {
		const char *dot = memchr(at, '.', (size_t)(end - at));
		struct ptx_text part = {at, (size_t)((dot ? dot : end) - at)};

		if (!take_part(i, part))
			return decode_error(d, -ENOTSUP, "an instruction that is not interpreted");
		at = dot ? dot + 1 : end;
	}
	i->run = has(i, WORD_cc) ? run_add_carry : i->op->run;
	return 0;
}

static int wait_for(struct decoder *d, uint32_t *pc)
{
	struct ptx_token t = ptx_lex(&d->lexer);
	struct waiting w = {.text = {t.text, t.size}, .scope = d->names.scope, .pc = pc};

	w.insn = d->module->code.count;
	if (t.kind != PTX_WORD)
		return decode_error(d, -EINVAL, "no label");
	return vec_push(&d->names.waiting, w) < 0 ? error_memory("labels") : 0;
}

static int end_statement(struct decoder *d)
{
	return ptx_take_mark(&d->lexer, ';')
		       ? 0
		       : decode_error(d, -EINVAL, "a statement without its end");
}

static int decode_branch(struct decoder *d)
{
	int error = wait_for(d, NULL);

	return error ? error : end_statement(d);
}

/* brx.idx index, table; */
static int decode_branch_table(struct decoder *d)
{
	int error = decode_operand(d);
	struct ptx_token t;

	if (!error && !ptx_take_mark(&d->lexer, ','))
		error = decode_error(d, -EINVAL, "no table of labels");
	t = ptx_lex(&d->lexer);
	for (struct targets *all = d->function->targets; !error && all; all = all->next)
		if (text_is(all->name, (struct ptx_text){t.text, t.size}))
			d->insn.targets = all;
	if (!error && !d->insn.targets)
		error = decode_error(d, -EINVAL, "no table of labels");
	return error ? error : end_statement(d);
}

/* "(a, b)", or nothing. */
static int decode_list(struct decoder *d)
{
	int error = 0;

	if (!ptx_take_mark(&d->lexer, '('))
		return 0;
	while (!error && !ptx_take_mark(&d->lexer, ')')) {
		error = decode_operand(d);
		if (!error)
			ptx_take_mark(&d->lexer, ',');
	}
	return error;
}

/* call (results), function, (arguments); */
static int decode_call(struct decoder *d)
{
	struct ptx_token t = ptx_peek(&d->lexer);
	const struct function *f;
	int error = decode_list(d);

	d->insn.results = d->insn.count;
	if (!error && ptx_is_mark(&t, '('))
		ptx_take_mark(&d->lexer, ',');
	t = ptx_lex(&d->lexer);
	d->insn.called = sim_ptx_function(d->module, (struct ptx_text){t.text, t.size});
	if (!error && (!d->insn.called || d->insn.called->entry))
		error = decode_error(d, -ENOTSUP, "a call of what is not in the module");
	if (!error && ptx_take_mark(&d->lexer, ','))
		error = decode_list(d);
	f = d->insn.called;
	if (!error &&
		(!f->defined || f->formals_count != (size_t)(d->insn.count - d->insn.results) ||
			f->results_count != d->insn.results))
		error = decode_error(d, -ENOTSUP, "a call with other parameters, or of no body");
	return error ? error : end_statement(d);
}

static void cut_immediates(struct decoder *d)
{
	if (!d->insn.type.kind || d->insn.type.kind == 'p' || has(&d->insn, WORD_wide))
		return;
	for (unsigned int i = 0; i < d->insn.count; i++)
		if (d->operands[i].kind == IMMEDIATE && !d->operands[i].in_memory)
			d->operands[i].value = cut(d->operands[i].value, d->insn.type.bytes);
}

static int keep(struct decoder *d)
{
	struct insn *i = &d->insn;

	/* Results are rounded to nearest, and a cluster is a block. */
	if ((i->run == run_barrier && has(i, WORD_cluster)) || has(i, WORD_rz) || has(i, WORD_rm) ||
		has(i, WORD_rp))
		return decode_error(d, -ENOTSUP, "an instruction that is not interpreted");
	if (i->count < i->op->least || i->count > i->op->most || !decode_fits(i, d->operands))
		return decode_error(d, -EINVAL, "an instruction with other operands than it has");
	if (i->run == run_compute && !(i->type.kind == 'f' ? i->op->of_floats : i->op->value))
		return decode_error(d, -ENOTSUP, "an instruction that is not interpreted");
	cut_immediates(d);
	i->operands = malloc((i->count + 1u) * sizeof(*i->operands));
	if (!i->operands)
		return error_memory("operands");
	memcpy(i->operands, d->operands, i->count * sizeof(*i->operands));
	if (vec_push(&d->module->code, *i) < 0) {
		free(i->operands);
		return error_memory("instructions");
	}
	return 0;
}

static int decode_guard(struct decoder *d)
{
	struct operand *o = &d->operands[0];
	int error;

	d->insn.guard_negated = ptx_take_mark(&d->lexer, '!');
	error = decode_operand(d);
	if (!error && (o->kind != REGISTER || o->bytes))
		error = decode_error(d, -EINVAL, "no predicate");
	d->insn.guarded = true;
	d->insn.guard = o->index;
	d->insn.count = 0;
	return error;
}

static int decode_instruction(struct decoder *d, const struct ptx_token *first)
{
	struct ptx_token t = *first;
	int error = 0;

	d->insn = (struct insn){.text = {t.text, t.size}};
	if (ptx_is_mark(&t, '@')) {
		error = decode_guard(d);
		t = ptx_lex(&d->lexer);
	}
	if (!error)
		error = t.kind == PTX_WORD ? take_op(d, &t)
					   : decode_error(d, -EINVAL, "no instruction");
	if (error)
		return error;
	if (d->insn.run == run_branch)
		error = decode_branch(d);
	else if (d->insn.run == run_branch_table)
		error = decode_branch_table(d);
	else if (d->insn.run == run_call)
		error = decode_call(d);
	else
		error = decode_operands(d);
	d->insn.text.size = (size_t)(d->lexer.at - d->insn.text.at);
	return error ? error : keep(d);
}

/* Behind ".branchtargets", whose label is `name`. */
static int decode_targets(struct decoder *d, struct ptx_text name)
{
	struct targets *all = calloc(1, sizeof(*all));
	struct ptx_lexer ahead = d->lexer;
	size_t count = 1;
	int error = 0;

	if (!all)
		return error_memory("labels");
	all->next = d->function->targets;
	d->function->targets = all;
	all->name = name;
	for (struct ptx_token t = ptx_lex(&ahead); t.kind == PTX_WORD || ptx_is_mark(&t, ',');
		t = ptx_lex(&ahead))
		count++;
	all->pcs = calloc(count, sizeof(*all->pcs));
	if (!all->pcs)
		return error_memory("labels");
	do
		error = wait_for(d, &all->pcs[all->count++]);
	while (!error && ptx_take_mark(&d->lexer, ','));
	return error ? error : end_statement(d);
}

static int add_label(struct decoder *d, const struct ptx_token *t)
{
	struct label label = {{t->text, t->size}, d->names.scope, (uint32_t)d->module->code.count};
	struct ptx_lexer ahead = d->lexer;
	struct ptx_token next = ptx_lex(&ahead);

	if (vec_push(&d->names.labels, label) < 0)
		return error_memory("labels");
	if (!ptx_is(&next, ".branchtargets"))
		return 0;
	d->lexer = ahead;
	return decode_targets(d, label.text);
}

static int skip_directive(struct decoder *d, const struct ptx_token *t)
{
	if (ptx_is(t, ".loc")) {
		ptx_skip_line(&d->lexer);
		return 0;
	}
	if (!ptx_is(t, ".pragma") && !ptx_is(t, ".shared")) /* that was read before */
		return decode_error(d, -ENOTSUP, "a directive that is not interpreted");
	return ptx_skip_statement(&d->lexer)
		       ? 0
		       : decode_error(d, -EINVAL, "a directive without its end");
}

static int decode_directive(struct decoder *d, const struct ptx_token *t)
{
	d->insn.text = (struct ptx_text){t->text, t->size};
	if (ptx_is(t, ".reg") || ptx_is(t, ".local") || ptx_is(t, ".param"))
		return decode_declaration(d, t);
	return skip_directive(d, t);
}

/* The next statement; *ret_end at the function's `}`. */
static int decode_statement(struct decoder *d, bool *ret_end)
{
	struct ptx_token t = ptx_lex(&d->lexer);

	if (ptx_is_mark(&t, '{'))
		return names_enter(&d->names) ? 0 : error_memory("scopes");
	if (ptx_is_mark(&t, '}')) {
		*ret_end = d->names.marks.count == 1;
		if (!*ret_end)
			names_leave(&d->names);
		return 0;
	}
	if (ptx_is_mark(&t, ';'))
		return 0;
	if (t.kind == PTX_WORD && ptx_take_mark(&d->lexer, ':'))
		return add_label(d, &t);
	if (t.kind == PTX_WORD && *t.text == '.')
		return decode_directive(d, &t);
	return decode_instruction(d, &t);
}

static int set_labels(struct decoder *d)
{
	vec_foreach (w, &d->names.waiting) {
		const struct label *l = names_label(&d->names, w->text, w->scope);

		if (!l)
			return error_set(-EINVAL, "no label '%.*s' in PTX",
				(int)(w->text.size & 255), w->text.at);
		*(w->pc ? w->pc : &d->module->code.items[w->insn].target) = l->pc;
	}
	return 0;
}

int sim_ptx_decode(struct sim_ptx *m, struct function *f, const struct ptx_function *read)
{
	struct decoder d = {.module = m, .function = f};
	struct ptx_token end = {PTX_WORD, "ret", 3};
	bool ended = false;
	int error;

	d.lexer = ptx_lexer_of(read->body.at + 1, read->body.size - 1);
	d.lexer.start = m->text;
	f->start = (uint32_t)m->code.count;
	error = names_enter(&d.names) ? 0 : error_memory("scopes");
	if (!error)
		error = decode_formals(&d, read);
	while (!error && !ended)
		error = decode_statement(&d, &ended);
	if (!error)
		error = set_labels(&d);
	d.insn = (struct insn){.text = {"}", 1}, .op = sim_ptx_op(&end), .run = run_return};
	if (!error)
		error = keep(&d);
	names_release(&d.names);
	return error;
}
