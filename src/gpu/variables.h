/* SPDX-License-Identifier: MIT */
/* Variables of the environment that name our library beside the user's. For backends. */
#pragma once

#include "base/buf.h"

/* Of an environment (NULL: ours); "": it is not there. */
const char *variable_of(char **environment, const char *name);
/* Appends a list with colons: ours, and then the user's but for other copies of ours. */
void variable_list(const char *ours, const char *users, struct buf *list);
