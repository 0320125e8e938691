// SPDX-License-Identifier: MIT
/*
 * Another tool that is there first: subscribes to CUPTI before the program does anything, and says
 * on stderr what became of that. A library for LD_PRELOAD; it links nothing of CUDA.
 *
 *	LD_PRELOAD=build/tests/gpu/libearly_subscriber.so PROGRAM
 *
 * A program that does not find libcupti by itself needs its folder in LD_LIBRARY_PATH.
 */
#include <cupti.h>

#include <dlfcn.h>
#include <stdio.h>

static void callback(
	void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
}

__attribute__((constructor)) static void subscribe(void)
{
	CUpti_SubscriberHandle subscriber;
	__typeof__(cuptiSubscribe) *function = NULL;
	void *cupti = dlopen("libcupti.so.13", RTLD_NOW);

	if (!cupti)
		cupti = dlopen("libcupti.so.12", RTLD_NOW);
	if (cupti)
		*(void **)&function = dlsym(cupti, "cuptiSubscribe");
	if (!function)
		fprintf(stderr, "early_subscriber: %s\n", dlerror());
	else
		fprintf(stderr, "early_subscriber: CUPTI said %d\n",
			function(&subscriber, callback, NULL));
}
