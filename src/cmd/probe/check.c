// SPDX-License-Identifier: MIT
/* `xpuprof probe --check` and `--list`. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/probe/probe.h"
#include "ebpf/tools/tools.h"
#include "ebpf/verifier.h"

/* A line of what is shown; it stays text of the GPU's assembler. */
static void put_map(struct buf *out, const struct ebpf_map *m, const struct map_place *p)
{
	if (!p->is_used || !m->kind)
		return;
	buf_printf(out, "// map '%s': %s, ", m->name, m->is_section ? "section" : m->kind->name);
	if (p->shape == EBPF_RING)
		buf_printf(out, "%u records of %u bytes for each SM", p->capacity, p->value_bytes);
	else
		buf_printf(out, "%llu bytes", (unsigned long long)p->bytes);
	if (p->is_sum)
		buf_printf(
			out, ", kept %u times and added up, as programs only add to it", p->copies);
	if (p->is_squeezed)
		buf_puts(out, " (--map-memory allows no more)");
	if (p->is_contended)
		buf_puts(out,
			", for which threads wait, as programs in every thread use atomics on it");
	if (p->is_outside)
		buf_puts(out, ", in host memory");
	buf_putc(out, '\n');
}

/* It is only told: where it proves less than our checks do, or asks for more, guards are there. */
static int put_verdict(struct buf *out, const struct ebpf_object *o, const struct ebpf_program *p)
{
	static const char *const begins[] = {
		[VERDICT_ACCEPTED] = "accepts it",
		[VERDICT_REFUSED] = "does not accept it",
		[VERDICT_NOT_ALLOWED] = "may not be asked by this user",
		[VERDICT_NOT_ASKED] = "was not asked",
	};
	struct buf why = BUF_INIT;
	enum verdict verdict = VERDICT_NOT_ASKED;
	int error = ebpf_ask_kernel(o, p, &verdict, &why);

	if (!error) {
		buf_printf(out, "// the kernel's verifier %s", begins[verdict]);
		if (why.size && verdict != VERDICT_NOT_ALLOWED) {
			buf_puts(out, ": ");
			text_fit(out, buf_text(&why), 0);
		}
		buf_putc(out, '\n');
	}
	buf_release(&why);
	return error;
}

static void put_body(struct buf *out, const struct body *b)
{
	const struct ebpf_site *s = &b->program->site;

	buf_printf(out, "// program '%s': %s of %s '%s', %s", b->program->name,
		ebpf_where_name(s->where), s->is_literal ? "kernel" : "kernels", s->pattern,
		s->per_thread ? "in every thread" : "once per warp");
	if (b->pair >= 0)
		buf_printf(out, ", cookie %d", b->pair);
	for (unsigned int i = 0; i < 16; i++)
		if (b->parameters >> i & 1)
			buf_printf(out, ", parameter %u", i);
	buf_putc(out, '\n');
	buf_append(out, b->text.data, b->text.size);
	out->failed |= b->text.failed;
}

static int show(const struct bodies *b)
{
	struct buf out = BUF_INIT;
	int error = 0;

	for (uint32_t i = 0; i < b->layout.map_count; i++)
		put_map(&out, &b->object->maps.items[i], &b->layout.maps[i]);
	vec_foreach (body, &b->items) {
		buf_putc(&out, '\n');
		error = error ?: put_verdict(&out, b->object, body->program);
		put_body(&out, body);
	}
	error = error ?: cmd_print(STDOUT_FILENO, &out);
	buf_release(&out);
	if (!error)
		return EXIT_OK;
	cmd_error("cannot print: %s", strerror(-error));
	return EXIT_FAILED;
}

static int show_patches(const struct bodies *b)
{
	struct buf text = BUF_INIT;
	int error;

	if (bodies_as_patches(&b, 1, &text))
		return cmd_failed();
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] == '\t')
			text.data[i] = ' ';
	error = cmd_print(STDOUT_FILENO, &text);
	buf_release(&text);
	if (!error)
		return EXIT_OK;
	cmd_error("cannot print: %s", strerror(-error));
	return EXIT_FAILED;
}

static int check_object(struct ebpf_object *o, const struct ebpf_tool *tool, const char *name,
	const struct plan_options *options, bool as_patches)
{
	struct bodies b;
	int status;

	if (plan_choose_threads(o, tool, options->per_thread) ||
		bodies_make(&b, o, &options->bodies)) {
		error_about(-EINVAL, name);
		return cmd_failed();
	}
	status = as_patches ? show_patches(&b) : show(&b);
	bodies_release(&b);
	return status;
}

int probe_list(void)
{
	if (!ebpf_tool(0)) {
		cmd_error("this build has no tools: it was made without clang, bpftool or libbpf");
		return EXIT_FAILED;
	}
	for (size_t i = 0; ebpf_tool(i); i++)
		cmd_say("%-16s %s", ebpf_tool(i)->name, ebpf_tool(i)->summary);
	return EXIT_OK;
}

static int check_tool(
	const struct ebpf_tool *tool, const struct plan_options *options, bool as_patches)
{
	struct ebpf_object *o;
	int status;

	if (ebpf_object_read(&o, tool->start, (size_t)(tool->end - tool->start)))
		return cmd_failed();
	status = check_object(o, tool, tool->name, options, as_patches);
	ebpf_object_close(o);
	return status;
}

static int check_file(const char *path, const struct plan_options *options, bool as_patches)
{
	struct user user;
	struct ebpf_object *o;
	int error = cmd_become_caller(&user, path), status;

	error = error ?: ebpf_object_open(&o, path);
	if (error == -ENOENT)
		error = programs_not_found(path);
	if (error && !strstr(error_text(), path))
		error_about(error, path);
	if (error) {
		status = cmd_failed();
	} else {
		status = check_object(o, NULL, path, options, as_patches);
		ebpf_object_close(o);
	}
	user_release(&user);
	return status;
}

int probe_check(const char *what, const struct plan_options *options, bool as_patches)
{
	const struct ebpf_tool *tool = ebpf_tool_named(what);

	return tool ? check_tool(tool, options, as_patches) : check_file(what, options, as_patches);
}
