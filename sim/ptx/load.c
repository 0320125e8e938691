// SPDX-License-Identifier: MIT
/*
 * A module is loaded: its variables get memory, its functions become instructions. A shared
 * variable is an offset: those of the module first, then those of each function, at the same
 * offsets in all; dynamic shared memory begins behind the most.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "sim/ptx/decode.h"

struct function *sim_ptx_function(const struct sim_ptx *m, struct ptx_text name)
{
	vec_foreach (f, &m->functions)
		if (name.size == strlen((*f)->name) && !memcmp((*f)->name, name.at, name.size))
			return *f;
	return NULL;
}

struct variable *sim_ptx_find(const struct sim_ptx *m, struct ptx_text name)
{
	vec_foreach (v, &m->variables)
		if (name.size == strlen(v->name) && !memcmp(v->name, name.at, name.size))
			return v;
	return NULL;
}

static uint32_t aligned(uint64_t at, uint32_t align)
{
	return (uint32_t)((at + align - 1) & ~(uint64_t)(align - 1));
}

static int add_variable(struct sim_ptx *m, const struct ptx_variable *read, uint32_t *shared)
{
	struct variable v = {.space = read->space, .bytes = read->bytes};

	if (read->bytes > (read->space == PTX_SHARED ? SHARED_MAX : 1ull << 34))
		return error_set(-EINVAL, "a variable that is too large: '%.*s'",
			(int)(read->name.size & 255), read->name.at);
	v.name = strndup(read->name.at, read->name.size);
	if (read->space == PTX_SHARED) {
		v.offset = aligned(*shared, read->align);
		*shared = v.offset + (uint32_t)read->bytes;
		if (*shared > m->shared_bytes)
			m->shared_bytes = *shared;
	} else if (posix_memalign((void **)&v.data, 256, read->bytes + 256)) {
		v.data = NULL;
	} else {
		memset(v.data, 0, read->bytes + 256);
	}
	if (!v.name || (read->space != PTX_SHARED && !v.data) || vec_push(&m->variables, v) < 0) {
		free(v.name);
		free(v.data);
		return error_memory("variables of a module");
	}
	return 0;
}

/* A number, or the address of a variable: "name", "generic(name)", "name+8". */
static bool initial_value(struct sim_ptx *m, struct ptx_lexer *l, struct type type, uint64_t *ret)
{
	struct ptx_lexer ahead = *l;
	struct ptx_token t = ptx_lex(&ahead);
	const struct variable *v;
	uint64_t added;

	if (ptx_is_mark(&t, '-') || (t.kind == PTX_WORD && *t.text >= '0' && *t.text <= '9'))
		return decode_literal(l, type, ret);
	*l = ahead;
	if (ptx_is(&t, "generic")) {
		if (!ptx_take_mark(l, '('))
			return false;
		t = ptx_lex(l);
		if (!ptx_take_mark(l, ')'))
			return false;
	}
	v = sim_ptx_find(m, (struct ptx_text){t.text, t.size});
	if (!v)
		return false;
	*ret = (uint64_t)(uintptr_t)v->data;
	if (ptx_take_mark(l, '+')) {
		if (!decode_literal(l, (struct type){'s', 8}, &added))
			return false;
		*ret += added;
	}
	return true;
}

/* Values in braces, of however many dimensions: they fill the variable from its beginning. */
static int initialize(struct sim_ptx *m, const struct ptx_variable *read, struct variable *v)
{
	struct type type = {0};
	uint64_t at = 0, value;
	struct ptx_lexer l;

	if (!read->initial.size)
		return 0;
	l = ptx_lexer_of(read->initial.at, read->initial.size);
	if (!decode_type((struct ptx_text){read->type.at + 1, read->type.size - 1}, &type))
		return error_set(
			-ENOTSUP, "a variable of a type that is not interpreted: '%s'", v->name);
	while (ptx_peek(&l).kind != PTX_TEXT_END) {
		if (ptx_take_mark(&l, '{') || ptx_take_mark(&l, '}') || ptx_take_mark(&l, ','))
			continue;
		if (at + type.bytes > v->bytes || !initial_value(m, &l, type, &value))
			return error_set(-ENOTSUP,
				"an initial value of '%s' that is not interpreted", v->name);
		memcpy(v->data + at, &value, type.bytes);
		at += type.bytes;
	}
	return 0;
}

static int load_variables(struct sim_ptx *m)
{
	uint32_t shared = 0;
	int error = 0;
	size_t i = 0;

	vec_foreach (read, &m->read.variables)
		if (!error && (read->bytes || read->space != PTX_SHARED))
			error = add_variable(m, read, &shared);
	vec_foreach (read, &m->read.variables) {
		if (error || !(read->bytes || read->space != PTX_SHARED))
			continue;
		if (read->space != PTX_SHARED)
			error = initialize(m, read, &m->variables.items[i]);
		i++;
	}
	return error;
}

/* The shared variables that stand in a function's body, with the reader of modules' directives. */
static int load_shared(struct sim_ptx *m, const struct ptx_function *f, uint32_t shared)
{
	struct ptx_lexer l = ptx_lexer_of(f->body.at, f->body.size);
	struct ptx_token t;
	int error = 0;

	while (!error && (t = ptx_lex(&l)).kind != PTX_TEXT_END && t.kind != PTX_BAD) {
		struct ptx_module one = {0};

		if (!ptx_is(&t, ".shared"))
			continue;
		error = ptx_module_read_variable(&l, PTX_SHARED, &one);
		vec_foreach (v, &one.variables)
			if (!error)
				error = add_variable(m, v, &shared);
		ptx_module_release(&one);
	}
	return error;
}

static int load_dynamic(struct sim_ptx *m)
{
	uint32_t shared = m->shared_bytes = aligned(m->shared_bytes, 16);
	int error = 0;

	vec_foreach (read, &m->read.variables)
		if (!error && !read->bytes && read->space == PTX_SHARED)
			error = add_variable(m, read, &shared);
	return error;
}

static int add_function(struct sim_ptx *m, const struct ptx_function *read)
{
	struct function *f;

	if (sim_ptx_function(m, read->name)) /* declared before it is defined */
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return error_memory("functions");
	f->module = m;
	f->entry = read->entry;
	f->name = strndup(read->name.at, read->name.size);
	if (!f->name || vec_push(&m->functions, f) < 0) {
		free(f->name);
		free(f);
		return error_memory("functions");
	}
	return 0;
}

/* How many parameters each has must be known where it is called. */
static void count_formals(struct sim_ptx *m, const struct ptx_function *read)
{
	struct function *f = sim_ptx_function(m, read->name);

	f->defined |= read->has_body;
	f->bounds = read->bounds;
	f->formals_count = read->param_count;
	f->results_count = read->result_count;
}

static int load(struct sim_ptx *m)
{
	uint32_t shared;
	int error = load_variables(m);

	shared = m->shared_bytes;
	vec_foreach (f, &m->read.functions) {
		if (!error)
			error = add_function(m, f);
		if (!error)
			count_formals(m, f);
		if (!error && f->has_body)
			error = load_shared(m, f, shared);
	}
	if (!error)
		error = load_dynamic(m);
	vec_foreach (f, &m->read.functions)
		if (!error && f->has_body)
			error = sim_ptx_decode(m, sim_ptx_function(m, f->name), f);
	return error;
}

int sim_ptx_load(const char *text, size_t size, struct sim_ptx **ret)
{
	struct sim_ptx *m = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return error_memory("a module");
	size = strnlen(text, size);
	m->text = strndup(text, size);
	error = m->text ? ptx_module_read(m->text, size, &m->read) : error_memory("a module");
	if (!error)
		error = load(m);
	if (error)
		sim_ptx_free(m);
	else
		*ret = m;
	return error;
}

static void free_function(struct function *f)
{
	while (f->targets) {
		struct targets *next = f->targets->next;

		free(f->targets->pcs);
		free(f->targets);
		f->targets = next;
	}
	vec_release(&f->formals);
	vec_release(&f->results);
	free(f->name);
	free(f);
}

void sim_ptx_free(struct sim_ptx *m)
{
	if (!m)
		return;
	vec_foreach (i, &m->code)
		free(i->operands);
	vec_foreach (f, &m->functions)
		free_function(*f);
	vec_foreach (v, &m->variables) {
		free(v->name);
		free(v->data);
	}
	vec_release(&m->code);
	vec_release(&m->functions);
	vec_release(&m->variables);
	ptx_module_release(&m->read);
	free(m->text);
	free(m);
}

void *sim_ptx_variable(struct sim_ptx *m, const char *name, size_t *ret_bytes)
{
	struct variable *v = sim_ptx_find(m, (struct ptx_text){name, strlen(name)});

	if (!v || !v->data)
		return NULL;
	*ret_bytes = v->bytes;
	return v->data;
}

void *sim_ptx_next_variable(struct sim_ptx *m, size_t *at, size_t *ret_bytes)
{
	while (*at < m->variables.count) {
		struct variable *v = &m->variables.items[(*at)++];

		if (v->data) {
			*ret_bytes = v->bytes;
			return v->data;
		}
	}
	return NULL;
}

const struct sim_ptx_kernel *sim_ptx_kernel(struct sim_ptx *m, const char *name)
{
	struct function *f = sim_ptx_function(m, (struct ptx_text){name, strlen(name)});

	return f && f->entry && f->defined ? (const struct sim_ptx_kernel *)f : NULL;
}

static const struct function *function_of(const struct sim_ptx_kernel *k)
{
	return (const struct function *)k;
}

size_t sim_ptx_param_count(const struct sim_ptx_kernel *k)
{
	return function_of(k)->formals.count;
}

size_t sim_ptx_param(const struct sim_ptx_kernel *k, size_t i, size_t *ret_bytes)
{
	*ret_bytes = function_of(k)->formals.items[i].bytes;
	return function_of(k)->formals.items[i].place;
}

size_t sim_ptx_params_bytes(const struct sim_ptx_kernel *k)
{
	return function_of(k)->formals_bytes;
}

bool sim_ptx_is_empty(const struct sim_ptx_kernel *k)
{
	const struct function *f = function_of(k);

	return f->module->code.items[f->start].run == run_return;
}

/* That a compiler would use if it could. */
static uint32_t registers_wanted(const struct function *f)
{
	return 8 + f->registers / 4;
}

static uint32_t registers_left(const struct ptx_bounds *b)
{
	uint32_t most = 255, threads = b->threads * (b->blocks ? b->blocks : 1);

	if (threads && 65536 / threads / 8 * 8 < most)
		most = 65536 / threads / 8 * 8;
	return b->registers && b->registers < most ? b->registers : most;
}

uint32_t sim_ptx_registers(const struct sim_ptx_kernel *k)
{
	const struct function *f = function_of(k);
	uint32_t wanted = registers_wanted(f), left = registers_left(&f->bounds);

	return wanted < left ? wanted : left;
}

/* Registers without a place are there, too. */
uint32_t sim_ptx_local_bytes(const struct sim_ptx_kernel *k)
{
	const struct function *f = function_of(k);

	return f->local_bytes + (registers_wanted(f) - sim_ptx_registers(k)) * 4;
}

uint32_t sim_ptx_shared_bytes(const struct sim_ptx_kernel *k)
{
	return function_of(k)->module->shared_bytes;
}
