// SPDX-License-Identifier: MIT
#include "inject/cupti/stay.h"

#include <errno.h>

#include "inject/cupti/cupti.h"
#include "guest/kept.h"

/* As `struct cupti` has them. */
typedef void requested_function(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void completed_function(
	void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid_size);

int stay_behind(void)
{
	const uint8_t *page;
	int error = kept_page(&page);

	if (error)
		return error;
	return cupti.ActivityRegisterCallbacks(
		       (requested_function *)kept_function(page, kept_requested),
		       (completed_function *)kept_function(page, kept_completed))
		       ? -EINVAL
		       : 0;
}
