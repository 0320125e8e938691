// SPDX-License-Identifier: MIT
#include "view/fold/event_nodes.h"

#include <stdio.h>
#include <string.h>

int event_nodes_init(struct event_nodes *n, const struct profile_reader *r,
	const struct view_options *o, struct tree *t)
{
	struct stacks_options stacks = {
		.lines = o->lines, .inlines = o->inlines, .native_python = o->native_python};
	int error;

	*n = (struct event_nodes){.reader = r, .options = o, .tree = t};
	error = device_numbers_init(&n->devices, r);
	return error ?: stacks_init(&n->stacks, r, t, &stacks);
}

void event_nodes_release(struct event_nodes *n)
{
	stacks_release(&n->stacks);
}

/* Why there is no stack. If the profile has no reason, the stack was lost. */
static enum profile_join why_no_stack(const struct profile_work *w)
{
	return w->join == JOIN_OK || w->join >= JOIN_REASONS ? JOIN_STACK_LOST : w->join;
}

static struct gather_key key_of_work(const struct profile_work *w)
{
	return (struct gather_key){
		.reason = w->stack ? JOIN_OK : why_no_stack(w),
		.thread = w->thread,
		.stack = w->stack,
		.node_stack = w->node_stack,
		.api = w->api,
		.op = w->op,
	};
}

static struct gather_key key_of_pending(const struct profile_pending *p)
{
	return (struct gather_key){
		.reason = p->reason,
		.thread = p->thread,
		.stack = p->stack,
		.api = p->api,
	};
}

struct gather_key event_whole_key(const struct profile_event *e)
{
	struct gather_key key = {0};

	switch (e->kind) {
	case EVENT_SAMPLE:
		key.reason = e->sample.kind;
		key.thread = e->sample.thread;
		key.stack = e->sample.stack;
		break;
	case EVENT_CALL:
		key.thread = e->call.thread;
		key.stack = e->call.stack;
		key.api = e->call.api;
		break;
	case EVENT_WORK:
		key = key_of_work(&e->work);
		break;
	case EVENT_PENDING:
		key = key_of_pending(&e->pending);
		break;
	case EVENT_WAIT:
		key.reason = e->wait.reason;
		key.thread = e->wait.thread;
		key.stack = e->wait.stack;
		break;
	case EVENT_SYNC:
		key.thread = e->sync.thread;
		key.stack = e->sync.stack;
		key.api = e->sync.api;
		break;
	case EVENT_STALL:
	case EVENT_COUNT:
	case EVENT_DRIVER:
	case EVENT_LIFE:
	case EVENT_MARKER:
	case EVENT_FOUND:
		break;
	}
	key.event = e->kind;
	return key;
}

struct gather_key event_key_for(const struct gather_key *whole, const struct view_options *o)
{
	struct gather_key key = *whole;

	if (o->graph_stack == VIEW_GRAPH_LAUNCH)
		key.node_stack = 0;
	if (key.node_stack && o->graph_stack == VIEW_GRAPH_CAPTURE)
		key.stack = key.reason = key.api = 0;
	if (key.event == EVENT_PENDING && key.reason != PENDING_FAILED)
		key.reason = PENDING_UNFINISHED;
	if (!(o->by & (VIEW_BY_PROCESS | VIEW_BY_THREAD)) && !o->range.thread)
		key.thread = 0;
	return key;
}

struct gather_key event_key(const struct profile_event *e, const struct view_options *o)
{
	struct gather_key whole = event_whole_key(e);

	return event_key_for(&whole, o);
}

static int add_frame(struct event_nodes *n, uint32_t *node, enum tree_kind kind, uint32_t number,
	const char *name)
{
	uint32_t frame;
	int error = tree_add_frame(n->tree, kind, number, name, strlen(name), &frame);

	return error ?: tree_add_child(n->tree, *node, frame, node);
}

static int add_note(struct event_nodes *n, uint32_t *node, const char *text)
{
	char note[256];

	snprintf(note, sizeof(note), "[%s]", text);
	return add_frame(n, node, TREE_NOTE, 0, note);
}

static int add_process(struct event_nodes *n, uint32_t *node, const struct gather_key *key,
	const struct profile_thread *thread)
{
	const struct profile_op *op = profile_op(n->reader, key->op);
	const struct profile_process *process = profile_process(n->reader, thread ? thread->process
									   : op	  ? op->process
										  : 0);

	if (!process)
		return add_note(n, node, "process not known");
	return add_frame(n, node, TREE_PROCESS, process->pid,
		profile_string(n->reader, process->comm, NULL));
}

static int add_task(struct event_nodes *n, uint32_t *node, const struct gather_key *key)
{
	const struct profile_thread *t = profile_thread(n->reader, key->thread);

	if (n->options->by & VIEW_BY_PROCESS) {
		int error = add_process(n, node, key, t);

		if (error)
			return error;
	}
	if (!(n->options->by & VIEW_BY_THREAD))
		return 0;
	if (!t)
		return add_note(n, node, "thread not known");
	return add_frame(n, node, TREE_THREAD, t->tid, profile_thread_name(n->reader, t, NULL));
}

/* Nothing for a call that is not known. */
static int add_call(struct event_nodes *n, uint32_t *node, uint32_t api)
{
	const char *name = profile_string(n->reader, api, NULL);
	int error = 0;

	if (!*name)
		return 0;
	if (api != n->last_api)
		error = tree_add_frame(n->tree, TREE_API, 0, name, strlen(name), &n->last_call);
	n->last_api = error ? 0 : api;
	return error ?: tree_add_child(n->tree, *node, n->last_call, node);
}

/* A stack without the inside of the vendor's libraries, and the call: `api` or, if that is 0, the
 * name of the frame that was cut off last. */
static int add_caller(struct event_nodes *n, uint32_t *node, uint32_t stack, uint32_t api)
{
	const struct profile_location *l;
	uint32_t call = 0;
	int error;

	if (!n->options->api_frames)
		stack = stacks_cut_call(&n->stacks, stack, api, &call);
	error = stacks_add(&n->stacks, *node, stack, node);
	l = profile_location(n->reader, call);
	if (l && !api)
		api = l->name;
	return error ?: add_call(n, node, api);
}

static int add_launch(struct event_nodes *n, uint32_t *node, const struct gather_key *key)
{
	int error;

	if (key->stack)
		return add_caller(n, node, key->stack, key->api);
	error = add_note(
		n, node, key->event == EVENT_WORK ? profile_join_text(key->reason) : "no stack");
	return error ?: add_call(n, node, key->api);
}

static int add_code(struct event_nodes *n, uint32_t *node, const struct gather_key *key)
{
	int error;

	if (key->node_stack && n->options->graph_stack == VIEW_GRAPH_CAPTURE)
		return add_caller(n, node, key->node_stack, 0);
	error = add_launch(n, node, key);
	if (!error && key->node_stack) {
		error = add_note(n, node, "graph node made at");
		error = error ?: add_caller(n, node, key->node_stack, 0);
	}
	return error;
}

static int add_op(struct event_nodes *n, uint32_t *node, const struct profile_op *op)
{
	if (!op)
		return add_frame(n, node, TREE_GPU_KERNEL, 0, "[damaged]");
	switch (op->kind) {
	case OP_KERNEL:
		break;
	case OP_COPY:
		return add_frame(n, node, TREE_GPU_COPY, 0, profile_copy_name(op->copy_kind));
	case OP_SET:
		return add_frame(n, node, TREE_GPU_SET, 0, "memset");
	}
	return add_frame(n, node, TREE_GPU_KERNEL, 0, profile_string(n->reader, op->name, NULL));
}

static int add_place(struct event_nodes *n, uint32_t *node, const struct profile_op *op)
{
	int error = 0;

	if (op && n->options->by & VIEW_BY_DEVICE) {
		const struct profile_device *d = profile_device(n->reader, op->device);

		error = d ? add_frame(n, node, TREE_DEVICE,
				    device_number(&n->devices, n->reader, op->device),
				    profile_string(n->reader, d->name, NULL))
			  : add_note(n, node, "device not known");
	}
	if (!error && op && n->options->by & VIEW_BY_STREAM)
		error = add_frame(n, node, TREE_STREAM, op->stream, "stream");
	return error;
}

static int add_gpu_side(struct event_nodes *n, uint32_t *node, const struct gather_key *key)
{
	const struct profile_op *op = profile_op(n->reader, key->op);
	int error = add_place(n, node, op);

	return error ?: add_op(n, node, op);
}

/* Where it went to sleep, and why. */
static int add_wait(struct event_nodes *n, const struct gather_key *key, uint32_t *node)
{
	uint32_t stack = stacks_cut_scheduler(&n->stacks, key->stack);
	char reason[64];
	int error;

	if (!key->stack)
		error = add_note(n, node, "waits without a stack");
	else if (n->options->brief_waits)
		error = stacks_add_brief(&n->stacks, *node, stack, node);
	else
		error = stacks_add(&n->stacks, *node, stack, node);
	snprintf(reason, sizeof(reason), "[waiting: %s]", profile_wait_reason_name(key->reason));
	return error ?: add_frame(n, node, TREE_WAIT, 0, reason);
}

static int add_sample(struct event_nodes *n, const struct gather_key *key, uint32_t *node)
{
	return key->stack ? stacks_add(&n->stacks, *node, key->stack, node)
			  : add_note(n, node, profile_sample_note(key->reason));
}

int event_nodes_add_base(struct event_nodes *n, const struct gather_key *key, uint32_t *ret_node)
{
	*ret_node = TREE_ROOT_NODE;
	return add_task(n, ret_node, key);
}

int event_nodes_add_code(struct event_nodes *n, const struct gather_key *key, uint32_t *node)
{
	switch (key->event) {
	case EVENT_SAMPLE:
		return add_sample(n, key, node);
	case EVENT_WAIT:
		return add_wait(n, key, node);
	default:
		return add_code(n, node, key);
	}
}

int event_nodes_add_top(struct event_nodes *n, const struct gather_key *key, uint32_t *node)
{
	if (key->event == EVENT_WORK)
		return add_gpu_side(n, node, key);
	if (key->event == EVENT_PENDING)
		return add_frame(n, node, TREE_GPU_PENDING, 0,
			key->reason == PENDING_FAILED ? "Failed" : "Pending");
	return 0;
}

int event_nodes_add_place(struct event_nodes *n, const struct gather_key *key, uint32_t *node)
{
	return add_place(n, node, profile_op(n->reader, key->op));
}

int event_nodes_add(struct event_nodes *n, const struct gather_key *key, uint32_t *ret_node)
{
	uint32_t node;
	int error = event_nodes_add_base(n, key, &node);

	error = error ?: event_nodes_add_code(n, key, &node);
	error = error ?: event_nodes_add_top(n, key, &node);
	if (!error)
		*ret_node = node;
	return error;
}

int event_nodes_add_task(struct event_nodes *n, uint32_t thread, uint32_t *ret_node)
{
	const struct gather_key key = {.thread = thread};
	uint32_t node = TREE_ROOT_NODE;
	int error = add_task(n, &node, &key);

	if (!error)
		*ret_node = node;
	return error;
}

int event_nodes_add_note(struct event_nodes *n, uint32_t base, enum tree_kind kind,
	const char *text, uint32_t *ret_node)
{
	char note[256];
	int error;

	snprintf(note, sizeof(note), "[%s]", text);
	error = add_frame(n, &base, kind, 0, note);
	if (!error)
		*ret_node = base;
	return error;
}

int event_nodes_add_work(struct event_nodes *n, uint32_t base, const struct gather_key *key,
	bool code, uint32_t *ret_node)
{
	int error = code ? add_code(n, &base, key) : 0;

	error = error ?: add_gpu_side(n, &base, key);
	if (!error)
		*ret_node = base;
	return error;
}
