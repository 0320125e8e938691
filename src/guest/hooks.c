// SPDX-License-Identifier: MIT
/*
 * The C library's functions under atexit and pthread_atfork are called: these two would register
 * the functions as ours, to be forgotten with us. The page is nobody's who is ever unloaded.
 */
#include "guest/hooks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "guest/kept.h"

#define PATIENCE_MS 5000

int __cxa_atexit(void (*function)(void *), void *context, void *owner);
int __register_atfork(
	void (*before)(void), void (*after)(void), void (*in_child)(void), void *owner);

static struct {
	const struct hooks *hooks;
	const uint8_t *page; /* NULL: the library stays */
	struct kept_slot *slot;
} mine;

static int register_fork_of_page(const uint8_t *page)
{
	struct kept_data *data = kept_data(page);

	if (data->fork_registered)
		return 0;
	if (__register_atfork((void (*)(void))kept_function(page, kept_before_fork),
		    (void (*)(void))kept_function(page, kept_after_fork),
		    (void (*)(void))kept_function(page, kept_in_child), (void *)(uintptr_t)page))
		return -ENOMEM;
	data->fork_registered = 1;
	return 0;
}

static struct kept_slot *take_slot(struct kept_data *data)
{
	for (int n = 0; n < KEPT_SLOTS; n++)
		if (!__atomic_exchange_n(&data->slots[n].taken, 1, __ATOMIC_ACQUIRE))
			return &data->slots[n];
	return NULL;
}

static void empty_slot(struct kept_slot *slot)
{
	__atomic_store_n(&slot->before_fork, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->after_fork, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->in_child, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->at_exit, NULL, __ATOMIC_SEQ_CST);
}

/* In the child the library is dead, and never comes back. */
static void in_child(void)
{
	mine.hooks->in_child();
	empty_slot(mine.slot);
	__atomic_store_n(&mine.slot->taken, 0, __ATOMIC_RELEASE);
	mine.slot = NULL;
}

static int add_to_page(void)
{
	const struct hooks *h = mine.hooks;
	int error = kept_page(&mine.page);

	error = error ?: register_fork_of_page(mine.page);
	if (error)
		return error;
	mine.slot = take_slot(kept_data(mine.page));
	if (!mine.slot)
		return -ENOSPC;
	/* Whoever has been called before a fork is called after it. */
	__atomic_store_n(&mine.slot->in_child, in_child, __ATOMIC_SEQ_CST);
	__atomic_store_n(&mine.slot->after_fork, h->after_fork, __ATOMIC_SEQ_CST);
	__atomic_store_n(&mine.slot->before_fork, h->before_fork, __ATOMIC_SEQ_CST);
	return 0;
}

int hooks_add(const struct hooks *hooks, bool leaves)
{
	mine.hooks = hooks;
	if (leaves)
		return add_to_page();
	return __register_atfork(hooks->before_fork, hooks->after_fork, hooks->in_child, NULL)
		       ? -ENOMEM
		       : 0;
}

static void at_exit(void *context)
{
	mine.hooks->at_exit();
}

static int register_exit_of_page(void)
{
	struct kept_data *data = kept_data(mine.page);

	if (data->exit_registered)
		return 0;
	if (__cxa_atexit((void (*)(void *))kept_function(mine.page, kept_at_exit), NULL,
		    (void *)(uintptr_t)mine.page))
		return -ENOMEM;
	data->exit_registered = 1;
	return 0;
}

int hooks_add_exit(void)
{
	if (!mine.page)
		return __cxa_atexit(at_exit, NULL, NULL) ? -ENOMEM : 0;
	__atomic_store_n(&mine.slot->at_exit, mine.hooks->at_exit, __ATOMIC_SEQ_CST);
	return register_exit_of_page();
}

int hooks_add_last(void (*function)(void *context))
{
	return __cxa_atexit(function, NULL, NULL) ? -ENOMEM : 0;
}

bool hooks_remove(void)
{
	struct timespec pause = {.tv_nsec = 1000000};

	if (!mine.slot)
		return true;
	empty_slot(mine.slot);
	for (int n = 0; __atomic_load_n(&mine.slot->inside, __ATOMIC_SEQ_CST); n++) {
		if (n == PATIENCE_MS)
			return false;
		nanosleep(&pause, NULL);
	}
	__atomic_store_n(&mine.slot->taken, 0, __ATOMIC_RELEASE);
	mine.slot = NULL;
	return true;
}

void *hooks_unload(void)
{
	return mine.page ? kept_function(mine.page, kept_unload) : (void *)dlclose;
}

void hooks_undisturbed(void *(*function)(void *), void *context)
{
	void (*run)(void *, void *(*)(void *));
	const uint8_t *page;

	if (kept_page(&page) || register_fork_of_page(page)) {
		function(context);
		return;
	}
	*(void **)&run = kept_function(page, kept_unload);
	run(context, function);
}
