// SPDX-License-Identifier: MIT
/*
 * Puts the programs of an eBPF object, or of a tool of ours, into a file of PTX and prints it, for
 * assemblers to try.
 *
 *	splice_ebpf FILE.ptx TOOL|FILE.bpf.o
 */
#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/io.h"
#include "ebpf/nvidia/bodies.h"
#include "ebpf/tools/tools.h"

static int open_programs(const char *name, struct ebpf_object **ret)
{
	const struct ebpf_tool *tool = ebpf_tool_named(name);

	return tool ? ebpf_object_read(ret, tool->start, (size_t)(tool->end - tool->start))
		    : ebpf_object_open(ret, name);
}

static int splice(const struct bodies *b, const struct buf *text)
{
	struct ptx_body bodies[EBPF_PROGRAMS_MAX];
	struct ptx_probes probes = {.bodies = bodies};
	struct ptx_spliced s = {0};
	int error;

	vec_foreach (body, &b->items)
		body_probe(body, &bodies[probes.body_count++]);
	error = ptx_splice(text->data, text->size, &probes, &s);
	if (!error)
		fwrite(s.is_as_before ? text->data : s.text.data, 1,
			s.is_as_before ? text->size : s.text.size, stdout);
	ptx_spliced_release(&s);
	return error;
}

static int run(const char *path, const char *programs)
{
	static const struct bodies_options options = {.check = {.allow_exit = true},
		.layout = {.threads = LAYOUT_THREADS,
			.map_bytes = LAYOUT_MAP_BYTES,
			.accesses = LAYOUT_ACCESSES}};
	struct buf text = BUF_INIT;
	struct ebpf_object *o = NULL;
	struct bodies b = {0};
	int error = io_read_file(path, 1u << 24, &text);

	if (error)
		return error_errno(error, "cannot read '%s'", path);
	error = open_programs(programs, &o);
	if (!error) {
		error = bodies_make(&b, o, &options) ?: splice(&b, &text);
		if (b.object)
			bodies_release(&b);
	}
	ebpf_object_close(o);
	buf_release(&text);
	return error;
}

int main(int argc, char **argv)
{
	if (argc != 3 || run(argv[1], argv[2])) {
		fprintf(stderr, "%s\n",
			argc == 3 ? error_text() : "usage: splice_ebpf PTX TOOL|FILE");
		return 1;
	}
	return 0;
}
