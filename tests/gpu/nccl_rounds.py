# SPDX-License-Identifier: MIT
"""A program on several GPUs that nobody prepared: each has a process, and each pass multiplies matrices and sums the products over
all GPUs (all-reduce), until the file that is named is gone.

    nccl_rounds.py GPUS FILE

Process R prints into FILE.R: "ready", a line for each pass with when it began and ended (CLOCK_MONOTONIC, nanoseconds), and at
last whether all sums were right."""
import os
import sys
import time

import torch
import torch.distributed as dist

SIZE = 512


def one_pass(x, y):
    torch.mm(x, x, out=y)
    dist.all_reduce(y)
    torch.cuda.synchronize()


def work(rank, gpus, path):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29571")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=gpus, device_id=torch.device("cuda", rank))
    x = torch.full((SIZE, SIZE), rank + 1.0, device="cuda")
    y, go_on = torch.empty_like(x), torch.ones(1, device="cuda")
    expected, right = SIZE * sum((r + 1.0) ** 2 for r in range(gpus)), True
    for _ in range(20):
        one_pass(x, y)
    with open(f"{path}.{rank}", "w", buffering=1, encoding="utf-8") as log:
        print("ready", file=log)
        while True:
            for _ in range(50):
                begin = time.monotonic_ns()
                one_pass(x, y)
                print("pass", begin, time.monotonic_ns(), file=log)
            right = right and bool((y == expected).all().item())
            # all end in the same pass
            go_on.fill_(float(os.path.exists(path)))
            dist.all_reduce(go_on, op=dist.ReduceOp.MIN)
            if not go_on.item():
                break
            time.sleep(0.005)
        print("done", right, file=log)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(work, (int(sys.argv[1]), sys.argv[2]), nprocs=int(sys.argv[1]))
