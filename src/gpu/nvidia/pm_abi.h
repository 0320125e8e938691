/* SPDX-License-Identifier: MIT */
/*
 * The part of CUPTI's and the driver's binary interface that sampling hardware counters (PM
 * sampling) uses, written down once, so that neither is needed to build. CUPTI has it since
 * CUDA 12.6; facts from cupti_pmsampling.h, cupti_profiler_host.h, cupti_profiler_target.h and
 * cupti_target.h of CUDA 13.0, compared with the real headers by tests/unit/pm_abi_test.c.
 *
 * Every struct begins with its size, up to and including its last member; `reserved` is NULL.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum pm_result {
	PM_OK = 0,
	PM_INVALID_PARAMETER = 1,
	PM_INVALID_OPERATION = 7,
	PM_OUT_OF_MEMORY = 8,
	PM_HARDWARE_BUSY = 26,
	PM_NOT_SUPPORTED = 27,
	PM_VIRTUAL_DEVICE = 33,
	PM_RIGHTS = 35,
	PM_VIRTUAL_DEVICE_RIGHTS = 40,
	PM_CONFIDENTIAL = 41,
	PM_WSL_DEVICE = 45,
};

/* What cuptiProfilerDeviceSupported is asked about, and what it returns for each possible
 * obstacle. */
#define PM_INTERFACE 3
enum pm_support {
	PM_SUPPORT_UNKNOWN = 0,
	PM_SUPPORT_NO,
	PM_SUPPORT_OFF, /* supported, but switched off */
	PM_SUPPORT_YES,
};

#define PM_HOST_TYPE 1 /* of cuptiProfilerHostInitialize: PM sampling */

enum pm_trigger {
	PM_TRIGGER_CYCLES = 0, /* of the GPU's system clock */
	PM_TRIGGER_TIME = 1,   /* nanoseconds; not on Turing and GA100 */
};

enum pm_append {
	PM_KEEP_OLDEST = 0,
	PM_KEEP_LATEST = 1, /* not on Turing */
};

enum pm_decode_stop {
	PM_DECODE_OTHER = 0,
	PM_DECODE_IMAGE_FULL = 1,
	PM_DECODE_END = 2,
};

struct pm_plain {
	size_t size;
	void *reserved;
};

struct pm_supported {
	size_t size;
	void *reserved;
	int device;
	int supported; /* enum pm_support, as what follows */
	int architecture;
	int sli;
	int virtual_gpu;
	int confidential;
	int mining;
	int wsl;
	int interface; /* PM_INTERFACE */
};

struct pm_chip {
	size_t size;
	void *reserved;
	size_t device;
	const char *name;
};

struct pm_availability {
	size_t size;
	void *reserved;
	size_t device;
	size_t image_size;
	uint8_t *image; /* NULL: only the size is asked for */
};

struct pm_host_begin {
	size_t size;
	void *reserved;
	int type; /* PM_HOST_TYPE */
	const char *chip;
	const uint8_t *availability;
	void *host;
};

struct pm_host {
	size_t size;
	void *reserved;
	void *host;
};

struct pm_host_metrics {
	size_t size;
	void *reserved;
	void *host;
	const char **names;
	size_t count;
};

struct pm_host_image_size {
	size_t size;
	void *reserved;
	void *host;
	size_t image_size;
};

struct pm_host_image {
	size_t size;
	void *reserved;
	void *host;
	size_t image_size;
	uint8_t *image;
};

struct pm_host_passes {
	size_t size;
	void *reserved;
	size_t image_size;
	uint8_t *image;
	size_t passes;
};

struct pm_host_values {
	size_t size;
	void *reserved;
	void *host;
	const uint8_t *data;
	size_t data_size;
	size_t index;
	const char **names;
	size_t count;
	double *values;
};

struct pm_enable {
	size_t size;
	void *reserved;
	size_t device;
	void *object;
};

/* Of Start, Stop and Disable. */
struct pm_object {
	size_t size;
	void *reserved;
	void *object;
};

struct pm_config {
	size_t size;
	void *reserved;
	void *object;
	size_t image_size;
	const uint8_t *image;
	size_t buffer_bytes; /* for raw samples */
	uint64_t interval;
	int trigger; /* enum pm_trigger */
	int append;  /* enum pm_append */
};

struct pm_data_size {
	size_t size;
	void *reserved;
	void *object;
	const char **names;
	size_t count;
	uint32_t samples;
	size_t data_size;
};

struct pm_data_begin {
	size_t size;
	void *reserved;
	void *object;
	size_t data_size;
	uint8_t *data;
};

struct pm_decode {
	size_t size;
	void *reserved;
	void *object;
	uint8_t *data;
	size_t data_size;
	int stop; /* enum pm_decode_stop */
	uint8_t overflow;
};

struct pm_info {
	size_t size;
	void *reserved;
	const uint8_t *data;
	size_t data_size;
	size_t total;
	size_t populated;
	size_t completed;
};

struct pm_sample {
	size_t size;
	void *reserved;
	void *object;
	const uint8_t *data;
	size_t data_size;
	size_t index;
	uint64_t start;
	uint64_t end;
};

#define PM_SIZE(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))

/* CUPTI's functions by their names behind "cupti". All return a CUptiResult, an int. */
#define PM_FUNCTIONS(X)                                                                            \
	X(GetVersion, (uint32_t * version))                                                        \
	X(GetTimestamp, (uint64_t * timestamp))                                                    \
	X(ProfilerInitialize, (struct pm_plain * p))                                               \
	X(ProfilerDeInitialize, (struct pm_plain * p))                                             \
	X(ProfilerDeviceSupported, (struct pm_supported * p))                                      \
	X(DeviceGetChipName, (struct pm_chip * p))                                                 \
	X(PmSamplingGetCounterAvailability, (struct pm_availability * p))                          \
	X(ProfilerHostInitialize, (struct pm_host_begin * p))                                      \
	X(ProfilerHostDeinitialize, (struct pm_host * p))                                          \
	X(ProfilerHostConfigAddMetrics, (struct pm_host_metrics * p))                              \
	X(ProfilerHostGetConfigImageSize, (struct pm_host_image_size * p))                         \
	X(ProfilerHostGetConfigImage, (struct pm_host_image * p))                                  \
	X(ProfilerHostGetNumOfPasses, (struct pm_host_passes * p))                                 \
	X(ProfilerHostEvaluateToGpuValues, (struct pm_host_values * p))                            \
	X(PmSamplingEnable, (struct pm_enable * p))                                                \
	X(PmSamplingSetConfig, (struct pm_config * p))                                             \
	X(PmSamplingGetCounterDataSize, (struct pm_data_size * p))                                 \
	X(PmSamplingCounterDataImageInitialize, (struct pm_data_begin * p))                        \
	X(PmSamplingStart, (struct pm_object * p))                                                 \
	X(PmSamplingDecodeData, (struct pm_decode * p))                                            \
	X(PmSamplingGetCounterDataInfo, (struct pm_info * p))                                      \
	X(PmSamplingCounterDataGetSampleInfo, (struct pm_sample * p))                              \
	X(PmSamplingStop, (struct pm_object * p))                                                  \
	X(PmSamplingDisable, (struct pm_object * p))

/* The driver's. All return a CUresult, an int. */
#define PM_DRIVER_FUNCTIONS(X)                                                                     \
	X(cuInit, (unsigned int flags))                                                            \
	X(cuDriverGetVersion, (int *version))                                                      \
	X(cuDeviceGetCount, (int *count))                                                          \
	X(cuDeviceGet, (int *device, int ordinal))                                                 \
	X(cuDeviceGetUuid_v2, (uint8_t * uuid, int device))
