// SPDX-License-Identifier: MIT
/*
 * The PM sampling API, and the part of the host API that it needs. Counters follow from what the
 * devices do (driver/board.h): an interval's share of time with kernels, its share of the bytes of
 * each piece of work. As on a real device, a process needs no context, and sees what others do.
 *
 * "Images" are structs here: of a configuration, the metrics' numbers; of counter data, the sums of
 * each interval.
 */
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../driver/board.h"
#include "cupti_sim.h"

enum {
	METRICS_IN_A_PASS = 16,
	SLACK_NS = 2000000,	     /* work that began less long ago may not be on the board yet */
	FIRST_SAMPLE_NS = 300000000, /* before the start, which the first sample reaches back to */
	IMAGE_MAGIC = 0x504d5344,
	THREADS_OF_SM = 2048,
};

struct interval {
	uint64_t start_ns, end_ns;
	double busy_ns, tensor_ns, thread_ns;
	double read, written, pcie_read, pcie_written; /* bytes */
};

enum metric {
	SM_ACTIVE = 0,
	TENSOR_ACTIVE,
	DRAM_READ,
	DRAM_WRITTEN,
	L2_HIT,
	OCCUPANCY,
	L1_HIT,
	DRAM_READ_SHARE,
	DRAM_WRITTEN_SHARE,
	INSTRUCTIONS,
	FMA,
	FP64,
	PCIE_READ,
	PCIE_WRITTEN,
	METRICS
};

/* Those that an H200 counts in one pass; it has more, and accepts the same by other names. */
static const char *const metrics[METRICS] = {
	[SM_ACTIVE] = "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
	[TENSOR_ACTIVE] = "TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_"
			  "peak_sustained_elapsed",
	[DRAM_READ] = "dram__bytes_read.sum.per_second",
	[DRAM_WRITTEN] = "dram__bytes_write.sum.per_second",
	[L2_HIT] = "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct",
	[OCCUPANCY] = "sm__warps_active_realtime.avg.pct_of_peak_sustained_active",
	[L1_HIT] = "SM_B.TriageCompute.l1tex__t_sector_hit_rate.pct",
	[DRAM_READ_SHARE] = "dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
	[DRAM_WRITTEN_SHARE] = "dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
	[INSTRUCTIONS] = "TPC.TriageCompute.sm__inst_executed_realtime.avg.per_cycle_active",
	[FMA] = "TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_"
		"elapsed",
	[FP64] = "TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.avg.pct_of_peak_sustained_"
		 "elapsed",
	[PCIE_READ] = "pcie__read_bytes.sum.per_second",
	[PCIE_WRITTEN] = "pcie__write_bytes.sum.per_second",
};

#define DRAM_PEAK 4.8e12 /* bytes a second */

struct CUpti_Profiler_Host_Object {
	uint32_t magic;
	uint32_t count;
	uint32_t metrics[METRICS_IN_A_PASS * 2];
};

struct data_image {
	uint32_t magic, capacity;
	uint64_t count;
	struct interval intervals[];
};

struct CUpti_PmSampling_Object {
	size_t device;
	uint64_t interval_ns;
	uint64_t next_ns; /* where the next interval begins; 0: not started */
	uint64_t stopped_ns;
	uint64_t decodes;
	bool configured, first, overflown;
};

static CUptiResult usable(const void *params)
{
	CUptiResult why;

	if (!params)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return sim_cupti_usable(&why) ? CUPTI_SUCCESS : why;
}

static struct sim_faults *faults(void)
{
	return &xpuprof_sim_driver()->faults;
}

/* --- the target
 * ----------------------------------------------------------------------------------- */

SIM_EXPORT CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	return usable(p);
}

SIM_EXPORT CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params *p)
{
	return usable(p);
}

SIM_EXPORT CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params *p)
{
	CUptiResult why = usable(p);

	if (why)
		return why;
	p->isSupported = faults()->counters_unsupported ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED
							: CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
	p->architecture = p->isSupported;
	p->sli = p->vGpu = p->confidentialCompute = p->cmp = p->wsl =
		CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	CUptiResult why = usable(p);

	if (why)
		return why;
	p->pChipName = "GH100";
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingGetCounterAvailability(
	CUpti_PmSampling_GetCounterAvailability_Params *p)
{
	CUptiResult why = usable(p);

	if (why)
		return why;
	if (faults()->counters_refused)
		return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
	if (p->pCounterAvailabilityImage)
		memset(p->pCounterAvailabilityImage, 1, p->counterAvailabilityImageSize);
	else
		p->counterAvailabilityImageSize = 64;
	return CUPTI_SUCCESS;
}

/* --- the host
 * ------------------------------------------------------------------------------------- */

SIM_EXPORT CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	if (!p || p->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING || !p->pChipName ||
		strcmp(p->pChipName, "GH100"))
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->pHostObject = calloc(1, sizeof(*p->pHostObject));
	if (!p->pHostObject)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	p->pHostObject->magic = IMAGE_MAGIC;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	if (!p || !p->pHostObject)
		return CUPTI_ERROR_INVALID_PARAMETER;
	free(p->pHostObject);
	return CUPTI_SUCCESS;
}

static int metric_of(const char *name)
{
	for (int n = 0; n < METRICS; n++)
		if (!strcmp(name, metrics[n]))
			return n;
	return -1;
}

/* For metrics of NVLink, an H200 without it returns CUPTI_ERROR_UNKNOWN. */
SIM_EXPORT CUptiResult cuptiProfilerHostConfigAddMetrics(
	CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	struct CUpti_Profiler_Host_Object *h = p ? p->pHostObject : NULL;

	if (!h || h->count + p->numMetrics > sizeof(h->metrics) / sizeof(h->metrics[0]))
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t n = 0; n < p->numMetrics; n++) {
		int metric = metric_of(p->ppMetricNames[n]);

		if (metric < 0)
			return strstr(p->ppMetricNames[n], "nvl") ? CUPTI_ERROR_UNKNOWN
								  : CUPTI_ERROR_INVALID_PARAMETER;
		h->metrics[h->count++] = (uint32_t)metric;
	}
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiProfilerHostGetConfigImageSize(
	CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	if (!p || !p->pHostObject)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->configImageSize = sizeof(*p->pHostObject);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	if (!p || !p->pHostObject || p->configImageSize < sizeof(*p->pHostObject))
		return CUPTI_ERROR_INVALID_PARAMETER;
	memcpy(p->pConfigImage, p->pHostObject, sizeof(*p->pHostObject));
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	struct CUpti_Profiler_Host_Object image;

	if (!p || p->configImageSize != sizeof(image))
		return CUPTI_ERROR_INVALID_PARAMETER;
	memcpy(&image, p->pConfigImage, sizeof(image));
	p->numOfPasses = (image.count + METRICS_IN_A_PASS - 1) / METRICS_IN_A_PASS;
	return CUPTI_SUCCESS;
}

static double percent(double part, double whole)
{
	double value = whole > 0 ? 100 * part / whole : 0;

	return value > 100 ? 100 : value;
}

static double evaluate(const struct interval *i, enum metric metric)
{
	double ns = (double)(i->end_ns - i->start_ns), busy = percent(i->busy_ns, ns);

	switch (metric) {
	case SM_ACTIVE:
		return busy;
	case TENSOR_ACTIVE:
		return percent(i->tensor_ns, ns);
	case DRAM_READ:
		return i->read / ns * 1e9;
	case DRAM_WRITTEN:
		return i->written / ns * 1e9;
	case DRAM_READ_SHARE:
		return percent(i->read / ns * 1e9, DRAM_PEAK);
	case DRAM_WRITTEN_SHARE:
		return percent(i->written / ns * 1e9, DRAM_PEAK);
	case L2_HIT:
		return busy ? 50 : 0;
	case L1_HIT:
		return busy ? 25 : 0;
	case OCCUPANCY:
		return percent(i->thread_ns, i->busy_ns * THREADS_OF_SM);
	case INSTRUCTIONS:
		return busy ? 1.5 : 0;
	case PCIE_READ:
		return i->pcie_read / ns * 1e9;
	case PCIE_WRITTEN:
		return i->pcie_written / ns * 1e9;
	default:
		return 0;
	}
}

SIM_EXPORT CUptiResult cuptiProfilerHostEvaluateToGpuValues(
	CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	const struct data_image *d = p ? (const struct data_image *)p->pCounterDataImage : NULL;

	if (!d || d->magic != IMAGE_MAGIC || p->rangeIndex >= d->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t n = 0; n < p->numMetrics; n++) {
		int metric = metric_of(p->ppMetricNames[n]);

		if (metric < 0)
			return CUPTI_ERROR_INVALID_PARAMETER;
		p->pMetricValues[n] = evaluate(&d->intervals[p->rangeIndex], (enum metric)metric);
	}
	return CUPTI_SUCCESS;
}

/* --- sampling
 * ------------------------------------------------------------------------------------- */

SIM_EXPORT CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p)
{
	CUptiResult why = usable(p);
	struct CUpti_PmSampling_Object *o;

	if (why)
		return why;
	if (p->deviceIndex >= (size_t)xpuprof_sim_driver()->device_count)
		return CUPTI_ERROR_INVALID_DEVICE;
	o = calloc(1, sizeof(*o));
	if (!o)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	o->device = p->deviceIndex;
	p->pPmSamplingObject = o;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *p)
{
	if (!p || !p->pPmSamplingObject)
		return CUPTI_ERROR_INVALID_PARAMETER;
	free(p->pPmSamplingObject);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
	if (!p || !p->pPmSamplingObject ||
		p->configSize != sizeof(struct CUpti_Profiler_Host_Object) || !p->samplingInterval)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (faults()->counters_busy)
		return CUPTI_ERROR_HARDWARE_BUSY;
	p->pPmSamplingObject->interval_ns = p->samplingInterval;
	p->pPmSamplingObject->configured = true;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingGetCounterDataSize(
	CUpti_PmSampling_GetCounterDataSize_Params *p)
{
	if (!p || !p->pPmSamplingObject || !p->maxSamples)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->counterDataSize = sizeof(struct data_image) + p->maxSamples * sizeof(struct interval);
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingCounterDataImageInitialize(
	CUpti_PmSampling_CounterDataImage_Initialize_Params *p)
{
	struct data_image *d = p ? (struct data_image *)p->pCounterData : NULL;

	if (!d || p->counterDataSize < sizeof(*d))
		return CUPTI_ERROR_INVALID_PARAMETER;
	memset(d, 0, p->counterDataSize);
	d->magic = IMAGE_MAGIC;
	d->capacity = (uint32_t)((p->counterDataSize - sizeof(*d)) / sizeof(d->intervals[0]));
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
	struct CUpti_PmSampling_Object *o = p ? p->pPmSamplingObject : NULL;

	if (!o || !o->configured)
		return CUPTI_ERROR_INVALID_OPERATION;
	o->next_ns = sim_now();
	o->stopped_ns = UINT64_MAX;
	o->first = true;
	o->overflown = false;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
	if (!p || !p->pPmSamplingObject)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (faults()->counters_crash == 2)
		abort();
	p->pPmSamplingObject->stopped_ns = sim_now();
	return (CUptiResult)faults()->counters_stop;
}

/* What of a piece of work falls into an interval; works that run beside each other add up, shares
 * up to all. */
static void add_entry(struct interval *i, const struct board_entry *e)
{
	uint64_t from = e->start_ns > i->start_ns ? e->start_ns : i->start_ns;
	uint64_t to = e->end_ns < i->end_ns ? e->end_ns : i->end_ns;
	double ns, share;

	if (to <= from)
		return;
	ns = (double)(to - from);
	share = ns / (double)(e->end_ns - e->start_ns);
	if (e->block_threads)
		i->busy_ns += ns;
	i->thread_ns += ns * e->block_threads;
	i->tensor_ns += e->tensor ? ns : 0;
	i->read += share * (double)e->read_bytes;
	i->written += share * (double)e->written_bytes;
	i->pcie_read += share * (double)e->pcie_read_bytes;
	i->pcie_written += share * (double)e->pcie_written_bytes;
}

static void read_board(const struct CUpti_PmSampling_Object *o, struct data_image *d, uint64_t from)
{
	struct board *b = xpuprof_sim_board();

	for (uint32_t n = 0; b && n < BOARD_ENTRIES; n++) {
		struct board_entry e = b->entries[n];

		if (!e.number || atomic_load(&b->entries[n].number) != e.number ||
			e.device != o->device || e.end_ns <= from)
			continue;
		for (uint64_t k = 0; k < d->count; k++)
			add_entry(&d->intervals[k], &e);
	}
}

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* from the simulator's clock to the host's real one, on which CUPTI reports times */
static uint64_t offset_ns;

/* Once, for a difference read anew would come and go as a gap between samples whenever this thread
 * is interrupted between the two clocks. */
static void compare_clocks(void)
{
	uint64_t best = UINT64_MAX;

	for (int n = 0; n < 16; n++) {
		uint64_t before = sim_now(), there = real_ns(), took = sim_now() - before;

		if (took >= best)
			continue;
		best = took;
		offset_ns = there - before - took / 2;
	}
}

static uint64_t realtime_offset_ns(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, compare_clocks);
	return offset_ns;
}

static void make_intervals(struct CUpti_PmSampling_Object *o, struct data_image *d)
{
	uint64_t now = sim_now() - SLACK_NS, from = o->next_ns;

	if (o->stopped_ns < now)
		now = o->stopped_ns;
	while (d->count < d->capacity && o->next_ns + o->interval_ns <= now) {
		struct interval *i = &d->intervals[d->count++];

		*i = (struct interval){
			.start_ns = o->next_ns, .end_ns = o->next_ns + o->interval_ns};
		if (o->first)
			i->start_ns -= FIRST_SAMPLE_NS;
		o->first = false;
		o->next_ns += o->interval_ns;
	}
	read_board(o, d, from);
}

SIM_EXPORT CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
	struct CUpti_PmSampling_Object *o = p ? p->pPmSamplingObject : NULL;
	struct data_image *d = p ? (struct data_image *)p->pCounterDataImage : NULL;

	if (!o || !d || d->magic != IMAGE_MAGIC || !o->next_ns)
		return CUPTI_ERROR_INVALID_PARAMETER;
	o->decodes++;
	if (faults()->counters_crash == 1)
		abort();
	if ((faults()->counters_full && o->decodes % faults()->counters_full == 0) ||
		(faults()->counters_full_from && o->decodes >= faults()->counters_full_from))
		o->overflown = true;
	p->overflow = o->overflown;
	p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER;
	if (o->overflown)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	make_intervals(o, d);
	p->overflow = d->count == d->capacity; /* as on an H200, and nothing is lost by that */
	p->decodeStopReason = d->count == d->capacity
				      ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
				      : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingGetCounterDataInfo(
	CUpti_PmSampling_GetCounterDataInfo_Params *p)
{
	const struct data_image *d = p ? (const struct data_image *)p->pCounterDataImage : NULL;

	if (!d || d->magic != IMAGE_MAGIC)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->numTotalSamples = d->capacity;
	p->numPopulatedSamples = p->numCompletedSamples = d->count;
	return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(
	CUpti_PmSampling_CounterData_GetSampleInfo_Params *p)
{
	const struct data_image *d = p ? (const struct data_image *)p->pCounterDataImage : NULL;
	uint64_t offset = realtime_offset_ns();

	if (!d || d->magic != IMAGE_MAGIC || p->sampleIndex >= d->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->startTimestamp = d->intervals[p->sampleIndex].start_ns + offset;
	p->endTimestamp = d->intervals[p->sampleIndex].end_ns + offset;
	return CUPTI_SUCCESS;
}
