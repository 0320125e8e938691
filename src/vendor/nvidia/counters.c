// SPDX-License-Identifier: MIT
/*
 * Metrics by their names as CUPTI 13.0 has them. All rows were counted together on an H200
 * (GH100), apart from NVLink, which that one did not have. Of the other chips CUPTI was only asked,
 * without a GPU, what it would count in one pass; by that, these rows cannot be had there beside
 * those before them:
 *
 *	TU102   tensor_active l2_hit_rate instructions fma fp64
 *	TU116   l2_hit_rate fp64 nvlink
 *	GA100   l2_hit_rate l1_hit_rate
 *	GA102   l1_hit_rate fma
 *	AD102   l1_hit_rate fma nvlink
 *	GB100   fma
 *	GB110   fma fp64
 *	GB202   occupancy instructions fma fp64 nvlink
 *
 * Of metrics that measure the same, those for PM sampling ("Triage", "realtime") come first: others
 * use up a pass sooner. tpc__warps_active_realtime is not among them: on an H200 whose SMs were
 * full it was 3 %.
 *
 * L2 hit rates are left out where the L2 cache has two partitions, each with copies of lines of the
 * other. On an H200 the metrics for PM sampling (of all sectors, and of those that the SMs ask for)
 * were 50.0 % where all reads hit, 25 % for a copy, whose reads miss and whose writes hit, and
 * never more than 50.0 %: half of the truth, it seems. The other metrics need two passes. GB100 and
 * GB110 are built alike, and not checked.
 */
#include <stddef.h>

#include "vendor/nvidia/nvidia.h"

const struct counter_kind nvidia_counters[] = {
	{"sm_active", "SM active", "SM act", COUNTER_PERCENT,
		{"TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
			"sm__cycles_active.avg.pct_of_peak_sustained_elapsed"}},
	{"tensor_active", "tensor pipes active", "tensor", COUNTER_PERCENT,
		{"TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_"
		 "sustained_elapsed",
			"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
			"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"}},
	{"dram_read", "DRAM read", "DRAM rd", COUNTER_BYTES_PER_SECOND,
		{"dram__bytes_read.sum.per_second", "fbpa__dram_read_bytes.sum.per_second"}},
	{"dram_write", "DRAM written", "DRAM wr", COUNTER_BYTES_PER_SECOND,
		{"dram__bytes_write.sum.per_second", "fbpa__dram_write_bytes.sum.per_second"}},
	{"l2_hit_rate", "L2 hit rate", "L2 hit", COUNTER_PERCENT,
		{"LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct",
			"lts__average_t_sector_hit_rate_realtime.pct",
			"lts__t_sector_hit_rate.pct"},
		.doubtful_on = {"GH100", "GB100", "GB110"}},
	{"occupancy", "occupancy of active SMs", "occupancy", COUNTER_PERCENT,
		{"sm__warps_active_realtime.avg.pct_of_peak_sustained_active",
			"sm__warps_active.avg.pct_of_peak_sustained_active"}},
	{"l1_hit_rate", "L1 hit rate", "L1 hit", COUNTER_PERCENT,
		{"SM_B.TriageCompute.l1tex__t_sector_hit_rate.pct",
			"SM_B.TriageAC.l1tex__t_sector_hit_rate.pct",
			"l1tex__t_sector_hit_rate.pct",
			"TriageA.l1tex__t_sector_hit_rate_realtime.pct"}},
	{"dram_read_share", "DRAM read, of what it can", "DRAM rd%", COUNTER_PERCENT,
		{"dram__read_throughput.avg.pct_of_peak_sustained_elapsed",
			"FBPA.TriageA.fbpa__dram_read_throughput.avg.pct_of_peak_sustained_"
			"elapsed"}},
	{"dram_write_share", "DRAM written, of what it can", "DRAM wr%", COUNTER_PERCENT,
		{"dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
			"FBPA.TriageA.fbpa__dram_write_throughput.avg.pct_of_peak_sustained_"
			"elapsed"}},
	{"instructions", "instructions a cycle of an active SM", "inst/cyc", COUNTER_RATIO,
		{"TPC.TriageCompute.sm__inst_executed_realtime.avg.per_cycle_active",
			"sm__inst_executed_realtime.avg.per_cycle_active",
			"sm__inst_executed.avg.per_cycle_active"}},
	{"fma", "FMA pipes, of what they can", "FMA", COUNTER_PERCENT,
		{"TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_"
		 "elapsed",
			"sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed",
			"sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"}},
	{"fp64", "FP64 pipes active", "FP64", COUNTER_PERCENT,
		{"TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.avg.pct_of_peak_sustained_"
		 "elapsed",
			"sm__pipe_fp64_cycles_active.avg.pct_of_peak_sustained_elapsed",
			"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_elapsed"}},
	{"pcie_read", "PCIe read", "PCIe rd", COUNTER_BYTES_PER_SECOND,
		{"pcie__read_bytes.sum.per_second",
			"PCI.TriageCompute.pcie__read_bytes.sum.per_second"}},
	{"pcie_write", "PCIe written", "PCIe wr", COUNTER_BYTES_PER_SECOND,
		{"pcie__write_bytes.sum.per_second",
			"PCI.TriageCompute.pcie__write_bytes.sum.per_second"}},
	{"nvlink_received", "NVLink received", "NVLink rx", COUNTER_BYTES_PER_SECOND,
		{"nvlrx__bytes.sum.per_second"}},
	{"nvlink_sent", "NVLink sent", "NVLink tx", COUNTER_BYTES_PER_SECOND,
		{"nvltx__bytes.sum.per_second"}},
	{NULL},
};

_Static_assert(sizeof(nvidia_counters) / sizeof(nvidia_counters[0]) - 1 <= COUNTER_KINDS_MAX,
	"there is room for all");
