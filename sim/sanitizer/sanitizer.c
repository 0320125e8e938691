// SPDX-License-Identifier: MIT
/*
 * A simulated Sanitizer library: patches are called from the places of a kernel that NVIDIA's would
 * call them from. What is machine code to the program is text to the simulated driver (compute.c),
 * so calls of the patches are spliced into that, and the module computes it from then on.
 *
 * Each kernel has a variable with the data that its patches are called with; until they are set it
 * is no address, as with NVIDIA's in graphs. An instruction is 16
 * bytes: the n-th access is at 16 * n in its function. The API has one caller at a time, as
 * NVIDIA's asks for; no callback is ever made. XPUPROF_SIM_SANITIZER_INITS, _UNLOADS and _WAITS
 * have it call the driver from its own functions, or wait for a thread that does.
 */
#include "sanitizer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ptx/module.h"
#include "ptx/splice.h"
#include "sim/driver/tools.h"

#define API __attribute__((visibility("default")))

enum { IMAGES_MAX = 16, MODULES_MAX = 256, KERNELS_MAX = 256, NAME_MAX = 256, SITES = 3 };

/* Text that was added for a context. */
struct image {
	CUcontext context;
	char *text;
};

struct patched {
	CUmodule module;
	char names[SITES][NAME_MAX]; /* of patches; "": none */
	uint32_t number;
	bool is_done;
};

static struct image images[IMAGES_MAX];
static struct patched modules[MODULES_MAX];
static uint32_t module_count;
static struct Sanitizer_Subscriber_st {
	bool is_used;
} subscriber;

/* As the driver would for it, and a destructor of a library. There are no such module and device.
 */
static void *unload_elsewhere(void *unused)
{
	(void)cuModuleUnload(NULL);
	(void)cuDevicePrimaryCtxRelease_v2(-1);
	return NULL;
}

/* What a library may do of which only the interface is known: it calls the driver itself, or waits
 * for who does. */
static void call_driver(void)
{
	pthread_t thread;

	if (getenv("XPUPROF_SIM_SANITIZER_UNLOADS")) {
		(void)cuModuleUnload(NULL);
		(void)cuLibraryUnload(NULL);
	}
	if (getenv("XPUPROF_SIM_SANITIZER_WAITS") &&
		!pthread_create(&thread, NULL, unload_elsewhere, NULL))
		pthread_join(thread, NULL);
}

API SanitizerResult sanitizerSubscribe(
	Sanitizer_SubscriberHandle *ret, Sanitizer_CallbackFunc callback, void *userdata)
{
	if (getenv("XPUPROF_SIM_SANITIZER_INITS"))
		(void)cuInit(0);
	if (!ret || !callback)
		return SANITIZER_ERROR_INVALID_PARAMETER;
	if (subscriber.is_used || getenv("XPUPROF_SIM_SANITIZER_TAKEN"))
		return SANITIZER_ERROR_MAX_LIMIT_REACHED;
	subscriber.is_used = true;
	*ret = &subscriber;
	return SANITIZER_SUCCESS;
}

API SanitizerResult sanitizerUnsubscribe(Sanitizer_SubscriberHandle handle)
{
	subscriber.is_used = false;
	return SANITIZER_SUCCESS;
}

API SanitizerResult sanitizerGetResultString(SanitizerResult result, const char **ret)
{
	static const char *const texts[] = {[SANITIZER_SUCCESS] = "SANITIZER_SUCCESS",
		[SANITIZER_ERROR_INVALID_PARAMETER] = "SANITIZER_ERROR_INVALID_PARAMETER",
		[SANITIZER_ERROR_INVALID_OPERATION] = "SANITIZER_ERROR_INVALID_OPERATION",
		[SANITIZER_ERROR_OUT_OF_MEMORY] = "SANITIZER_ERROR_OUT_OF_MEMORY",
		[SANITIZER_ERROR_MAX_LIMIT_REACHED] = "SANITIZER_ERROR_MAX_LIMIT_REACHED",
		[SANITIZER_ERROR_NOT_INITIALIZED] = "SANITIZER_ERROR_NOT_INITIALIZED"};

	if ((unsigned int)result >= sizeof(texts) / sizeof(*texts) || !texts[result])
		return SANITIZER_ERROR_INVALID_PARAMETER;
	*ret = texts[result];
	return SANITIZER_SUCCESS;
}

static SanitizerResult add(struct image *i, CUcontext ctx, const char *text)
{
	struct ptx_module m;

	if (!text || ptx_module_read(text, strlen(text), &m))
		return SANITIZER_ERROR_INVALID_PARAMETER;
	i->context = ctx;
	i->text = strdup(text + m.behind_header);
	ptx_module_release(&m);
	return SANITIZER_SUCCESS;
}

API SanitizerResult sanitizerAddPatches(const void *image, CUcontext ctx)
{
	SanitizerResult result = SANITIZER_ERROR_OUT_OF_MEMORY;
	char *text;

	if (!subscriber.is_used)
		return SANITIZER_ERROR_NOT_INITIALIZED;
	call_driver();
	if (!ctx)
		ctx = xpuprof_sim_context();
	if (!image || !ctx || getenv("XPUPROF_SIM_SANITIZER_REFUSES"))
		return SANITIZER_ERROR_INVALID_PARAMETER;
	text = xpuprof_sim_code(image);
	for (size_t i = 0; i < IMAGES_MAX; i++)
		if (!images[i].text) {
			result = add(&images[i], ctx, text);
			break;
		}
	free(text);
	return result;
}

static const struct image *image_here(void)
{
	CUcontext ctx = xpuprof_sim_context();

	for (size_t i = 0; i < IMAGES_MAX; i++)
		if (images[i].text && images[i].context == ctx)
			return &images[i];
	return NULL;
}

static struct patched *find(CUmodule module)
{
	for (uint32_t i = 0; i < module_count; i++)
		if (modules[i].module == module)
			return &modules[i];
	return NULL;
}

API SanitizerResult sanitizerPatchInstructions(
	const Sanitizer_InstructionId instruction, CUmodule module, const char *name)
{
	const struct image *i = image_here();
	struct patched *p = find(module);

	if ((int)instruction < 1 || (int)instruction > SITES || !name || strlen(name) >= NAME_MAX ||
		!xpuprof_sim_module_text(module) || !i || !strstr(i->text, name))
		return SANITIZER_ERROR_INVALID_PARAMETER;
	if (!p && module_count < MODULES_MAX) {
		p = &modules[module_count];
		*p = (struct patched){.module = module, .number = module_count++};
	}
	if (!p)
		return SANITIZER_ERROR_OUT_OF_MEMORY;
	strcpy(p->names[instruction - 1], name);
	return SANITIZER_SUCCESS;
}

static uint64_t begin_of(const struct patched *p, size_t kernel)
{
	return 0x7000000000ull + p->number * 0x100000000ull + kernel * 0x1000000ull;
}

/* A call of a patch from a site of a kernel. cp.async is an instruction of another kind. */
static char *call_text(const struct patched *p, size_t kernel, int site)
{
	bool access = site == PTX_AT_ACCESS;
	char *text = NULL;

	if (asprintf(&text,
		    "{\n.reg .b64 %%d, %%c;\n.reg .b32 %%f, %%g;\n.reg .pred %%q;\n%s"
		    "ld.global.u64 %%d, [sim_data_%zu];\nmov.u64 %%c, %llu;\n%s"
		    ".param .b32 r0;\n.param .b64 p0;\n.param .b64 p1;\n%s"
		    "st.param.b64 [p0], %%d;\nst.param.b64 [p1], %%c;\n%s"
		    "call (r0), %s, (p0, p1%s);\nskip:\n}\n",
		    access ? "and.b32 %f, %xpu_kind, 16;\nsetp.ne.u32 %q, %f, 0;\n@%q bra skip;\n"
			   : "",
		    kernel, (unsigned long long)begin_of(p, kernel),
		    access ? ".reg .b64 %i;\ncvt.u64.u32 %i, %xpu_insn;\nshl.b64 %i, %i, 4;\n"
			     "add.u64 %c, %c, %i;\nand.b32 %g, %xpu_kind, 3;\n"
			   : "",
		    access ? ".param .b64 p2;\n.param .b32 p3;\n.param .b32 p4;\n.param .b64 p5;\n"
			   : "",
		    access ? "st.param.b64 [p2], %xpu_addr;\nst.param.b32 [p3], %xpu_size;\n"
			     "st.param.b32 [p4], %g;\nst.param.b64 [p5], 0;\n"
			   : "",
		    p->names[access ? 2 : site], access ? ", p2, p3, p4, p5" : "") < 0)
		abort();
	return text;
}

struct work {
	struct ptx_body bodies[KERNELS_MAX * SITES];
	struct ptx_declaration declarations[2];
	struct ptx_probes probes;
};

static void add_body(struct work *w, const struct patched *p, size_t kernel, const char *name,
	enum ptx_site site)
{
	w->bodies[w->probes.body_count++] = (struct ptx_body){.site = site,
		.pair = PTX_NO_PAIR,
		.kernels = name,
		.text = call_text(p, kernel, site),
		.declarations = 3,
		.version = 63,
		.sm = 70};
}

static void add_kernels(
	struct work *w, const struct patched *p, CUfunction *functions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *name = xpuprof_sim_symbol(functions[i]);

		if (*p->names[0])
			add_body(w, p, i, name, PTX_AT_ENTRY);
		if (*p->names[1])
			add_body(w, p, i, name, PTX_AT_EXIT);
		if (*p->names[2])
			add_body(w, p, i, name, PTX_AT_ACCESS);
	}
}

/* Bodies are calls, which do without the arena. */
static CUresult switch_on(CUmodule module)
{
	struct ptx_words words = {.on = 1};
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult result = cuModuleGetGlobal_v2(&at, &bytes, module, PTX_WORDS);

	if (!result)
		memcpy((void *)(uintptr_t)at, &words, sizeof(words));
	return result;
}

static SanitizerResult splice(struct work *w, const struct patched *p, size_t kernels)
{
	const char *text = xpuprof_sim_module_text(p->module);
	struct ptx_spliced s = {0};
	char *variables = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&variables, &size);
	CUresult result;

	for (size_t i = 0; i < kernels; i++)
		fprintf(out, ".visible .global .align 8 .u64 sim_data_%zu = 1;\n", i);
	fclose(out);
	w->declarations[0].text = variables;
	w->declarations[1].text = image_here()->text;
	w->probes.bodies = w->bodies;
	w->probes.declarations = w->declarations;
	w->probes.declaration_count = 2;
	if (ptx_splice(text, strlen(text), &w->probes, &s)) {
		fprintf(stderr, "simulated Sanitizer: %s\n", error_text());
		free(variables);
		return SANITIZER_ERROR_INVALID_OPERATION;
	}
	buf_putc(&s.text, 0);
	result = xpuprof_sim_module_replace(p->module, s.text.data);
	if (result)
		fprintf(stderr, "simulated Sanitizer: %s\n", error_text());
	else
		result = switch_on(p->module);
	ptx_spliced_release(&s);
	free(variables);
	return result ? SANITIZER_ERROR_INVALID_OPERATION : SANITIZER_SUCCESS;
}

API SanitizerResult sanitizerPatchModule(CUmodule module)
{
	struct patched *p = find(module);
	CUfunction functions[KERNELS_MAX];
	unsigned int count = 0;
	SanitizerResult result;
	struct work *w;

	if (!p || cuModuleGetFunctionCount(&count, module) || count > KERNELS_MAX ||
		cuModuleEnumerateFunctions(functions, count, module))
		return SANITIZER_ERROR_INVALID_PARAMETER;
	w = calloc(1, sizeof(*w));
	if (!w)
		return SANITIZER_ERROR_OUT_OF_MEMORY;
	add_kernels(w, p, functions, count);
	result = splice(w, p, count);
	for (size_t i = 0; i < w->probes.body_count; i++)
		free((char *)w->bodies[i].text);
	free(w);
	p->is_done = !result;
	return result;
}

/* Which of its module's kernels it is, in the order of enumeration. */
static bool number_of(const struct patched *p, CUfunction kernel, size_t *ret)
{
	CUfunction functions[KERNELS_MAX];
	unsigned int count = 0;

	if (cuModuleGetFunctionCount(&count, p->module) || count > KERNELS_MAX ||
		cuModuleEnumerateFunctions(functions, count, p->module))
		return false;
	for (size_t i = 0; i < count; i++)
		if (functions[i] == kernel) {
			*ret = i;
			return true;
		}
	return false;
}

API SanitizerResult sanitizerSetCallbackData(CUfunction kernel, const void *userdata)
{
	CUmodule module = NULL;
	struct patched *p;
	CUdeviceptr at = 0;
	char name[32];
	size_t i, bytes;

	if (cuFuncGetModule(&module, kernel) || !(p = find(module)) || !p->is_done ||
		!number_of(p, kernel, &i))
		return SANITIZER_ERROR_INVALID_PARAMETER;
	snprintf(name, sizeof(name), "sim_data_%zu", i);
	if (cuModuleGetGlobal_v2(&at, &bytes, module, name))
		return SANITIZER_ERROR_INVALID_OPERATION;
	memcpy((void *)(uintptr_t)at, &userdata, sizeof(userdata));
	return SANITIZER_SUCCESS;
}

API SanitizerResult sanitizerGetFunctionPcAndSize(
	CUmodule module, const char *name, uint64_t *pc, uint64_t *size)
{
	struct patched *p = find(module);
	CUfunction kernel;
	size_t i;

	if (!p || !pc || !size || cuModuleGetFunction(&kernel, module, name) ||
		!number_of(p, kernel, &i))
		return SANITIZER_ERROR_INVALID_PARAMETER;
	*pc = begin_of(p, i);
	*size = 0x1000;
	return SANITIZER_SUCCESS;
}
