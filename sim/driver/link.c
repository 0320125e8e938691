// SPDX-License-Identifier: MIT
/*
 * The driver's linker: one text becomes what a simulated compiler makes, an ELF file with the text
 * in it (compute.c).
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

enum { SIM_LINK = 0x534c4e4b };

struct CUlinkState_st {
	int magic;
	char *text, *image;
};

static bool is_link(CUlinkState link)
{
	return link && link->magic == SIM_LINK;
}

CUresult sim_link_create(CUlinkState *ret)
{
	CUlinkState link = calloc(1, sizeof(*link));

	if (!link)
		return CUDA_ERROR_OUT_OF_MEMORY;
	link->magic = SIM_LINK;
	*ret = link;
	return CUDA_SUCCESS;
}

CUresult sim_link_add(CUlinkState link, CUjitInputType type, const void *data, size_t size)
{
	if (!is_link(link) || link->text || type != CU_JIT_INPUT_PTX || !data)
		return CUDA_ERROR_INVALID_VALUE;
	link->text = strndup(data, size);
	return link->text && strstr(link->text, ".version") ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

CUresult sim_link_complete(CUlinkState link, void **ret, size_t *ret_size)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr none, text;
	} elf = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', 2, 1, 1},
			 .e_type = ET_EXEC,
			 .e_machine = EM_CUDA,
			 .e_version = 1,
			 .e_shoff = sizeof(Elf64_Ehdr),
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 2}};

	if (!is_link(link) || !link->text || link->image)
		return CUDA_ERROR_INVALID_VALUE;
	elf.text.sh_type = SIM_CODE_TEXT;
	elf.text.sh_offset = sizeof(elf);
	elf.text.sh_size = strlen(link->text);
	link->image = malloc(sizeof(elf) + elf.text.sh_size);
	if (!link->image)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(link->image, &elf, sizeof(elf));
	memcpy(link->image + sizeof(elf), link->text, elf.text.sh_size);
	*ret = link->image;
	if (ret_size)
		*ret_size = sizeof(elf) + elf.text.sh_size;
	return CUDA_SUCCESS;
}

CUresult sim_link_destroy(CUlinkState link)
{
	if (!is_link(link))
		return CUDA_ERROR_INVALID_VALUE;
	free(link->text);
	free(link->image);
	link->magic = 0;
	free(link);
	return CUDA_SUCCESS;
}
