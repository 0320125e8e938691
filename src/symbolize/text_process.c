// SPDX-License-Identifier: MIT
#include "symbolize/text_process.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "sandbox/child.h"
#include "sandbox/sandbox.h"
#include "sandbox/writer.h"

#define LOOK_PERIOD_NS (50 * NS_PER_MS) /* how often the user is asked while we wait */

struct answer {
	bool done;
	int error;
	struct buf *data;
};

/* What the process says is not trusted: an error that only we can have is none of its. */
static int error_of(const struct child_reply *reply)
{
	int error = reply->error;

	if (!error || reply->unanswered || error == -ENOENT || error == -ELIBBAD ||
		error == -EOPNOTSUPP || error == -EPERM)
		return error;
	return -EIO;
}

static void note_answer(void *context, uint64_t tag, struct child_reply *reply)
{
	struct answer *a = context;

	a->done = true;
	a->error = error_of(reply);
	if (!a->error)
		buf_append(a->data, reply->data, reply->size);
	if (!a->error && a->data->failed)
		a->error = -ENOMEM;
}

static int begin(struct text_process *p, const char *library)
{
	if (p->child)
		return 0;
	buf_printf(&p->role, SANDBOX_WRITER ":%s:%s", p->format->name, library);
	if (!p->role.failed)
		p->child = child_new(p->program, buf_text(&p->role), -1);
	return p->child ? 0 : -ENOMEM;
}

int text_process_ask(void *process, const char *library, const struct buf *question,
	uint64_t limit_ns, struct buf *ret_answer)
{
	struct text_process *p = process;
	struct answer answer = {.data = ret_answer};
	const struct child_request r = {.kind = WRITER_TEXT,
		.limit_ns = limit_ns,
		.data = question->data,
		.size = question->size,
		.fds = {-1, -1},
		.done = note_answer,
		.context = &answer};
	int error = begin(p, library);

	error = error ?: child_ask(p->child, &r);
	if (error)
		return error;
	while (!child_wait(p->child, &answer.done, clock_now_ns() + LOOK_PERIOD_NS)) {
		if (!p->stopped || !p->stopped(p->stop_context))
			continue;
		child_drop(p->child);
		return -EINTR;
	}
	return answer.error;
}

void text_process_release(struct text_process *p)
{
	child_free(p->child);
	p->child = NULL;
	buf_release(&p->role);
}
