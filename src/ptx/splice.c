// SPDX-License-Identifier: MIT
/*
 * The text is copied from its beginning to its end, and what is put into it written where it
 * belongs: behind the header what all kernels need, behind a kernel's `{` its registers and the
 * entry, at accesses their sites (deferred.c), before each return the exit (leave.c).
 */
#include "ptx/splice.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/hash.h"
#include "ptx/names.h"
#include "ptx/splice_internal.h"

#define ACTIVE_VERSION 62 /* PTX that has activemask */
#define WORDS_BYTES    sizeof(struct ptx_words)
#define REGISTERS      65536u /* of a multiprocessor, of all GPUs so far */
#define REGISTERS_MOST 255u   /* of a thread */

_Static_assert(sizeof(struct ptx_words) == 32 && offsetof(struct ptx_words, on) == 8 &&
		       offsetof(struct ptx_words, sites) == 16,
	"as the text has it");

uint64_t ptx_hash(const char *data, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3ull;
	return hash;
}

/* In rows side by side, as no step of one waits for those of others. */
uint64_t ptx_module_hash(const char *text, size_t size)
{
	uint64_t rows[4] = {0, 1, 2, 3}, hash, word;
	size_t at = 0;

	for (; size - at >= sizeof(rows); at += sizeof(rows))
#pragma GCC unroll 4
		for (size_t i = 0; i < 4; i++) {
			memcpy(&word, text + at + i * sizeof(word), sizeof(word));
			rows[i] = hash_step(rows[i], word);
			rows[i] ^= rows[i] >> 29;
		}
	hash = hash_combine(size, hash_bytes(text + at, size - at));
	for (size_t i = 0; i < 4; i++)
		hash = hash_combine(hash, rows[i]);
	return hash;
}

uint64_t ptx_kernel_hash(uint64_t module, const char *name, size_t size)
{
	return hash_combine(module, ptx_hash(name, size));
}

static bool is_of_word(char c)
{
	return strchr("_$.", c) || (c >= '0' && c <= '9') ||
	       ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static bool begins(const char *at, const char *end, const char *name)
{
	size_t size = strlen(name);

	return (size_t)(end - at) >= size && !memcmp(at, name, size);
}

/* Names of ours in a text that is not ours: it has been spliced before. */
static bool has_our_names(const char *text, size_t size)
{
	const char *end = text + size;

	/* Few bytes of PTX are an x. */
	for (const char *at = text; (at = memchr(at, 'x', (size_t)(end - at))); at++) {
		if (!begins(at, end, "xpu"))
			continue;
		if (begins(at, end, "xpu_") && (at == text || !is_of_word(at[-1])))
			return true;
		if (begins(at, end, "xpuprof_") && at - text >= 2 && at[-1] == '_' &&
			at[-2] == '_' && (at - text == 2 || !is_of_word(at[-3])))
			return true;
	}
	return false;
}

static bool has_partner(const struct ptx_splicer *s, const struct ptx_chosen *c)
{
	if (c->body->pair == PTX_NO_PAIR || c->body->site > PTX_AT_EXIT)
		return false;
	vec_foreach (other, &s->chosen)
		if (other->body->pair == c->body->pair && other->body->site <= PTX_AT_EXIT &&
			other->body->site != c->body->site)
			return true;
	return false;
}

/* Leaves out what has no effects, at entries only what leaves no cookie that is read, either. */
static void leave_out(struct ptx_splicer *s, bool at_entry)
{
	size_t left = 0;

	vec_foreach (c, &s->chosen)
		if (c->uses & PTX_HAS_EFFECTS || c->keeps ||
			at_entry != (c->body->site == PTX_AT_ENTRY))
			s->chosen.items[left++] = *c;
	s->chosen.count = left;
}

static int choose(struct ptx_splicer *s, struct ptx_names *names)
{
	const struct ptx_probes *p = s->probes;
	bool failed = false;

	if (p->only && !ptx_names_match(names, p->only, &failed))
		return failed ? error_memory("a kernel's name") : 0;
	for (size_t i = 0; i < p->body_count; i++)
		if (ptx_names_match(names, p->bodies[i].kernels, &failed) &&
			vec_push(&s->chosen, (struct ptx_chosen){&p->bodies[i], s->uses[i],
						     (uint32_t)i, false}) < 0)
			return error_memory("probes");
	if (failed)
		return error_memory("a kernel's name");
	s->naming = (uint32_t)s->chosen.count;
	leave_out(s, false);
	vec_foreach (c, &s->chosen)
		c->keeps = has_partner(s, c);
	leave_out(s, true);
	return 0;
}

static bool has_site(const struct ptx_splicer *s, enum ptx_site site)
{
	vec_foreach (c, &s->chosen)
		if (c->body->site == site)
			return true;
	return false;
}

static bool has_memory(const struct ptx_splicer *s)
{
	return has_site(s, PTX_AT_LOAD) || has_site(s, PTX_AT_STORE) || has_site(s, PTX_AT_ACCESS);
}

/* Several entries may share a cookie: it is declared by the first. */
static bool declares(const struct ptx_splicer *s, const struct ptx_chosen *c)
{
	if (!c->keeps || c->body->site != PTX_AT_ENTRY)
		return false;
	for (const struct ptx_chosen *o = s->chosen.items; o < c; o++)
		if (o->keeps && o->body->pair == c->body->pair && o->body->site == PTX_AT_ENTRY)
			return false;
	return true;
}

/*
 * Whether the thread's bodies run is decided here, once. Assemblers read a constant again wherever
 * it is used (ptxas 13.0 does), so that this must not be a constant to them: a vote is none. All
 * lanes of a warp begin a kernel together, and those that a warp does not have count as ended.
 */
static const char entry_text[] = "\n\t.reg .pred %%xpu_on;\n"
				 "\t{\n\t.reg .b32 %%xpu_t;\n\t.reg .pred %%xpu_p;\n"
				 "\tld.%s.u32 %%xpu_t, [" PTX_WORDS "+8];\n"
				 "\tsetp.ne.u32 %%xpu_p, %%xpu_t, 0;\n"
				 "\tvote.sync.any.pred %%xpu_on, %%xpu_p, 0xffffffff;\n\t}\n";

static void write_entry(struct ptx_splicer *s)
{
	struct buf *b = &s->out.text;

	buf_append(b, s->entry.data, s->entry.size);
	vec_foreach (c, &s->chosen)
		if (declares(s, c))
			buf_printf(b, "\t.reg .b64 %%xpu_keep%d;\n\tmov.b64 %%xpu_keep%d, 0;\n",
				c->body->pair, c->body->pair);
	vec_foreach (c, &s->chosen)
		ptx_write_sites(s, c);
	ptx_write_kept(s);
	ptx_write_site(s, &(struct ptx_site_at){.site = PTX_AT_ENTRY});
}

static int note_access(
	struct ptx_splicer *s, const struct ptx_site_at *at, uint32_t file, uint32_t line)
{
	struct ptx_access_line l = {.kernel = (uint32_t)s->out.kernels.count,
		.insn = at->insn,
		.file = file,
		.line = line,
		.bytes = at->memory->bytes,
		.kind = at->memory->kind};

	return vec_push(&s->out.lines, l);
}

/* Once: where threads leave is known only at the end. */
static int read_body(struct ptx_splicer *s)
{
	struct ptx_walk walk = ptx_walk_of(s->kernel);
	struct ptx_statement *i;

	s->statements.count = 0;
	do {
		if (vec_reserve(&s->statements, 1))
			return -ENOMEM;
		i = &s->statements.items[s->statements.count++];
		ptx_walk_next(&walk, i);
	} while (i->kind < PTX_BODY_END);
	return 0;
}

static void write_leave(struct ptx_splicer *s, const char **from, const struct ptx_statement *i,
	struct ptx_probed *probed)
{
	bool is_seen = true;

	if (ptx_leaves_waiting_loop(s, i))
		is_seen = ptx_write_bare_leave(s, from, i);
	else if (i->kind == PTX_BODY_END)
		ptx_write_last_leave(s);
	else
		ptx_write_leave(s, from, i);
	probed->returns += is_seen && i->kind != PTX_BODY_END;
	s->out.unseen_exits += !is_seen;
}

/* Whether there are bodies for it. */
static bool write_access(struct ptx_splicer *s, const char **from, const struct ptx_site_at *at)
{
	if (ptx_defer(s, from, at))
		return true;
	ptx_write_deferred(s, from);
	ptx_copy(s, from, at->statement->start);
	return ptx_write_site(s, at);
}

/* Copies the kernel's body and puts the sites into it. *from is behind its `{`, then at its `}`. */
static int splice_body(struct ptx_splicer *s, const char **from, struct ptx_probed *probed)
{
	bool memory = has_memory(s), at_exit = has_site(s, PTX_AT_EXIT);
	const struct ptx_statement *i;
	uint32_t insn = 0, file = 0, line = 0;
	bool runs_off = true; /* to what comes next */

	if (read_body(s) || (at_exit && ptx_find_labels(s)))
		return error_memory("statements of a kernel");
	for (i = s->statements.items; i->kind != PTX_BODY_END; i++) {
		struct ptx_memory m;
		enum ptx_seen seen;

		if (i->kind == PTX_DAMAGED)
			return error_set(-EINVAL, "a statement of kernel '%s' does not read as PTX",
				probed->name);
		if (i->kind == PTX_LINE) {
			s->loc = (struct ptx_text){i->start, (size_t)(i->end - i->start)};
			file = i->file;
			line = i->line;
			continue;
		}
		runs_off = true;
		if (s->deferred.count && ptx_ends_piece(i))
			ptx_write_deferred(s, from);
		if (i->kind == PTX_LABEL)
			continue;
		if (ptx_is_op(&i->op, "call"))
			ptx_note_call(s, i);
		if (at_exit && ptx_ends_waiting_loop(s, i))
			ptx_write_end_of_loop(s, from, i);
		if (at_exit && ptx_leaves(s, i)) {
			write_leave(s, from, i, probed);
			runs_off = i->predicate.size;
		}
		seen = memory ? ptx_memory_of(&i->op, &i->operands, &m) : PTX_NO_ACCESS;
		s->out.unseen_accesses += seen == PTX_NOT_SEEN;
		if (seen == PTX_SEEN) {
			struct ptx_site_at at = {
				PTX_AT_ACCESS, &m, i, insn++, (uint32_t)s->out.lines.count};

			if (write_access(s, from, &at) &&
				(probed->accesses++, note_access(s, &at, file, line)) < 0)
				return error_memory("accesses of a kernel");
		}
	}
	ptx_write_deferred(s, from);
	ptx_copy(s, from, i->start);
	if (at_exit && runs_off)
		write_leave(s, from, i, probed);
	return 0;
}

/* How many registers a compiler may use for a kernel with such bounds. */
static uint32_t registers_left(const struct ptx_bounds *b)
{
	uint32_t most = REGISTERS_MOST,
		 warps = (b->threads + 31) / 32 * (b->blocks ? b->blocks : 1);

	if (b->threads && REGISTERS / (warps * 32) / 8 * 8 < most)
		most = REGISTERS / (warps * 32) / 8 * 8;
	if (b->registers && b->registers < most)
		most = b->registers;
	return most < REGISTERS_MOST ? most : 0;
}

static void write_bound(struct ptx_splicer *s, const char **from, struct ptx_probed *probed)
{
	const struct ptx_function *f = s->kernel;

	for (size_t i = 0; !f->bounds_block && i < s->probes->bound_count; i++)
		if (!strcmp(s->probes->bounds[i].kernel, probed->name)) {
			const struct ptx_bounds bounds = {s->probes->bounds[i].threads, 0, 0};

			probed->bound = registers_left(&bounds);
			ptx_copy(s, from, f->body.at);
			buf_printf(
				&s->out.text, ".maxntid %u, 1, 1\n", s->probes->bounds[i].threads);
			return;
		}
}

static bool lacks_parameters(const struct ptx_splicer *s)
{
	uint32_t read = 0;

	vec_foreach (c, &s->chosen)
		read |= c->uses & ((1u << PTX_ARGUMENTS) - 1);
	return s->kernel->param_count < PTX_ARGUMENTS && read >> s->kernel->param_count;
}

static int write_kernel(struct ptx_splicer *s, const char **from, struct ptx_probed *probed)
{
	s->loc.size = 0;
	s->out.short_kernels += lacks_parameters(s);
	write_bound(s, from, probed);
	ptx_copy(s, from, s->kernel->body.at + 1);
	write_entry(s);
	return splice_body(s, from, probed);
}

static int splice_kernel(struct ptx_splicer *s, const char **from)
{
	const struct ptx_function *f = s->kernel;
	struct ptx_probed probed = {.hash = s->kernel_hash,
		.bodies = s->naming,
		.bounds_block = f->bounds_block,
		.bound = registers_left(&f->bounds)};
	int error;

	probed.name = strndup(f->name.at, f->name.size);
	if (!probed.name)
		return error_memory("a kernel's name");
	error = s->chosen.count ? write_kernel(s, from, &probed) : 0;
	if (!error && vec_push(&s->out.kernels, probed) < 0)
		error = error_memory("probed kernels");
	if (error)
		free(probed.name);
	return error;
}

static bool function_waits(const struct ptx_function *f)
{
	struct ptx_walk walk = ptx_walk_of(f);
	struct ptx_statement i;

	for (ptx_walk_next(&walk, &i); i.kind < PTX_BODY_END; ptx_walk_next(&walk, &i))
		if (ptx_waits(&i))
			return true;
	return false;
}

/* The probes' declarations, once for the module; and its .version, which may have to be newer. */
struct needed {
	uint64_t declarations;
	unsigned int version, sm;
};

static int write_header(struct ptx_splicer *s, const struct needed *n, const char **from)
{
	const struct ptx_module *m = &s->module;
	const char *start = *from;
	struct buf *b = &s->out.text;

	if (m->address_bits != 64)
		return error_set(-EINVAL, "the module has addresses of %u bits", m->address_bits);
	if (m->sm < n->sm)
		return error_set(-EINVAL,
			"its PTX is for sm_%u, and the programs need sm_%u: compile it for sm_%u "
			"or later",
			m->sm, n->sm, n->sm);
	if (m->version < n->version) {
		ptx_copy(s, from, m->version_text.at);
		buf_printf(b, "%u.%u", n->version / 10, n->version % 10);
		*from += m->version_text.size;
	}
	ptx_copy(s, from, start + m->behind_header);
	s->out.word_in_global = (m->const_bytes + 31) / 32 * 32 + WORDS_BYTES > PTX_CONST_BYTES;
	buf_printf(&s->entry, entry_text, ptx_word_space(s));
	if (s->entry.failed)
		return error_memory("spliced PTX");
	buf_puts(b, "\n");
	if (s->file)
		buf_printf(b, ".file %u \"" PTX_PROBE_FILE "\"\n", s->file);
	buf_printf(b, ".visible .%s .align 32 .u64 " PTX_WORDS "[4];\n", ptx_word_space(s));
	for (size_t i = 0; i < s->probes->declaration_count; i++)
		if (n->declarations & 1ull << i)
			buf_printf(b, "%s\n", s->probes->declarations[i].text);
	return 0;
}

static void need(struct ptx_splicer *s, struct needed *n)
{
	vec_foreach (c, &s->chosen) {
		const struct ptx_body *body = c->body;

		n->declarations |= body->declarations;
		if (body->version > n->version)
			n->version = body->version;
		if (ACTIVE_VERSION > n->version)
			n->version = ACTIVE_VERSION;
		if (body->sm > n->sm)
			n->sm = body->sm;
	}
}

/* Chooses the bodies of a kernel; none where it is no kernel with a body. */
static int choose_for(struct ptx_splicer *s, struct ptx_names *names, const struct ptx_function *f)
{
	s->chosen.count = 0;
	s->naming = 0;
	if (!f->entry || !f->has_body)
		return 0;
	if (!ptx_names_set(names, f->name.at, f->name.size))
		return error_memory("a kernel's name");
	s->kernel = f;
	s->kernel_hash = ptx_kernel_hash(s->out.module, f->name.at, f->name.size);
	return choose(s, names);
}

static int find_needed(struct ptx_splicer *s, struct ptx_names *names, struct needed *n)
{
	bool any = false;

	s->out.is_as_before = true;
	for (size_t i = 0; i < s->module.functions.count; i++) {
		int error = choose_for(s, names, &s->module.functions.items[i]);

		if (error)
			return error;
		need(s, n);
		any |= s->naming > 0;
		s->out.is_as_before &= !s->chosen.count;
	}
	return any ? 0 : error_set(-ENOENT, "the module has no kernel of that name");
}

static int splice_all(struct ptx_splicer *s, struct ptx_names *names, const char *text, size_t size)
{
	struct needed needed = {0};
	const char *from = text;
	int error = find_needed(s, names, &needed);

	if (error)
		return error;
	s->out.module = ptx_module_hash(text, size);
	if (has_our_names(text, size))
		return error_set(-EINVAL, "the module has names that only probes have");
	if (!s->out.is_as_before && !buf_reserve(&s->out.text, size + size / 4))
		return error_memory("spliced PTX");
	error = s->out.is_as_before ? 0 : write_header(s, &needed, &from);
	error = error ?: ptx_called_begin(s);
	vec_foreach (f, &s->module.functions)
		s->functions_wait |= !f->entry && f->has_body && function_waits(f);
	for (size_t i = 0; !error && i < s->module.functions.count; i++) {
		const struct ptx_function *f = &s->module.functions.items[i];

		error = choose_for(s, names, f);
		if (!error && s->naming)
			error = splice_kernel(s, &from);
	}
	error = error ?: ptx_count_unseen(s);
	if (error || s->out.is_as_before)
		return error;
	ptx_copy(s, &from, text + size);
	buf_putc(&s->out.text, 0);
	if (s->out.text.failed)
		return error_memory("spliced PTX");
	s->out.text.size--;
	return 0;
}

/* The names of the module's files; the probes' own gets the number after them. */
static int take_files(struct ptx_splicer *s)
{
	vec_foreach (f, &s->module.files) {
		struct ptx_file file = {f->number, strndup(f->path.at, f->path.size)};

		if (!file.path || vec_push(&s->out.files, file) < 0) {
			free(file.path);
			return error_memory("names of files");
		}
		if (f->number >= s->file)
			s->file = f->number + 1;
	}
	return 0;
}

static int read_bodies(struct ptx_splicer *s)
{
	int error = 0;

	s->uses = calloc(s->probes->body_count + 1, sizeof(*s->uses));
	if (!s->uses)
		return error_memory("probes");
	for (size_t i = 0; !error && i < s->probes->body_count; i++)
		error = ptx_body_uses(&s->probes->bodies[i], &s->uses[i]);
	return error;
}

int ptx_splice(
	const char *text, size_t size, const struct ptx_probes *probes, struct ptx_spliced *ret)
{
	struct ptx_splicer s = {.probes = probes};
	struct ptx_names names = {0};
	int error;

	size = strnlen(text, size);
	error = ptx_module_read(text, size, &s.module);
	if (!error)
		error = read_bodies(&s);
	if (!error)
		error = take_files(&s);
	if (!error)
		error = splice_all(&s, &names, text, size);
	if (error)
		ptx_spliced_release(&s.out);
	else
		*ret = s.out;
	ptx_names_release(&names);
	ptx_module_release(&s.module);
	vec_release(&s.chosen);
	vec_release(&s.statements);
	vec_release(&s.labels);
	vec_release(&s.called);
	vec_release(&s.in_waiting_loop);
	map_release(&s.callable);
	buf_release(&s.entry);
	free(s.uses);
	return error;
}

void ptx_spliced_release(struct ptx_spliced *s)
{
	vec_foreach (k, &s->kernels)
		free(k->name);
	vec_foreach (f, &s->files)
		free(f->path);
	vec_release(&s->kernels);
	vec_release(&s->lines);
	vec_release(&s->files);
	buf_release(&s->text);
}
