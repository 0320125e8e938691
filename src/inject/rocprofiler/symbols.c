// SPDX-License-Identifier: MIT
/*
 * Kernels by rocprofiler-sdk's numbers, which are counted up: from when a thread of the program
 * loads their code, and before it can launch them.
 */
#include <sys/mman.h>

#include "inject/rocprofiler/hip_graphs.h"
#include "inject/rocprofiler/rocprofiler.h"

#define KERNELS_MAX (1u << 18)
#define NAME_BYTES  4096u
#define SUFFIX	    ".kd" /* of the symbol that describes a kernel, beside that of its code */

static struct kernel *kernels;

int symbols_init(void)
{
	void *memory = mmap(NULL, KERNELS_MAX * sizeof(*kernels), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	kernels = memory;
	return names_init();
}

static const char *keep_name(const char *name)
{
	char text[NAME_BYTES];
	size_t size = strnlen(name, sizeof(text) - 1), suffix = sizeof(SUFFIX) - 1;

	if (size > suffix && !memcmp(name + size - suffix, SUFFIX, suffix))
		size -= suffix;
	memcpy(text, name, size);
	text[size] = '\0';
	return names_keep(text)->text;
}

static void know_function(const struct rocprofiler_host_function *f)
{
	struct kernel k;

	if (f->size < sizeof(*f) || !f->function)
		return;
	k = symbols_get(f->kernel);
	if (k.name == names_none()->text && f->name)
		k.name = keep_name(f->name);
	hip_graphs_know_function(f->function, k.name);
}

void on_code(struct rocprofiler_call_record r, uint64_t *user_data, void *data)
{
	const struct rocprofiler_kernel_symbol *symbol = r.payload;
	struct kernel *k;

	if (is_alive() && r.operation == ROCPROFILER_CODE_LOADED &&
		r.phase == ROCPROFILER_PHASE_ENTER && r.payload)
		objects_loaded(r.payload);
	if (is_alive() && r.operation == ROCPROFILER_HOST_FUNCTION &&
		r.phase == ROCPROFILER_PHASE_ENTER && r.payload)
		know_function(r.payload);
	if (!is_alive() || r.operation != ROCPROFILER_KERNEL_SYMBOL ||
		r.phase != ROCPROFILER_PHASE_ENTER || !symbol)
		return;
	if (symbol->size < sizeof(*symbol)) {
		count(WIRE_UNKNOWN, 1);
		return;
	}
	if (symbol->kernel >= KERNELS_MAX || !symbol->name)
		return;
	k = &kernels[symbol->kernel];
	k->registers = symbol->vector_registers;
	k->group_bytes = symbol->group_bytes;
	__atomic_store_n(&k->name, keep_name(symbol->name), __ATOMIC_RELEASE);
}

struct kernel symbols_get(uint64_t id)
{
	struct kernel unknown = {.name = names_none()->text}, k;

	if (id >= KERNELS_MAX)
		return unknown;
	k.name = __atomic_load_n(&kernels[id].name, __ATOMIC_ACQUIRE);
	k.registers = kernels[id].registers;
	k.group_bytes = kernels[id].group_bytes;
	return k.name ? k : unknown;
}
