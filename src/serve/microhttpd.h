/* SPDX-License-Identifier: MIT */
/*
 * libmicrohttpd, which is loaded when something is to be served: with what it needs, gnutls above
 * all, it would take half the time in which any command begins, and be in each of the processes
 * that read what nobody trusts. A static one (PORTABLE=1) needs nothing, and is linked in.
 */
#pragma once

#include <microhttpd.h>

#define MICROHTTPD_FUNCTIONS(F)                                                                    \
	F(add_connection)                                                                          \
	F(add_response_header)                                                                     \
	F(create_response_from_buffer)                                                             \
	F(destroy_response)                                                                        \
	F(get_connection_info)                                                                     \
	F(get_daemon_info)                                                                         \
	F(get_timeout)                                                                             \
	F(lookup_connection_value)                                                                 \
	F(queue_response)                                                                          \
	F(run)                                                                                     \
	F(start_daemon)                                                                            \
	F(stop_daemon)

#define MICROHTTPD_FIELD(name) __typeof__(MHD_##name) *name;
/* The library's functions, without its prefix. */
struct microhttpd {
	MICROHTTPD_FUNCTIONS(MICROHTTPD_FIELD)
};
#undef MICROHTTPD_FIELD

/* All are NULL until it is loaded. */
extern struct microhttpd mhd;

/* 0, or -ENOSYS: it is not installed here, or is another one. */
int microhttpd_load(void);
