// SPDX-License-Identifier: MIT
/*
 * CUPTI's small questions: versions, names and ids.
 */
#include "cupti_sim.h"

#include <stdlib.h>
#include <string.h>

SIM_EXPORT CUptiResult cuptiGetVersion(uint32_t *version)
{
	uint64_t other = xpuprof_sim_driver()->faults.cupti_version;

	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = other ? (uint32_t)other : CUPTI_API_VERSION;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char **str)
{
	static const struct {
		CUptiResult result;
		const char *name;
	} names[] = {
#define NAME(x) {x, #x}
		NAME(CUPTI_SUCCESS),
		NAME(CUPTI_ERROR_INVALID_PARAMETER),
		NAME(CUPTI_ERROR_INVALID_DEVICE),
		NAME(CUPTI_ERROR_INVALID_CONTEXT),
		NAME(CUPTI_ERROR_INVALID_OPERATION),
		NAME(CUPTI_ERROR_OUT_OF_MEMORY),
		NAME(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
		NAME(CUPTI_ERROR_MAX_LIMIT_REACHED),
		NAME(CUPTI_ERROR_NOT_INITIALIZED),
		NAME(CUPTI_ERROR_INVALID_STREAM),
		NAME(CUPTI_ERROR_INVALID_KIND),
		NAME(CUPTI_ERROR_NOT_SUPPORTED),
		NAME(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
		NAME(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
		NAME(CUPTI_ERROR_UNKNOWN),
#undef NAME
	};

	if (!str)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].result == result)
			return *str = names[i].name, CUPTI_SUCCESS;
	return CUPTI_ERROR_INVALID_PARAMETER;
}

static const char *const driver_names[SIM_CALLBACK_IDS] = {
#define F(id, name, ...)   [id] = #name,
#define F0(id, name, call) [id] = #name,
#include "../driver/driver_api.def"
};

static const char *const runtime_names[SIM_CALLBACK_IDS] = {
#define R(id, since, name, ...)	  [id] = #name "_v" #since,
#define R0(id, since, name, call) [id] = #name "_v" #since,
#include "../runtime/runtime_api.def"
};

SIM_EXPORT CUptiResult cuptiGetCallbackName(
	CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	const char *found = NULL;

	if (!name || cbid >= SIM_CALLBACK_IDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		found = driver_names[cbid];
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		found = runtime_names[cbid];
	if (!found)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = found;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*timestamp = sim_cupti_clock();
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	if (!context || !contextId || context->magic != SIM_CONTEXT)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*contextId = context->id;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	if (!context)
		context = xpuprof_sim_context();
	if (!context || !deviceId || context->magic != SIM_CONTEXT)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*deviceId = (uint32_t)context->device;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetStreamIdEx(
	CUcontext context, CUstream stream, uint8_t perThreadStream, uint32_t *streamId)
{
	CUstream s = xpuprof_sim_stream(stream, perThreadStream);

	if (!s || !streamId || (context && s->context != context))
		return CUPTI_ERROR_INVALID_STREAM;
	if (s->capture)
		abort(); /* the driver permits no query of a stream's id then */
	*streamId = s->id;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

SIM_EXPORT CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	if (!node || !nodeId || node->magic != SIM_NODE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*nodeId = node->id;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	if (!graph || !pId || graph->magic != SIM_GRAPH)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*pId = graph->id;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	if (!graphExec || !pId || graphExec->magic != SIM_EXEC)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*pId = graphExec->id;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiGetLastError(void)
{
	return CUPTI_SUCCESS;
}
