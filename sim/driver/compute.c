// SPDX-License-Identifier: MIT
/*
 * Kernels that compute: with XPUPROF_SIM_COMPUTE, PTX is interpreted (sim/ptx/) when a kernel's
 * work is submitted, in the submitting thread, one kernel at a time. The work begins when its turn
 * in the stream has come, and ends at the earliest when the interpreter has. What goes wrong in a
 * kernel is the result of its launch.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ptx/fatbin.h"
#include "sim.h"
#include "sim/ptx/ptx.h"

enum { SMS = 16 };

_Static_assert(SIM_CODE_TEXT == (unsigned int)SHT_LOUSER + 1, "a type of sections for users");

static bool enabled(void)
{
	static int known; /* 1: no, 2: yes */

	if (!known)
		known = getenv("XPUPROF_SIM_COMPUTE") ? 2 : 1;
	return known == 2;
}

/* What a simulated ptxas has made: an ELF file whose second section is the text. */
static char *compiled_text(const char *image)
{
	Elf64_Ehdr h;
	Elf64_Shdr s;

	memcpy(&h, image, sizeof(h));
	if (h.e_shnum < 2)
		return NULL;
	memcpy(&s, image + h.e_shoff + sizeof(s), sizeof(s));
	return s.sh_type == SIM_CODE_TEXT ? strndup(image + s.sh_offset, s.sh_size) : NULL;
}

/* The text of an image for this device: what it is itself, or the PTX of a fatbin; NULL: none. */
static char *text_of(const void *image)
{
	enum ptx_image kind = ptx_image_of(image);
	struct ptx_fatbin_entry entry;
	struct buf text = BUF_INIT;
	int major = 0, minor = 0;

	if (kind == PTX_IMAGE_TEXT)
		return strdup(image);
	if (kind == PTX_IMAGE_CUBIN)
		return compiled_text(image);
	if (kind == PTX_IMAGE_WRAPPER)
		memcpy(&image, (const char *)image + 8, sizeof(image));
	else if (kind != PTX_IMAGE_FATBIN)
		return NULL;
	sim_device_capability(&major, &minor, 0);
	if (ptx_fatbin_choose(
		    image, ptx_fatbin_bytes(image), (unsigned int)(major * 10 + minor), &entry) ||
		ptx_fatbin_text(&entry, &text))
		return NULL;
	return text.data;
}

char *xpuprof_sim_code(const void *image)
{
	return enabled() ? text_of(image) : NULL;
}

static int note_variables(struct sim_ptx *code)
{
	size_t i = 0, bytes;
	void *at;

	while ((at = sim_ptx_next_variable(code, &i, &bytes)))
		if (bytes && !sim_memory_add_variable(at, bytes))
			return -ENOMEM;
	return 0;
}

void sim_compute_unload(struct sim_ptx *code)
{
	size_t i = 0, bytes;
	void *at;

	while (code && (at = sim_ptx_next_variable(code, &i, &bytes)))
		sim_memory_remove_variable(at);
	sim_ptx_free(code);
}

CUresult sim_compute_load(const void *image, char **ret_text, struct sim_ptx **ret)
{
	char *text = enabled() ? text_of(image) : NULL;
	int error;

	*ret = NULL;
	*ret_text = text;
	if (!text)
		return CUDA_SUCCESS;
	error = sim_ptx_load(text, strlen(text), ret);
	if (!error)
		error = note_variables(*ret);
	if (!error)
		return CUDA_SUCCESS;
	sim_compute_unload(*ret);
	*ret = NULL;
	free(text);
	*ret_text = NULL;
	return error == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

void sim_compute_log(unsigned int count, const CUjit_option *options, void *const *values)
{
	char *log = NULL;
	size_t room = 0;

	for (unsigned int i = 0; options && values && i < count; i++) {
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
			log = values[i];
		if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
			room = (size_t)(uintptr_t)values[i];
	}
	if (log && room) {
		strncpy(log, error_text(), room - 1);
		log[room - 1] = 0;
	}
}

/* The block of parameters that "extra" points to. */
static const void *block_of(void *const *extra, size_t *ret_bytes)
{
	const void *block = NULL;

	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			block = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*ret_bytes = *(size_t *)extra[1];
	}
	return block;
}

CUresult sim_compute_params(CUfunction f, void *const *params, void *const *extra, void **ret)
{
	const struct sim_ptx_kernel *k = f->code;
	size_t bytes = k ? sim_ptx_params_bytes(k) : 0, given = 0;
	const void *block = block_of(extra, &given);
	char *copy;

	*ret = NULL;
	if (!bytes)
		return CUDA_SUCCESS;
	if (!params && (!block || given < bytes))
		return CUDA_ERROR_INVALID_VALUE;
	copy = malloc(bytes);
	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (block)
		memcpy(copy, block, bytes);
	for (size_t i = 0; !block && i < sim_ptx_param_count(k); i++) {
		size_t size, at = sim_ptx_param(k, i, &size);

		memcpy(copy + at, params[i], size);
	}
	*ret = copy;
	return CUDA_SUCCESS;
}

/* Managed and pinned memory, too. */
static bool find(void *context, uint64_t address, uint64_t *ret_base, uint64_t *ret_bytes)
{
	struct sim_memory m;

	if (!sim_memory_find((uintptr_t)address, &m))
		return false;
	*ret_base = m.base;
	*ret_bytes = m.bytes;
	return true;
}

static CUresult result_of(int error)
{
	switch (error) {
	case 0:
		return CUDA_SUCCESS;
	case -EFAULT:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case -ERANGE:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case -ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

CUresult sim_compute_run(const struct sim_work *work, struct sim_run *run)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct sim_kernel *k = &work->kernel;
	struct sim_ptx_launch l = {.params = k->params, .sms = SMS, .find = find};
	int error;

	if (work->type != CU_GRAPH_NODE_TYPE_KERNEL || !k->function->code)
		return CUDA_SUCCESS;
	run->correlation = sim_thread.correlation;
	l.grid_id = sim_grid_id(run);
	memcpy(l.grid, &k->grid, sizeof(l.grid));
	memcpy(l.block, &k->block, sizeof(l.block));
	l.dynamic_shared_bytes = k->shared_bytes;
	l.cooperative = k->flags & SIM_COOPERATIVE;
	sim_wait_until(run->start_ns);
	pthread_mutex_lock(&lock);
	error = sim_ptx_run(k->function->code, &l);
	pthread_mutex_unlock(&lock);
	run->computed_ns = sim_now();
	return result_of(error);
}

CUresult sim_module_global(CUdeviceptr *ret, size_t *ret_bytes, CUmodule module, const char *name)
{
	size_t bytes = 0;
	void *at;

	if (!name || (!ret && !ret_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!module || module->magic != SIM_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	at = module->code ? sim_ptx_variable(module->code, name, &bytes) : NULL;
	if (!at)
		return CUDA_ERROR_NOT_FOUND;
	if (ret)
		*ret = SIM_PTR(at);
	if (ret_bytes)
		*ret_bytes = bytes;
	return CUDA_SUCCESS;
}
