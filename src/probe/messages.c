// SPDX-License-Identifier: MIT
/* Messages of the libraries. What a process can make us keep is limited. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "probe/server_internal.h"

#define IN_TURN	    256 /* of one process */
#define LINES_MAX   (1u << 20)
#define FILES_MAX   65536
#define MODULES_MAX 65536
#define TEXTS_BYTES 16384 /* of each fate */

union message {
	uint32_t what;
	struct probe_hello hello;
	struct probe_arena arena;
	struct probe_kernel kernel;
	struct probe_lines lines;
	struct probe_file file;
	struct probe_image image;
	uint8_t bytes[PROBE_MESSAGE_MAX];
};

static void add_without(struct server *s, struct probe_kernel *m)
{
	const struct server_unprobed k = {
		.name = m->name, .reason = m->about, .why = (enum probe_fate)m->fate, .images = 1};

	m->name[sizeof(m->name) - 1] = 0;
	m->about[sizeof(m->about) - 1] = 0;
	for (char *c = m->about; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	if (m->fate >= PROBE_FATE_COUNT || server_add_unprobed(s, &k))
		s->notes_lost++;
}

static void add_kernel(struct server *s, struct probe_kernel *m)
{
	const struct server_kernel k = {.hash = m->hash,
		.module = m->module,
		.name = m->name,
		.file = m->about,
		.bodies = m->bodies,
		.returns = m->returns,
		.accesses = m->accesses,
		.bound = m->bound,
		.images = 1,
		.with = m->with,
		.without = m->without};

	m->name[sizeof(m->name) - 1] = 0;
	m->about[sizeof(m->about) - 1] = 0;
	if (server_add_kernel(s, &k))
		s->notes_lost++;
}

static uint64_t file_key(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

static void add_file(struct server *s, uint32_t process, struct probe_file *m)
{
	uint64_t key = file_key(process, m->number);
	uint32_t id;

	/* A number means what it meant first: paths are kept. */
	if (map_get(&s->files, key))
		return;
	m->path[sizeof(m->path) - 1] = 0;
	if (s->files.count >= FILES_MAX ||
		interner_add(s->strings, m->path, strlen(m->path), &id, NULL) ||
		map_put(&s->files, key, id))
		s->notes_lost++;
}

static uint64_t site_key(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

/* A number means what it meant first. */
static void add_site(struct server *s, uint32_t process, uint64_t number, struct server_site site)
{
	const struct plan *p = s->plan;
	uint64_t key = site_key(process, (uint32_t)number);

	if (number >= p->objects.items[p->objects.count - 1].bodies.layout.accesses) {
		s->sites_beyond++;
		return;
	}
	if (map_get(&s->site_by_number, key))
		return;
	if (s->sites.count == LINES_MAX || vec_push(&s->sites, site) ||
		map_put(&s->site_by_number, key, s->sites.count - 1))
		s->notes_lost++;
}

const struct server_site *server_site(const struct server *s, uint32_t process, uint32_t number)
{
	const uint64_t *at = map_get(&s->site_by_number, site_key(process, number));

	return at ? &s->sites.items[*at] : NULL;
}

static void add_lines(struct server *s, uint32_t process, const struct probe_lines *m)
{
	for (uint32_t i = 0; i < m->count && i < PROBE_LINES_MAX; i++) {
		const struct probe_line *l = &m->lines[i];
		const uint64_t *file = map_get(&s->files, file_key(process, l->file));
		struct server_line line = {.kernel = m->hash,
			.insn = l->insn,
			.file = file && l->file ? (uint32_t)*file : 0,
			.line = l->line,
			.bytes = l->bytes,
			.kind = l->kind};
		uint64_t key = hash_combine(m->hash, l->insn);

		if (m->first_site < PROBE_NO_SITE - PROBE_LINES_MAX)
			add_site(s, process, m->first_site + i,
				(struct server_site){m->hash, l->insn, l->bytes});
		if (map_get(&s->line_by_place, key))
			continue;
		if (s->lines.count == LINES_MAX || vec_push(&s->lines, line) ||
			map_put(&s->line_by_place, key, s->lines.count - 1))
			s->notes_lost++;
	}
}

const struct server_line *server_line(const struct server *s, uint64_t kernel, uint32_t insn)
{
	const uint64_t *at = map_get(&s->line_by_place, hash_combine(kernel, insn));

	return at ? &s->lines.items[*at] : NULL;
}

/* What is so of a module is so each time that it is loaded. */
static bool was_told(struct server *s, uint32_t fate, uint64_t module)
{
	uint64_t key = hash_combine(module, fate);

	if (map_get(&s->modules_told, key))
		return true;
	if (s->modules_told.count < MODULES_MAX)
		(void)map_put(&s->modules_told, key, 1);
	return false;
}

static void add_fate(struct server *s, struct probe_image *m)
{
	struct buf *texts;

	if (m->fate >= PROBE_FATE_COUNT || (m->module && was_told(s, m->fate, m->module)))
		return;
	s->fates[m->fate] += m->fate == PROBE_FATE_SPLICED || m->fate == PROBE_FATE_PATCHED ||
					     m->fate == PROBE_FATE_UNSEEN_ACCESSES ||
					     m->fate == PROBE_FATE_UNSEEN_EXITS ||
					     m->fate == PROBE_FATE_NO_PARAMETER
				     ? m->amount
				     : 1;
	texts = &s->fate_texts[m->fate];
	m->text[sizeof(m->text) - 1] = 0;
	if (!m->text[0] || texts->size + sizeof(m->text) > TEXTS_BYTES)
		return;
	/* The driver's logs have several lines. */
	for (char *c = m->text; *c; c++)
		if (*c == '\n' || *c == '\r')
			*c = ' ';
	if (!strstr(buf_text(texts), m->text)) {
		buf_puts(texts, m->text);
		buf_putc(texts, '\n');
	}
}

static int handle_hello(
	struct server *s, struct server_process *p, const union message *m, size_t n)
{
	if (n != sizeof(m->hello) || m->hello.magic != PROBE_MAGIC ||
		m->hello.version != PROBE_VERSION)
		return -EPROTO;
	p->is_compiler = m->hello.role == PROBE_COMPILER;
	return server_greet(s, p, p->pid);
}

static int handle(struct server *s, uint32_t process, union message *m, size_t n)
{
	struct server_process *p = &s->processes.items[process];

	if (!p->greeted)
		return handle_hello(s, p, m, n);
	/* Its number becomes another's: nothing may be kept by it. */
	if (p->is_compiler && m->what != PROBE_IMAGE)
		return -EPROTO;
	if (m->what == PROBE_ARENA && n == sizeof(m->arena))
		return server_add_arena(s, process, &m->arena);
	if (m->what == PROBE_KERNEL && n == sizeof(m->kernel) && m->kernel.fate)
		add_without(s, &m->kernel);
	else if (m->what == PROBE_KERNEL && n == sizeof(m->kernel))
		add_kernel(s, &m->kernel);
	else if (m->what == PROBE_LINES && n == sizeof(m->lines))
		add_lines(s, process, &m->lines);
	else if (m->what == PROBE_FILE && n == sizeof(m->file))
		add_file(s, process, &m->file);
	else if (m->what == PROBE_IMAGE && n == sizeof(m->image))
		add_fate(s, &m->image);
	else
		return -EPROTO;
	return 0;
}

/* Whoever does not keep to it has no connection any more; its memory is read to the end. */
bool server_receive(struct server *s, uint32_t process)
{
	bool any = false;

	for (int i = 0; i < IN_TURN && s->processes.items[process].fd >= 0; i++) {
		struct server_process *p = &s->processes.items[process];
		union message m = {0};
		ssize_t n = recv(p->fd, &m, sizeof(m), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		any = true;
		if (n > 0 && n <= (ssize_t)sizeof(m) && !handle(s, process, &m, (size_t)n))
			continue;
		server_end_process(s, p);
	}
	return any;
}
