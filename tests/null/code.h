/* SPDX-License-Identifier: MIT */
#pragma once

static const char null_image[32] = "NULLCODE";
