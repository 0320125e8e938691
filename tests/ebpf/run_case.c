// SPDX-License-Identifier: MIT
/*
 * Runs eBPF programs that are given as numbers: each is checked, translated to PTX, and run by the
 * interpreter of PTX, or by a GPU (XPUPROF_TEST_GPU). For conformance.py.
 *
 * A line of the input is a program: its name, how many instructions each of its functions has,
 * the instructions, and memory that r1 points to and r2 has the size of; both in hexadecimal, "-"
 * being none. Calls of functions have the number of the first instruction. A line of the output is
 * the name, and either the result or "refused" and why.
 */
#include "base/error.h"
#include "device_memory.h"
#include "ebpf/check/check.h"
#include "ebpf/nvidia/translate.h"
#include "ebpf_program.h"
#include "ebpf_wrap.h"

enum { INSNS = 4096, MEMORY = 4096, FUNCTIONS = 8, LINE = 2 * 8 * INSNS + 2 * MEMORY + 512 };

struct program {
	struct bpf_insn insns[INSNS];
	uint8_t memory[MEMORY];
	uint32_t lengths[FUNCTIONS + 1];
	size_t insn_count, memory_bytes;
};

/* How many bytes a text has, or SIZE_MAX. */
static size_t read_bytes(const char *text, void *bytes, size_t room)
{
	size_t count = strcmp(text, "-") ? strlen(text) / 2 : 0;

	if (count > room)
		return SIZE_MAX;
	for (size_t i = 0; i < count; i++)
		if (sscanf(text + 2 * i, "%2hhx", (uint8_t *)bytes + i) != 1)
			return SIZE_MAX;
	return count;
}

static bool read_program(struct program *p, char *lengths, const char *insns, const char *memory)
{
	size_t bytes = read_bytes(insns, p->insns, sizeof(p->insns)), count = 0;
	char *rest = NULL;

	memset(p->lengths, 0, sizeof(p->lengths));
	for (char *t = strtok_r(lengths, ",", &rest); t && count < FUNCTIONS;
		t = strtok_r(NULL, ",", &rest))
		p->lengths[count++] = (uint32_t)atoi(t);
	p->insn_count = bytes / sizeof(*p->insns);
	p->memory_bytes = read_bytes(memory, p->memory, sizeof(p->memory));
	return bytes != SIZE_MAX && p->memory_bytes != SIZE_MAX;
}

static void make_object(struct ebpf_object *o, const struct program *p)
{
	struct ebpf_map memory = {.name = "memory",
		.kind = ebpf_map_kind(2),
		.type = 2,
		.key_size = 4,
		.value_size = (uint32_t)p->memory_bytes,
		.max_entries = 1,
		.is_section = true};

	program_make(o, EBPF_AT_ENTRY, p->insns, p->lengths);
	o->maps.count = 0;
	if (p->memory_bytes && vec_push(&o->maps, memory))
		abort();
}

/* What the program returns. */
static int run(const struct program *p, const struct layout *l, struct buf *text, uint64_t *ret)
{
	uint8_t *arena = device_memory(l->size);
	uint64_t *given = device_memory((EBPF_NUMBERS + EBPF_WORDS) * 8);
	uint64_t given_at = (uint64_t)(uintptr_t)given;
	struct sim_ptx_launch launch = device_launch(1, 1, &given_at);
	int error;

	given[0] = (uint64_t)(uintptr_t)arena;
	launch.sms = 1;
	if (p->memory_bytes && l->maps[0].is_used)
		memcpy(arena + l->maps[0].offset, p->memory, p->memory_bytes);
	error = device_run(text, &launch);
	*ret = given[1];
	return error;
}

static int check_and_run(const struct program *p, uint64_t *ret)
{
	static const struct check_options check;
	static const struct layout_options limits = {LAYOUT_THREADS, LAYOUT_MAP_BYTES};
	static const struct body_options body_options = {.keeps_cookie = true};
	struct ebpf_object object;
	struct flow flow = {0};
	struct analysis analysis = {0};
	struct layout layout;
	struct buf body = BUF_INIT, text = BUF_INIT;
	int error;

	make_object(&object, p);
	error = flow_build(&flow, &object, &object.programs.items[0], false);
	error = error ?: ebpf_check(&analysis, &flow, &check);
	error = error ?: layout_make(&layout, &object, &analysis, 1, &limits);
	error = error ?: body_translate(&body, &flow, &analysis, &layout, &body_options);
	if (!error) {
		ebpf_wrap(&text, &body);
		error = run(p, &layout, &text, ret);
	}
	analysis_release(&analysis);
	flow_release(&flow);
	program_release(&object);
	buf_release(&body);
	buf_release(&text);
	device_release();
	return error;
}

int main(void)
{
	static struct program p;
	static char line[LINE];
	char *rest, *name, *lengths, *insns, *memory;
	uint64_t result;

	while (fgets(line, sizeof(line), stdin)) {
		name = strtok_r(line, " \n", &rest);
		lengths = strtok_r(NULL, " \n", &rest);
		insns = strtok_r(NULL, " \n", &rest);
		memory = strtok_r(NULL, " \n", &rest);
		if (!memory || !read_program(&p, lengths, insns, memory)) {
			fprintf(stderr, "a line that is not a program\n");
			return 2;
		}
		result = 0;
		if (check_and_run(&p, &result))
			printf("%s refused %s\n", name, error_text());
		else
			printf("%s %#llx\n", name, (unsigned long long)result);
	}
	return 0;
}
