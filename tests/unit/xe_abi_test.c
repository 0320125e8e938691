// SPDX-License-Identifier: MIT
/* Our own description of the xe driver's interface (gpu/intel/xe_abi.h) against the real header, at
 * compile time, where there is one that has stall samples (Linux 6.15): installed, or fetched by
 * tests/neo/fetch. */
#include <stddef.h>

#include "gpu/intel/xe_abi.h"
#include "tap.h"

#if __has_include(<drm/xe_drm.h>)
#include <drm/drm.h>
#include <drm/xe_drm.h>
#endif

#ifdef DRM_XE_DEVICE_QUERY_EU_STALL

#define SAME(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)
#define PLACE(ours, member, theirs, their_member)                                                  \
	SAME(offsetof(struct ours, member), offsetof(struct theirs, their_member))

SAME(XE_QUERY_GTS, DRM_XE_DEVICE_QUERY_GT_LIST);
SAME(XE_QUERY_EU_STALL, DRM_XE_DEVICE_QUERY_EU_STALL);
SAME(XE_GT_MAIN, DRM_XE_QUERY_GT_TYPE_MAIN);
SAME(XE_OBSERVE_EU_STALLS, DRM_XE_OBSERVATION_TYPE_EU_STALL);
SAME(XE_OBSERVE_OPEN, DRM_XE_OBSERVATION_OP_STREAM_OPEN);
SAME(XE_SET_PROPERTY, DRM_XE_EU_STALL_EXTENSION_SET_PROPERTY);
SAME(XE_STALL_GT, DRM_XE_EU_STALL_PROP_GT_ID);
SAME(XE_STALL_RATE, DRM_XE_EU_STALL_PROP_SAMPLE_RATE);
SAME(XE_STALL_WAIT_FOR, DRM_XE_EU_STALL_PROP_WAIT_NUM_REPORTS);
SAME(XE_IOCTL_VERSION, DRM_IOCTL_VERSION);
SAME(XE_IOCTL_QUERY, DRM_IOCTL_XE_DEVICE_QUERY);
SAME(XE_IOCTL_OBSERVATION, DRM_IOCTL_XE_OBSERVATION);
SAME(XE_IOCTL_ENABLE, DRM_XE_OBSERVATION_IOCTL_ENABLE);

SAME(sizeof(struct xe_query), sizeof(struct drm_xe_device_query));
PLACE(xe_query, size, drm_xe_device_query, size);
PLACE(xe_query, data, drm_xe_device_query, data);
SAME(sizeof(struct xe_gt), sizeof(struct drm_xe_gt));
PLACE(xe_gt, id, drm_xe_gt, gt_id);
PLACE(xe_gt, major, drm_xe_gt, ip_ver_major);
PLACE(xe_gt, minor, drm_xe_gt, ip_ver_minor);
PLACE(xe_gts, gts, drm_xe_query_gt_list, gt_list);
SAME(sizeof(struct xe_eu_stall), sizeof(struct drm_xe_query_eu_stall));
PLACE(xe_eu_stall, record_bytes, drm_xe_query_eu_stall, record_size);
PLACE(xe_eu_stall, rate_count, drm_xe_query_eu_stall, num_sampling_rates);
PLACE(xe_eu_stall, rates, drm_xe_query_eu_stall, sampling_rates);
SAME(sizeof(struct xe_property), sizeof(struct drm_xe_ext_set_property));
PLACE(xe_property, property, drm_xe_ext_set_property, property);
PLACE(xe_property, value, drm_xe_ext_set_property, value);
SAME(sizeof(struct xe_observation), sizeof(struct drm_xe_observation_param));
PLACE(xe_observation, properties, drm_xe_observation_param, param);
SAME(sizeof(struct xe_version), sizeof(struct drm_version));
PLACE(xe_version, name, drm_version, name);

static void our_description_of_xe_is_that_of_its_header(void)
{
}

#else

static void our_description_of_xe_is_that_of_its_header(void)
{
	SKIP("no drm/xe_drm.h of Linux 6.15 or later ('tests/neo/fetch build/neo')");
}

#endif

int main(void)
{
	RUN(our_description_of_xe_is_that_of_its_header);
	return tap_end();
}
