// SPDX-License-Identifier: MIT
#include "guest/own_thread.h"

#include <pthread.h>
#include <signal.h>

#define STACK_BYTES (1u << 20)

int own_thread_start(void *(*run)(void *), void *context)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int error = pthread_attr_init(&attributes);

	if (error)
		return -error;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attributes, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}
