/* SPDX-License-Identifier: MIT */
/* What instructions are called: gcn_table.c, which is made by tools/amd-names. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Encodings whose opcodes have names, in the order of the table. */
enum gcn_family {
	GCN_SOP2,
	GCN_SOPK,
	GCN_SOP1,
	GCN_SOPC,
	GCN_SOPP,
	GCN_VOP2,
	GCN_VOP1,
	GCN_VOPC,
	GCN_VOP3, /* without the long forms of the three before */
	GCN_VOP3P,
	GCN_SMEM,
	GCN_DS,
	GCN_GLOBAL,
	GCN_FLAT,
	GCN_SCRATCH,
	GCN_MUBUF,
	GCN_VOPD, /* one half of it */
};

/* GPUs whose instructions differ. */
enum gcn_generation {
	GCN_GFX900,
	GCN_GFX906,
	GCN_GFX908,
	GCN_GFX90A,
	GCN_GFX942,
	GCN_GFX950,
	GCN_GFX1010,
	GCN_GFX1030,
	GCN_GFX1100,
	GCN_GFX1150,
	GCN_GFX1200,
	GCN_GENERATIONS,
};

struct gcn_name {
	uint8_t family; /* enum gcn_family */
	uint16_t opcode;
	uint16_t generations; /* bits, by enum gcn_generation */
	/* Behind the family's prefix ("global_"); with a `*` where the name's end depends on the
	 * form. */
	const char *name;
};

/* By family and opcode. */
extern const struct gcn_name gcn_names[];
extern const size_t gcn_name_count;
