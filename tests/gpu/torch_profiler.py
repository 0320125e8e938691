# SPDX-License-Identifier: MIT
"""torch.profiler inside a recorded program, started before or after the first CUDA call (argument "first"
or "late"). CUPTI serves one of the two; neither may disturb the program."""
import sys

import torch

if sys.argv[1] == "late":
    torch.ones(8, device="cuda").sum().item()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU,
                                        torch.profiler.ProfilerActivity.CUDA]) as profiler:
    x = torch.randn(256, 256, device="cuda")
    for _ in range(200):
        x = torch.tanh(x @ x)
    torch.cuda.synchronize()
events = sum(1 for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA)
print("torch.profiler saw", events, "GPU events; result is finite:", bool(torch.isfinite(x).all()))
