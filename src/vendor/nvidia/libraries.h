/* SPDX-License-Identifier: MIT */
/* What NVIDIA's libraries are called. */
#pragma once

/* Beginnings of file names: Python packages ship the runtime as "libcudart-d0da41ae.so.11.0". */
#define NVIDIA_DRIVER_LIBRARY  "libcuda.so"
#define NVIDIA_RUNTIME_LIBRARY "libcudart"
#define NVIDIA_TRACER_LIBRARY  "libcupti"

/* The driver's, as the loader finds it. */
#define NVIDIA_DRIVER_SONAME NVIDIA_DRIVER_LIBRARY ".1"
