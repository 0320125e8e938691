/* SPDX-License-Identifier: MIT */
/*
 * What the files of the simulated CUPTI share. It reads the driver's objects (driver/sim.h)
 * directly. The driver reports to it through driver/tools.h.
 */
#pragma once

#include "cupti.h"
#include "../driver/sim.h"

/* activity.c: the driver's reports of finished work and of API calls. */
void sim_cupti_work(CUstream stream, const struct sim_work *work, const struct sim_run *run);
void sim_cupti_graph_run(CUstream stream, CUgraphExec exec, const struct sim_run *run);
void sim_cupti_stream_gone(CUstream stream);
void sim_cupti_api_record(const struct sim_call *call);
bool sim_cupti_api_wanted(enum sim_domain domain);
void sim_cupti_stop_activity(void);
void sim_cupti_lose_activity(void); /* the same, and what was not handed over is lost */
uint64_t sim_cupti_clock(void);

/* nvtx.c: the program marked something. The texts stay; no name: it is an end. */
void sim_cupti_marker(CUpti_ActivityFlag flag, uint32_t id, const char *name, const char *domain);

/* sampling.c: a kernel was submitted. Its stream is locked. */
void sim_cupti_sample(CUstream stream, const struct sim_kernel *kernel, const struct sim_run *run);
void sim_cupti_context_destroying(bool begins);
void sim_cupti_context_gone(CUcontext context);
void sim_cupti_used(enum sim_unsampled how);

/* callbacks.c */
void sim_cupti_report_module(uint32_t id, const char *image, size_t size);
void sim_cupti_count_api_user(int change);    /* of correlation ids: a callback or API activity */
void sim_cupti_watch(enum sim_domain domain); /* API records of a domain were switched on or off */
bool sim_cupti_usable(CUptiResult *ret_why);
/* CUPTI ends itself, as NVIDIA's does when it meets an error that it cannot mend. It reports this,
 * or (NULL) not. */
void sim_cupti_end(const char *message);
bool sim_cupti_has_ended(void);
bool sim_cupti_has_subscriber(void);
