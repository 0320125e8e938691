// SPDX-License-Identifier: MIT
/*
 * Stream capture: work submitted to a capturing stream becomes nodes of a graph. A stream holds its
 * tips, the nodes that the next one depends on. An event recorded into the capture carries the tips
 * of that moment to the stream that waits for it, which thereby joins.
 *
 * One lock for all captures, since they are rare. Whether a stream captures is an atomic of the
 * stream.
 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	struct sim_capture *first;
} captures = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct sim_capture *find(uint64_t id)
{
	struct sim_capture *c;

	for (c = captures.first; c && c->id != id; c = c->next)
		;
	return c;
}

static bool append_tip(CUgraphNode **tips, size_t *count, CUgraphNode node)
{
	CUgraphNode *grown;

	for (size_t i = 0; i < *count; i++)
		if ((*tips)[i] == node)
			return true;
	grown = realloc(*tips, (*count + 1) * sizeof(*grown));
	if (!grown)
		return false;
	grown[(*count)++] = node;
	*tips = grown;
	return true;
}

static bool join(struct sim_capture *c, CUstream s)
{
	CUstream *grown = realloc(c->streams, (c->stream_count + 1) * sizeof(*grown));

	if (!grown)
		return false;
	c->streams = grown;
	grown[c->stream_count++] = s;
	s->tip_count = 0;
	s->capture = c;
	if (!(s->flags & CU_STREAM_NON_BLOCKING))
		s->context->captures++;
	return true;
}

static void part(CUstream s)
{
	s->tip_count = 0;
	s->capture = NULL;
	if (!(s->flags & CU_STREAM_NON_BLOCKING))
		s->context->captures--;
}

CUresult sim_capture_begin(CUstream s, CUstreamCaptureMode mode)
{
	struct sim_capture *c;
	CUresult result;

	if (!s)
		return sim_stream_error();
	if (s->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (s->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	c = calloc(1, sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = sim_graph_create(&c->graph);
	if (result) {
		free(c);
		return result;
	}
	c->id = atomic_fetch_add(&sim.capture_ids, 1) + 1;
	c->origin = s;
	c->mode = mode;
	c->thread = pthread_self();
	pthread_mutex_lock(&captures.lock);
	c->next = captures.first;
	captures.first = c;
	join(c, s);
	pthread_mutex_unlock(&captures.lock);
	return CUDA_SUCCESS;
}

/* Every node must lead to the tips of the stream that began. */
static bool all_joined(const struct sim_capture *c)
{
	CUgraph g = c->graph;
	bool *reached = calloc(g->count + 1, 1);
	bool all = true;

	if (!reached)
		return false;
	for (size_t i = 0; i < c->origin->tip_count; i++)
		reached[c->origin->tips[i]->index] = true;
	for (size_t i = g->count; i-- > 0;) {
		all &= reached[i];
		for (size_t d = 0; reached[i] && d < g->nodes[i]->dependency_count; d++)
			reached[g->nodes[i]->dependencies[d]->index] = true;
	}
	free(reached);
	return all;
}

static CUresult check_end(struct sim_capture *c, CUstream s)
{
	if (!c || c->origin != s)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	return CUDA_SUCCESS;
}

static void capture_end(struct sim_capture *c)
{
	struct sim_capture **at = &captures.first;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	for (size_t i = 0; i < c->stream_count; i++)
		part(c->streams[i]);
	free(c->streams);
	free(c);
}

CUresult sim_capture_end(CUstream s, CUgraph *ret)
{
	struct sim_capture *c;
	CUgraph graph;
	CUresult result;

	if (!s)
		return sim_stream_error();
	if (!ret)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&captures.lock);
	c = s->capture;
	result = check_end(c, s);
	if (result) {
		pthread_mutex_unlock(&captures.lock);
		return result;
	}
	graph = c->graph;
	if (c->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!all_joined(c))
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	capture_end(c);
	pthread_mutex_unlock(&captures.lock);
	if (result)
		sim_graph_destroy(graph);
	*ret = result ? NULL : graph;
	return result;
}

static CUstreamCaptureStatus status_of(const struct sim_capture *c)
{
	if (!c)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* Takes no lock: tools ask this inside their callbacks. */
CUresult sim_capture_status(CUstream s, CUstreamCaptureStatus *ret)
{
	if (!s)
		return sim_stream_error();
	if (s->legacy && s->context->captures)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	*ret = status_of(s->capture);
	return CUDA_SUCCESS;
}

CUresult sim_capture_info(CUstream s, CUstreamCaptureStatus *ret_status, cuuint64_t *ret_id,
	CUgraph *ret_graph, const CUgraphNode **ret_tips, size_t *ret_count)
{
	struct sim_capture *c;

	if (!s)
		return sim_stream_error();
	c = s->capture;
	*ret_status = status_of(c);
	if (!c)
		return CUDA_SUCCESS;
	if (ret_id)
		*ret_id = c->id;
	if (ret_graph)
		*ret_graph = c->graph;
	if (ret_tips)
		*ret_tips = s->tips;
	if (ret_count)
		*ret_count = s->tip_count;
	return CUDA_SUCCESS;
}

CUresult sim_capture_exchange_mode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode before = sim_thread.capture_mode;

	if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	sim_thread.capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

CUresult sim_capture_work(CUstream s, const struct sim_work *work)
{
	struct sim_capture *c;
	CUgraphNode node;
	CUresult result;

	pthread_mutex_lock(&captures.lock);
	c = s->capture;
	if (!c)
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	else if (c->invalid)
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else
		result = sim_graph_add(&node, c->graph, s->tips, s->tip_count, work);
	if (!result) {
		s->tip_count = 0;
		append_tip(&s->tips, &s->tip_count, node);
	}
	pthread_mutex_unlock(&captures.lock);
	return result;
}

CUresult sim_capture_record(CUstream s, CUevent event)
{
	struct sim_capture *c;

	pthread_mutex_lock(&captures.lock);
	c = s->capture;
	if (c) {
		event->capture = c->id;
		event->tip_count = 0;
		for (size_t i = 0; i < s->tip_count; i++)
			append_tip(&event->tips, &event->tip_count, s->tips[i]);
	}
	pthread_mutex_unlock(&captures.lock);
	return c ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
}

static CUresult wait_locked(CUstream s, CUevent event)
{
	struct sim_capture *c = find(event->capture);

	if (!c)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (s->capture && s->capture != c)
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	if (!s->capture && !join(c, s))
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < event->tip_count; i++)
		if (!append_tip(&s->tips, &s->tip_count, event->tips[i]))
			return CUDA_ERROR_OUT_OF_MEMORY;
	return CUDA_SUCCESS;
}

CUresult sim_capture_wait(CUstream s, CUevent event)
{
	CUresult result;

	if (s->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	pthread_mutex_lock(&captures.lock);
	result = wait_locked(s, event);
	pthread_mutex_unlock(&captures.lock);
	return result;
}

CUresult sim_capture_forbid(CUstream s)
{
	struct sim_capture *c;

	pthread_mutex_lock(&captures.lock);
	c = s->capture;
	if (c)
		c->invalid = true;
	pthread_mutex_unlock(&captures.lock);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void sim_capture_leave(CUstream s)
{
	struct sim_capture *c;
	CUgraph graph = NULL;

	pthread_mutex_lock(&captures.lock);
	c = s->capture;
	if (c && c->origin == s) {
		graph = c->graph;
		capture_end(c);
	} else if (c) {
		size_t kept = 0;

		for (size_t i = 0; i < c->stream_count; i++)
			if (c->streams[i] != s)
				c->streams[kept++] = c->streams[i];
		c->stream_count = kept;
		c->invalid = true;
		part(s);
	}
	pthread_mutex_unlock(&captures.lock);
	if (graph)
		sim_graph_destroy(graph);
}
