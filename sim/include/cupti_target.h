/* SPDX-License-Identifier: MIT */
/* CUPTI's names of chips; as cupti.h here. */
#pragma once

#include <cupti.h>
#include <stddef.h>

typedef struct CUpti_Device_GetChipName_Params {
	size_t structSize;
	void *pPriv;
	size_t deviceIndex;
	const char *pChipName;
} CUpti_Device_GetChipName_Params;

CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *pParams);
