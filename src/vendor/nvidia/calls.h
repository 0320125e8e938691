/* SPDX-License-Identifier: MIT */
/*
 * The CUDA calls we follow: those that launch, copy, set, wait or add nodes to graphs. One row
 * each; the library subscribes to exactly these, and the recorder takes their names from here.
 *
 *	RUNTIME(callback id, kind, name, the version in the id's own name, detail, detail)
 *	DRIVER(callback id, kind, name, detail, detail)
 *
 * The ids are CUPTI's (cupti_runtime_cbid.h, cupti_driver_cbid.h); they never change once given
 * out. The kinds are those of enum wire_call_kind. What the details are depends on the kind:
 *
 *	COPY, SET  the indices, in 8-byte words, of size_ts in the call's parameter struct
 *	           (generated_cuda_runtime_api_meta.h, generated_cuda_meta.h): when one of them is zero the
 *	           call asks for nothing. 0: no size_t shows that
 *	SYNC       what it waits for (enum profile_sync_kind): 1 the stream, 2 the event that is its first
 *	           parameter, 3 a context; and 1 where stream 0 is the thread's own, or the context the
 *	           first parameter
 *	EVENT      0, as the parameters are an event and a stream; and 1 where stream 0 is the thread's own
 *	GRAPH      so too, of a graph and a stream
 *
 * tests/unit/cupti_abi_test.c compares all of it with the real headers where those are installed,
 * and finds calls that are missing here.
 */
#pragma once

#include <stdint.h>

enum cuda_domain {
	CUDA_DRIVER = 1, /* as CUPTI numbers them */
	CUDA_RUNTIME = 2,
};

#define CUDA_CALL_ID(domain, id)  ((uint32_t)(domain) << 16 | (id))
#define CUDA_CALL_DOMAIN(call_id) ((call_id) >> 16)
#define CUDA_CALL_NUMBER(call_id) (0xffff & (call_id))

/* Ids in both tables are below this. */
#define CUDA_CALL_NUMBERS 1024

#define CUDA_RUNTIME_CALLS(RUNTIME)                                                                \
	RUNTIME(13, LAUNCH, cudaLaunch, v3020, 0, 0)                                               \
	RUNTIME(31, COPY, cudaMemcpy, v3020, 2, 0)                                                 \
	RUNTIME(32, COPY, cudaMemcpy2D, v3020, 4, 5)                                               \
	RUNTIME(33, COPY, cudaMemcpyToArray, v3020, 4, 0)                                          \
	RUNTIME(34, COPY, cudaMemcpy2DToArray, v3020, 5, 6)                                        \
	RUNTIME(35, COPY, cudaMemcpyFromArray, v3020, 4, 0)                                        \
	RUNTIME(36, COPY, cudaMemcpy2DFromArray, v3020, 5, 6)                                      \
	RUNTIME(37, COPY, cudaMemcpyArrayToArray, v3020, 6, 0)                                     \
	RUNTIME(38, COPY, cudaMemcpy2DArrayToArray, v3020, 6, 7)                                   \
	RUNTIME(39, COPY, cudaMemcpyToSymbol, v3020, 2, 0)                                         \
	RUNTIME(40, COPY, cudaMemcpyFromSymbol, v3020, 2, 0)                                       \
	RUNTIME(41, COPY, cudaMemcpyAsync, v3020, 2, 0)                                            \
	RUNTIME(42, COPY, cudaMemcpyToArrayAsync, v3020, 4, 0)                                     \
	RUNTIME(43, COPY, cudaMemcpyFromArrayAsync, v3020, 4, 0)                                   \
	RUNTIME(44, COPY, cudaMemcpy2DAsync, v3020, 4, 5)                                          \
	RUNTIME(45, COPY, cudaMemcpy2DToArrayAsync, v3020, 5, 6)                                   \
	RUNTIME(46, COPY, cudaMemcpy2DFromArrayAsync, v3020, 5, 6)                                 \
	RUNTIME(47, COPY, cudaMemcpyToSymbolAsync, v3020, 2, 0)                                    \
	RUNTIME(48, COPY, cudaMemcpyFromSymbolAsync, v3020, 2, 0)                                  \
	RUNTIME(49, SET, cudaMemset, v3020, 2, 0)                                                  \
	RUNTIME(50, SET, cudaMemset2D, v3020, 3, 4)                                                \
	RUNTIME(51, SET, cudaMemsetAsync, v3020, 2, 0)                                             \
	RUNTIME(52, SET, cudaMemset2DAsync, v3020, 3, 4)                                           \
	RUNTIME(126, SYNC, cudaThreadSynchronize, v3020, 3, 0)                                     \
	RUNTIME(131, SYNC, cudaStreamSynchronize, v3020, 1, 0)                                     \
	RUNTIME(135, EVENT, cudaEventRecord, v3020, 0, 0)                                          \
	RUNTIME(137, SYNC, cudaEventSynchronize, v3020, 2, 0)                                      \
	RUNTIME(142, SET, cudaMemset3D, v3020, 5, 6)                                               \
	RUNTIME(143, SET, cudaMemset3DAsync, v3020, 5, 6)                                          \
	RUNTIME(144, COPY, cudaMemcpy3D, v3020, 0, 0)                                              \
	RUNTIME(145, COPY, cudaMemcpy3DAsync, v3020, 0, 0)                                         \
	RUNTIME(160, COPY, cudaMemcpyPeer, v4000, 4, 0)                                            \
	RUNTIME(161, COPY, cudaMemcpyPeerAsync, v4000, 4, 0)                                       \
	RUNTIME(162, COPY, cudaMemcpy3DPeer, v4000, 0, 0)                                          \
	RUNTIME(163, COPY, cudaMemcpy3DPeerAsync, v4000, 0, 0)                                     \
	RUNTIME(165, SYNC, cudaDeviceSynchronize, v3020, 3, 0)                                     \
	RUNTIME(211, LAUNCH, cudaLaunchKernel, v7000, 0, 0)                                        \
	RUNTIME(213, LAUNCH, cudaLaunch_ptsz, v7000, 0, 0)                                         \
	RUNTIME(214, LAUNCH, cudaLaunchKernel_ptsz, v7000, 0, 0)                                   \
	RUNTIME(215, COPY, cudaMemcpy_ptds, v7000, 2, 0)                                           \
	RUNTIME(216, COPY, cudaMemcpy2D_ptds, v7000, 4, 5)                                         \
	RUNTIME(217, COPY, cudaMemcpyToArray_ptds, v7000, 4, 0)                                    \
	RUNTIME(218, COPY, cudaMemcpy2DToArray_ptds, v7000, 5, 6)                                  \
	RUNTIME(219, COPY, cudaMemcpyFromArray_ptds, v7000, 4, 0)                                  \
	RUNTIME(220, COPY, cudaMemcpy2DFromArray_ptds, v7000, 5, 6)                                \
	RUNTIME(221, COPY, cudaMemcpyArrayToArray_ptds, v7000, 6, 0)                               \
	RUNTIME(222, COPY, cudaMemcpy2DArrayToArray_ptds, v7000, 6, 7)                             \
	RUNTIME(223, COPY, cudaMemcpyToSymbol_ptds, v7000, 2, 0)                                   \
	RUNTIME(224, COPY, cudaMemcpyFromSymbol_ptds, v7000, 2, 0)                                 \
	RUNTIME(225, COPY, cudaMemcpyAsync_ptsz, v7000, 2, 0)                                      \
	RUNTIME(226, COPY, cudaMemcpyToArrayAsync_ptsz, v7000, 4, 0)                               \
	RUNTIME(227, COPY, cudaMemcpyFromArrayAsync_ptsz, v7000, 4, 0)                             \
	RUNTIME(228, COPY, cudaMemcpy2DAsync_ptsz, v7000, 4, 5)                                    \
	RUNTIME(229, COPY, cudaMemcpy2DToArrayAsync_ptsz, v7000, 5, 6)                             \
	RUNTIME(230, COPY, cudaMemcpy2DFromArrayAsync_ptsz, v7000, 5, 6)                           \
	RUNTIME(231, COPY, cudaMemcpyToSymbolAsync_ptsz, v7000, 2, 0)                              \
	RUNTIME(232, COPY, cudaMemcpyFromSymbolAsync_ptsz, v7000, 2, 0)                            \
	RUNTIME(233, SET, cudaMemset_ptds, v7000, 2, 0)                                            \
	RUNTIME(234, SET, cudaMemset2D_ptds, v7000, 3, 4)                                          \
	RUNTIME(235, SET, cudaMemsetAsync_ptsz, v7000, 2, 0)                                       \
	RUNTIME(236, SET, cudaMemset2DAsync_ptsz, v7000, 3, 4)                                     \
	RUNTIME(239, SYNC, cudaStreamSynchronize_ptsz, v7000, 1, 1)                                \
	RUNTIME(242, EVENT, cudaEventRecord_ptsz, v7000, 0, 1)                                     \
	RUNTIME(243, SET, cudaMemset3D_ptds, v7000, 5, 6)                                          \
	RUNTIME(244, SET, cudaMemset3DAsync_ptsz, v7000, 5, 6)                                     \
	RUNTIME(245, COPY, cudaMemcpy3D_ptds, v7000, 0, 0)                                         \
	RUNTIME(246, COPY, cudaMemcpy3DAsync_ptsz, v7000, 0, 0)                                    \
	RUNTIME(249, COPY, cudaMemcpy3DPeer_ptds, v7000, 0, 0)                                     \
	RUNTIME(250, COPY, cudaMemcpy3DPeerAsync_ptsz, v7000, 0, 0)                                \
	RUNTIME(269, LAUNCH, cudaLaunchCooperativeKernel, v9000, 0, 0)                             \
	RUNTIME(270, LAUNCH, cudaLaunchCooperativeKernel_ptsz, v9000, 0, 0)                        \
	RUNTIME(272, LAUNCH, cudaLaunchCooperativeKernelMultiDevice, v9000, 0, 0)                  \
	RUNTIME(289, NODE, cudaGraphAddKernelNode, v10000, 0, 0)                                   \
	RUNTIME(290, NODE, cudaGraphAddMemcpyNode, v10000, 0, 0)                                   \
	RUNTIME(293, NODE, cudaGraphAddMemsetNode, v10000, 0, 0)                                   \
	RUNTIME(298, NODE, cudaGraphAddChildGraphNode, v10000, 0, 0)                               \
	RUNTIME(311, GRAPH, cudaGraphLaunch, v10000, 0, 0)                                         \
	RUNTIME(312, GRAPH, cudaGraphLaunch_ptsz, v10000, 0, 1)                                    \
	RUNTIME(350, NODE, cudaGraphAddMemcpyNodeToSymbol, v11010, 0, 0)                           \
	RUNTIME(351, NODE, cudaGraphAddMemcpyNodeFromSymbol, v11010, 0, 0)                         \
	RUNTIME(352, NODE, cudaGraphAddMemcpyNode1D, v11010, 0, 0)                                 \
	RUNTIME(370, EVENT, cudaEventRecordWithFlags, v11010, 0, 0)                                \
	RUNTIME(371, EVENT, cudaEventRecordWithFlags_ptsz, v11010, 0, 1)                           \
	RUNTIME(430, LAUNCH, cudaLaunchKernelExC, v11060, 0, 0)                                    \
	RUNTIME(431, LAUNCH, cudaLaunchKernelExC_ptsz, v11060, 0, 0)                               \
	RUNTIME(445, NODE, cudaGraphAddNode, v12020, 0, 0)                                         \
	RUNTIME(460, NODE, cudaGraphAddNode, v12030, 0, 0)                                         \
	RUNTIME(482, COPY, cudaMemcpyBatchAsync, v12080, 0, 0)                                     \
	RUNTIME(483, COPY, cudaMemcpyBatchAsync_ptsz, v12080, 0, 0)                                \
	RUNTIME(484, COPY, cudaMemcpy3DBatchAsync, v12080, 0, 0)                                   \
	RUNTIME(485, COPY, cudaMemcpy3DBatchAsync_ptsz, v12080, 0, 0)                              \
	RUNTIME(505, LAUNCH, __cudaLaunchKernel, v13000, 0, 0)                                     \
	RUNTIME(506, LAUNCH, __cudaLaunchKernel_ptsz, v13000, 0, 0)                                \
	RUNTIME(509, COPY, cudaMemcpyBatchAsync, v13000, 0, 0)                                     \
	RUNTIME(510, COPY, cudaMemcpyBatchAsync_ptsz, v13000, 0, 0)                                \
	RUNTIME(511, COPY, cudaMemcpy3DBatchAsync, v13000, 0, 0)                                   \
	RUNTIME(512, COPY, cudaMemcpy3DBatchAsync_ptsz, v13000, 0, 0)

#define CUDA_DRIVER_CALLS(DRIVER)                                                                  \
	DRIVER(17, SYNC, cuCtxSynchronize, 3, 0)                                                   \
	DRIVER(43, COPY, cuMemcpyHtoD, 0, 0)                                                       \
	DRIVER(45, COPY, cuMemcpyDtoH, 0, 0)                                                       \
	DRIVER(47, COPY, cuMemcpyDtoD, 0, 0)                                                       \
	DRIVER(49, COPY, cuMemcpyDtoA, 0, 0)                                                       \
	DRIVER(51, COPY, cuMemcpyAtoD, 0, 0)                                                       \
	DRIVER(53, COPY, cuMemcpyHtoA, 0, 0)                                                       \
	DRIVER(54, COPY, cuMemcpyAtoH, 0, 0)                                                       \
	DRIVER(55, COPY, cuMemcpyAtoA, 0, 0)                                                       \
	DRIVER(56, COPY, cuMemcpy2D, 0, 0)                                                         \
	DRIVER(57, COPY, cuMemcpy2DUnaligned, 0, 0)                                                \
	DRIVER(58, COPY, cuMemcpy3D, 0, 0)                                                         \
	DRIVER(60, COPY, cuMemcpyHtoDAsync, 0, 0)                                                  \
	DRIVER(62, COPY, cuMemcpyDtoHAsync, 0, 0)                                                  \
	DRIVER(64, COPY, cuMemcpyDtoDAsync, 0, 0)                                                  \
	DRIVER(66, COPY, cuMemcpyHtoAAsync, 0, 0)                                                  \
	DRIVER(67, COPY, cuMemcpyAtoHAsync, 0, 0)                                                  \
	DRIVER(68, COPY, cuMemcpy2DAsync, 0, 0)                                                    \
	DRIVER(69, COPY, cuMemcpy3DAsync, 0, 0)                                                    \
	DRIVER(71, SET, cuMemsetD8, 0, 0)                                                          \
	DRIVER(73, SET, cuMemsetD16, 0, 0)                                                         \
	DRIVER(75, SET, cuMemsetD32, 0, 0)                                                         \
	DRIVER(77, SET, cuMemsetD2D8, 0, 0)                                                        \
	DRIVER(79, SET, cuMemsetD2D16, 0, 0)                                                       \
	DRIVER(81, SET, cuMemsetD2D32, 0, 0)                                                       \
	DRIVER(115, LAUNCH, cuLaunch, 0, 0)                                                        \
	DRIVER(116, LAUNCH, cuLaunchGrid, 0, 0)                                                    \
	DRIVER(117, LAUNCH, cuLaunchGridAsync, 0, 0)                                               \
	DRIVER(119, EVENT, cuEventRecord, 0, 0)                                                    \
	DRIVER(121, SYNC, cuEventSynchronize, 2, 0)                                                \
	DRIVER(126, SYNC, cuStreamSynchronize, 1, 0)                                               \
	DRIVER(216, SET, cuMemsetD8Async, 2, 0)                                                    \
	DRIVER(218, SET, cuMemsetD16Async, 2, 0)                                                   \
	DRIVER(220, SET, cuMemsetD32Async, 2, 0)                                                   \
	DRIVER(222, SET, cuMemsetD2D8Async, 3, 4)                                                  \
	DRIVER(224, SET, cuMemsetD2D16Async, 3, 4)                                                 \
	DRIVER(226, SET, cuMemsetD2D32Async, 3, 4)                                                 \
	DRIVER(248, COPY, cuMemcpy_v2, 0, 0)                                                       \
	DRIVER(249, SET, cuMemsetD8_v2, 2, 0)                                                      \
	DRIVER(250, SET, cuMemsetD16_v2, 2, 0)                                                     \
	DRIVER(251, SET, cuMemsetD32_v2, 2, 0)                                                     \
	DRIVER(252, SET, cuMemsetD2D8_v2, 3, 4)                                                    \
	DRIVER(253, SET, cuMemsetD2D16_v2, 3, 4)                                                   \
	DRIVER(254, SET, cuMemsetD2D32_v2, 3, 4)                                                   \
	DRIVER(276, COPY, cuMemcpyHtoD_v2, 2, 0)                                                   \
	DRIVER(277, COPY, cuMemcpyHtoDAsync_v2, 2, 0)                                              \
	DRIVER(278, COPY, cuMemcpyDtoH_v2, 2, 0)                                                   \
	DRIVER(279, COPY, cuMemcpyDtoHAsync_v2, 2, 0)                                              \
	DRIVER(280, COPY, cuMemcpyDtoD_v2, 2, 0)                                                   \
	DRIVER(281, COPY, cuMemcpyDtoDAsync_v2, 2, 0)                                              \
	DRIVER(282, COPY, cuMemcpyAtoH_v2, 3, 0)                                                   \
	DRIVER(283, COPY, cuMemcpyAtoHAsync_v2, 3, 0)                                              \
	DRIVER(284, COPY, cuMemcpyAtoD_v2, 3, 0)                                                   \
	DRIVER(285, COPY, cuMemcpyDtoA_v2, 3, 0)                                                   \
	DRIVER(286, COPY, cuMemcpyAtoA_v2, 4, 0)                                                   \
	DRIVER(287, COPY, cuMemcpy2D_v2, 0, 0)                                                     \
	DRIVER(288, COPY, cuMemcpy2DUnaligned_v2, 0, 0)                                            \
	DRIVER(289, COPY, cuMemcpy2DAsync_v2, 0, 0)                                                \
	DRIVER(290, COPY, cuMemcpy3D_v2, 0, 0)                                                     \
	DRIVER(291, COPY, cuMemcpy3DAsync_v2, 0, 0)                                                \
	DRIVER(292, COPY, cuMemcpyHtoA_v2, 3, 0)                                                   \
	DRIVER(293, COPY, cuMemcpyHtoAAsync_v2, 3, 0)                                              \
	DRIVER(305, COPY, cuMemcpy, 2, 0)                                                          \
	DRIVER(306, COPY, cuMemcpyAsync, 2, 0)                                                     \
	DRIVER(307, LAUNCH, cuLaunchKernel, 0, 0)                                                  \
	DRIVER(318, COPY, cuMemcpyPeer, 4, 0)                                                      \
	DRIVER(319, COPY, cuMemcpyPeerAsync, 4, 0)                                                 \
	DRIVER(320, COPY, cuMemcpy3DPeer, 0, 0)                                                    \
	DRIVER(321, COPY, cuMemcpy3DPeerAsync, 0, 0)                                               \
	DRIVER(397, COPY, cuMemcpyHtoD_v2_ptds, 2, 0)                                              \
	DRIVER(398, COPY, cuMemcpyDtoH_v2_ptds, 2, 0)                                              \
	DRIVER(399, COPY, cuMemcpyDtoD_v2_ptds, 2, 0)                                              \
	DRIVER(400, COPY, cuMemcpyDtoA_v2_ptds, 3, 0)                                              \
	DRIVER(401, COPY, cuMemcpyAtoD_v2_ptds, 3, 0)                                              \
	DRIVER(402, COPY, cuMemcpyHtoA_v2_ptds, 3, 0)                                              \
	DRIVER(403, COPY, cuMemcpyAtoH_v2_ptds, 3, 0)                                              \
	DRIVER(404, COPY, cuMemcpyAtoA_v2_ptds, 4, 0)                                              \
	DRIVER(405, COPY, cuMemcpy2D_v2_ptds, 0, 0)                                                \
	DRIVER(406, COPY, cuMemcpy2DUnaligned_v2_ptds, 0, 0)                                       \
	DRIVER(407, COPY, cuMemcpy3D_v2_ptds, 0, 0)                                                \
	DRIVER(408, COPY, cuMemcpy_ptds, 2, 0)                                                     \
	DRIVER(409, COPY, cuMemcpyPeer_ptds, 4, 0)                                                 \
	DRIVER(410, COPY, cuMemcpy3DPeer_ptds, 0, 0)                                               \
	DRIVER(411, SET, cuMemsetD8_v2_ptds, 2, 0)                                                 \
	DRIVER(412, SET, cuMemsetD16_v2_ptds, 2, 0)                                                \
	DRIVER(413, SET, cuMemsetD32_v2_ptds, 2, 0)                                                \
	DRIVER(414, SET, cuMemsetD2D8_v2_ptds, 3, 4)                                               \
	DRIVER(415, SET, cuMemsetD2D16_v2_ptds, 3, 4)                                              \
	DRIVER(416, SET, cuMemsetD2D32_v2_ptds, 3, 4)                                              \
	DRIVER(418, COPY, cuMemcpyAsync_ptsz, 2, 0)                                                \
	DRIVER(419, COPY, cuMemcpyHtoAAsync_v2_ptsz, 3, 0)                                         \
	DRIVER(420, COPY, cuMemcpyAtoHAsync_v2_ptsz, 3, 0)                                         \
	DRIVER(421, COPY, cuMemcpyHtoDAsync_v2_ptsz, 2, 0)                                         \
	DRIVER(422, COPY, cuMemcpyDtoHAsync_v2_ptsz, 2, 0)                                         \
	DRIVER(423, COPY, cuMemcpyDtoDAsync_v2_ptsz, 2, 0)                                         \
	DRIVER(424, COPY, cuMemcpy2DAsync_v2_ptsz, 0, 0)                                           \
	DRIVER(425, COPY, cuMemcpy3DAsync_v2_ptsz, 0, 0)                                           \
	DRIVER(426, COPY, cuMemcpyPeerAsync_ptsz, 4, 0)                                            \
	DRIVER(427, COPY, cuMemcpy3DPeerAsync_ptsz, 0, 0)                                          \
	DRIVER(428, SET, cuMemsetD8Async_ptsz, 2, 0)                                               \
	DRIVER(429, SET, cuMemsetD16Async_ptsz, 2, 0)                                              \
	DRIVER(430, SET, cuMemsetD32Async_ptsz, 2, 0)                                              \
	DRIVER(431, SET, cuMemsetD2D8Async_ptsz, 3, 4)                                             \
	DRIVER(432, SET, cuMemsetD2D16Async_ptsz, 3, 4)                                            \
	DRIVER(433, SET, cuMemsetD2D32Async_ptsz, 3, 4)                                            \
	DRIVER(440, SYNC, cuStreamSynchronize_ptsz, 1, 1)                                          \
	DRIVER(441, EVENT, cuEventRecord_ptsz, 0, 1)                                               \
	DRIVER(442, LAUNCH, cuLaunchKernel_ptsz, 0, 0)                                             \
	DRIVER(477, LAUNCH, cuLaunchCooperativeKernel, 0, 0)                                       \
	DRIVER(478, LAUNCH, cuLaunchCooperativeKernel_ptsz, 0, 0)                                  \
	DRIVER(480, LAUNCH, cuLaunchCooperativeKernelMultiDevice, 0, 0)                            \
	DRIVER(502, NODE, cuGraphAddKernelNode, 0, 0)                                              \
	DRIVER(504, NODE, cuGraphAddMemcpyNode, 0, 0)                                              \
	DRIVER(506, NODE, cuGraphAddMemsetNode, 0, 0)                                              \
	DRIVER(514, GRAPH, cuGraphLaunch, 0, 0)                                                    \
	DRIVER(515, GRAPH, cuGraphLaunch_ptsz, 0, 1)                                               \
	DRIVER(525, NODE, cuGraphAddChildGraphNode, 0, 0)                                          \
	DRIVER(587, EVENT, cuEventRecordWithFlags, 0, 0)                                           \
	DRIVER(588, EVENT, cuEventRecordWithFlags_ptsz, 0, 1)                                      \
	DRIVER(652, LAUNCH, cuLaunchKernelEx, 0, 0)                                                \
	DRIVER(653, LAUNCH, cuLaunchKernelEx_ptsz, 0, 0)                                           \
	DRIVER(689, NODE, cuGraphAddKernelNode_v2, 0, 0)                                           \
	DRIVER(712, NODE, cuGraphAddNode, 0, 0)                                                    \
	DRIVER(723, NODE, cuGraphAddNode_v2, 0, 0)                                                 \
	DRIVER(776, COPY, cuMemcpyBatchAsync, 0, 0)                                                \
	DRIVER(777, COPY, cuMemcpyBatchAsync_ptsz, 0, 0)                                           \
	DRIVER(778, COPY, cuMemcpy3DBatchAsync, 0, 0)                                              \
	DRIVER(779, COPY, cuMemcpy3DBatchAsync_ptsz, 0, 0)                                         \
	DRIVER(796, COPY, cuMemcpyBatchAsync_v2, 0, 0)                                             \
	DRIVER(797, COPY, cuMemcpyBatchAsync_v2_ptsz, 0, 0)                                        \
	DRIVER(798, COPY, cuMemcpy3DBatchAsync_v2, 0, 0)                                           \
	DRIVER(799, COPY, cuMemcpy3DBatchAsync_v2_ptsz, 0, 0)                                      \
	DRIVER(800, SYNC, cuCtxSynchronize_v2, 3, 1)
