// SPDX-License-Identifier: MIT
/*
 * Modules and libraries: PTX text is searched for its entries, so that unknown names are refused.
 * Any other image is not searched, and every name is found in it. A CUlibrary is a CUmodule and a
 * CUkernel a CUfunction here, as CUDA lets a kernel handle stand for a function.
 *
 * A kernel's name decides how long it runs: `..._us250` and `..._ns900` (before anything that is
 * not a letter or digit) are times; others get constants from a hash of the name (launch.c).
 */
#include "sim.h"
#include "sim/ptx/ptx.h"
#include "cupti.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct name {
	struct name *next;
	char text[];
};

/* Names live for ever, as CUPTI's records point to them. */
static const char *intern(const char *text, size_t length)
{
	static struct name *buckets[1024];
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	unsigned int hash = 5381;
	struct name *n;

	for (size_t i = 0; i < length; i++)
		hash = hash * 33 + (unsigned char)text[i];
	hash %= 1024;
	pthread_mutex_lock(&lock);
	for (n = buckets[hash]; n; n = n->next)
		if (!strncmp(n->text, text, length) && !n->text[length])
			break;
	if (!n && (n = malloc(sizeof(*n) + length + 1))) {
		memcpy(n->text, text, length);
		n->text[length] = 0;
		n->next = buckets[hash];
		buckets[hash] = n;
	}
	pthread_mutex_unlock(&lock);
	return n ? n->text : NULL;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash ^ hash >> 15;
}

static uint64_t time_after(const char *name, const char *mark, uint64_t unit)
{
	const char *at = strstr(name, mark), *next;

	if (!at)
		return 0;
	while ((next = strstr(at + 1, mark)))
		at = next;
	at += strlen(mark);
	return isdigit((unsigned char)*at) ? strtoull(at, NULL, 10) * unit : 0;
}

static CUfunction function_new(CUmodule module, const char *text, size_t length)
{
	CUfunction f = calloc(1, sizeof(*f));
	const char *name = intern(text, length);
	uint32_t hash;

	if (!f || !name) {
		free(f);
		return NULL;
	}
	hash = hash_of(name);
	f->magic = SIM_FUNCTION;
	f->name = name;
	f->module = module;
	f->fixed_ns = time_after(name, "_us", 1000);
	if (!f->fixed_ns)
		f->fixed_ns = time_after(name, "_ns", 1);
	f->base_ns = 1500 + hash % 3000;
	f->thousand_threads_ns = 200 + (hash >> 12) % 800;
	f->registers = 16 + hash % 14 * 8;
	f->max_dynamic_shared_bytes = 48 << 10;
	if (module) {
		f->next = module->functions;
		module->functions = f;
		if (module->code)
			f->code = sim_ptx_kernel(module->code, name);
		if (f->code)
			f->registers = sim_ptx_registers(f->code);
		if (f->code && sim_ptx_is_empty(f->code))
			f->code = NULL;
	}
	return f;
}

static bool name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

/* Every `.entry name(` of the text. */
static void read_entries(CUmodule module, const char *text)
{
	static const char keyword[] = ".entry";

	while ((text = strstr(text, keyword))) {
		const char *start, *end;

		text += sizeof(keyword) - 1;
		start = text + strspn(text, " \t\r\n");
		for (end = start; name_character(*end); end++)
			;
		if (end > start)
			function_new(module, start, (size_t)(end - start));
		text = end;
	}
}

/* PTX begins with .version, perhaps after comments. */
static bool is_ptx(const char *image)
{
	size_t i = 0;

	while (isspace((unsigned char)image[i]))
		i++;
	return image[i] == '.' || (image[i] == '/' && (image[i + 1] == '/' || image[i + 1] == '*'));
}

static void report(enum sim_resource what, CUmodule module)
{
	CUpti_ModuleResourceData descriptor = {module->id, module->image_bytes, module->image};

	if (xpuprof_sim_tools.callbacks[SIM_RESOURCE][what])
		xpuprof_sim_tools.resource(what, sim_current(), NULL, &descriptor);
}

static CUresult module_new(const void *image, CUmodule *ret)
{
	CUmodule module = calloc(1, sizeof(*module));
	CUresult result;
	char *text;

	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (sim.faults.fail_load &&
		(atomic_fetch_add(&sim.loads, 1) + 1) % sim.faults.fail_load == 0) {
		free(module);
		return CUDA_ERROR_INVALID_PTX;
	}
	result = sim_compute_load(image, &text, &module->code);
	if (result) {
		free(module);
		return result;
	}
	module->magic = SIM_MODULE;
	module->id = atomic_fetch_add(&sim.next_module, 1);
	pthread_mutex_init(&module->lock, NULL);
	*ret = module;
	module->any_name = !text && !is_ptx(image);
	if (module->any_name)
		return CUDA_SUCCESS;
	module->image = text ? text : strdup(image);
	module->image_bytes = strlen(module->image);
	read_entries(module, module->image);
	return CUDA_SUCCESS;
}

static void module_free(CUmodule module)
{
	while (module->functions) {
		CUfunction f = module->functions;

		module->functions = f->next;
		f->magic = 0;
		free(f);
	}
	pthread_mutex_destroy(&module->lock);
	module->magic = 0;
	sim_compute_unload(module->code);
	free(module->image);
	free(module);
}

CUresult sim_module_load(CUmodule *ret, const void *image)
{
	CUmodule module;
	CUresult result;

	if (!ret || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	result = module_new(image, &module);
	if (result)
		return result;
	if (!module->any_name && !module->functions) {
		module_free(module);
		return CUDA_ERROR_INVALID_PTX;
	}
	report(SIM_MODULE_LOADED, module);
	*ret = module;
	return CUDA_SUCCESS;
}

CUresult sim_module_load_options(CUmodule *ret, const void *image, unsigned int count,
	const CUjit_option *options, void *const *values)
{
	CUresult result = sim_module_load(ret, image);

	if (result == CUDA_ERROR_INVALID_PTX)
		sim_compute_log(count, options, values);
	return result;
}

CUresult sim_module_load_file(CUmodule *ret, const char *path)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	char *text = NULL;
	size_t size = 0;
	CUresult result = CUDA_ERROR_INVALID_IMAGE;

	if (!file)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (getdelim(&text, &size, 0, file) > 0)
		result = sim_module_load(ret, text);
	free(text);
	fclose(file);
	return result;
}

CUresult sim_module_unload(CUmodule module)
{
	if (!module || module->magic != SIM_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	report(SIM_MODULE_UNLOAD_STARTING, module);
	module_free(module);
	return CUDA_SUCCESS;
}

CUresult sim_module_function(CUfunction *ret, CUmodule module, const char *name)
{
	CUfunction f;

	if (!ret || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module || module->magic != SIM_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&module->lock);
	for (f = module->functions; f; f = f->next)
		if (!strcmp(f->name, name))
			break;
	if (!f && module->any_name)
		f = function_new(module, name, strlen(name));
	pthread_mutex_unlock(&module->lock);
	if (!f)
		return CUDA_ERROR_NOT_FOUND;
	*ret = f;
	return CUDA_SUCCESS;
}

CUresult sim_module_function_count(unsigned int *ret, CUmodule module)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module || module->magic != SIM_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = 0;
	pthread_mutex_lock(&module->lock);
	for (CUfunction f = module->functions; f; f = f->next)
		++*ret;
	pthread_mutex_unlock(&module->lock);
	return CUDA_SUCCESS;
}

CUresult sim_module_functions(CUfunction *ret, unsigned int count, CUmodule module)
{
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	if (!module || module->magic != SIM_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&module->lock);
	for (CUfunction f = module->functions; f && count; f = f->next, count--)
		*ret++ = f;
	pthread_mutex_unlock(&module->lock);
	return CUDA_SUCCESS;
}

const char *xpuprof_sim_module_text(CUmodule module)
{
	return module && module->magic == SIM_MODULE && module->code ? module->image : NULL;
}

CUresult xpuprof_sim_module_replace(CUmodule module, const char *text)
{
	struct sim_ptx *code = NULL;
	char *image = NULL;
	CUresult result;

	if (!xpuprof_sim_module_text(module))
		return CUDA_ERROR_INVALID_HANDLE;
	result = sim_compute_load(text, &image, &code);
	if (result)
		return result;
	pthread_mutex_lock(&module->lock);
	for (CUfunction f = module->functions; f; f = f->next)
		f->code = sim_ptx_kernel(code, f->name);
	sim_compute_unload(module->code);
	module->code = code;
	pthread_mutex_unlock(&module->lock);
	free(image);
	return CUDA_SUCCESS;
}

CUfunction xpuprof_sim_function(const char *name)
{
	return function_new(NULL, name, strlen(name));
}

CUresult sim_library_load(CUlibrary *ret, const void *code, unsigned int count,
	const CUjit_option *options, void *const *values)
{
	CUresult result;
	CUmodule module;

	if (!ret || !code)
		return CUDA_ERROR_INVALID_VALUE;
	result = module_new(code, &module);
	if (result == CUDA_ERROR_INVALID_PTX)
		sim_compute_log(count, options, values);
	if (!result)
		*ret = (CUlibrary)module;
	return result;
}

CUresult sim_library_unload(CUlibrary library)
{
	return sim_module_unload((CUmodule)library);
}

CUresult sim_library_kernel(CUkernel *ret, CUlibrary library, const char *name)
{
	return sim_module_function((CUfunction *)ret, (CUmodule)library, name);
}

CUresult sim_library_module(CUmodule *ret, CUlibrary library)
{
	*ret = (CUmodule)library;
	return CUDA_SUCCESS;
}

const char *sim_symbol(CUfunction f)
{
	return f && f->magic == SIM_FUNCTION ? f->name : NULL;
}

CUresult sim_kernel_function(CUfunction *ret, CUkernel kernel)
{
	if (!sim_symbol((CUfunction)kernel))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = (CUfunction)kernel;
	return CUDA_SUCCESS;
}

CUresult sim_kernel_name(const char **ret, CUkernel kernel)
{
	return sim_function_name(ret, (CUfunction)kernel);
}

CUresult sim_function_name(const char **ret, CUfunction f)
{
	*ret = sim_symbol(f);
	return *ret ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_function_module(CUmodule *ret, CUfunction f)
{
	if (!sim_symbol(f))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = f->module;
	return CUDA_SUCCESS;
}

/* Whether there is `.maxntid` between the kernel's name and its body. */
static bool is_bounded(CUfunction f)
{
	const char *at = f->module->image;
	size_t length = strlen(f->name);

	while ((at = strstr(at, ".entry "))) {
		at += strlen(".entry ");
		if (!strncmp(at, f->name, length) && !name_character(at[length])) {
			const char *body = strchr(at, '{');

			return body &&
			       memmem(at, (size_t)(body - at), ".maxntid", strlen(".maxntid"));
		}
	}
	return false;
}

static int largest_block(CUfunction f)
{
	uint64_t limit = sim.faults.small_blocks;

	if (!limit || !f->module || f->module->image_bytes <= limit || is_bounded(f))
		return 1024;
	return 512;
}

CUresult sim_function_attribute(int *ret, CUfunction_attribute attribute, CUfunction f)
{
	if (!sim_symbol(f))
		return CUDA_ERROR_INVALID_HANDLE;
	switch (attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret = largest_block(f);
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret = (int)f->static_shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret = f->code ? (int)sim_ptx_local_bytes(f->code) : 0;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret = (int)f->registers;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret = 90;
		break;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret = f->max_dynamic_shared_bytes;
		break;
	default:
		*ret = 0;
	}
	return CUDA_SUCCESS;
}

CUresult sim_function_set_attribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	if (!sim_symbol(f))
		return CUDA_ERROR_INVALID_HANDLE;
	if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		if (value < 0 || value > 227 << 10)
			return CUDA_ERROR_INVALID_VALUE;
		f->max_dynamic_shared_bytes = value;
	}
	return CUDA_SUCCESS;
}

CUresult sim_function_set_cache(CUfunction f, CUfunc_cache config)
{
	return sim_symbol(f) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_occupancy(int *ret, CUfunction f, int block_size)
{
	if (!sim_symbol(f))
		return CUDA_ERROR_INVALID_HANDLE;
	if (block_size <= 0 || block_size > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = 2048 / block_size;
	/* A multiprocessor has 65,536 registers. */
	if (f->code && *ret > 65536 / ((int)f->registers * block_size))
		*ret = 65536 / ((int)f->registers * block_size);
	return CUDA_SUCCESS;
}
