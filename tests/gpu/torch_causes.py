# SPDX-License-Identifier: MIT
"""PyTorch programs that are slow for one reason each, for some seconds: torch_causes.py REASON

  data      a dataset that takes long to make an item, in the training process
  workers   the same in two worker processes of the DataLoader
  item      a loss that is read (.item()) in each step, while a step has work for milliseconds
  tiny      kernels that take less time than it takes to launch them
  tiny-item the same, and the result of each is read
  compute   large matrix products
"""
import sys
import time

import torch

SECONDS = 3


class Slow(torch.utils.data.Dataset):
    """Items that take a millisecond of Python each."""

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        until = time.perf_counter() + 0.001
        while time.perf_counter() < until:
            index += 1
        return torch.full((1024,), float(index % 7))


def train_on_data(workers):
    model = torch.nn.Linear(1024, 1024).cuda()
    loader = torch.utils.data.DataLoader(Slow(), batch_size=16, num_workers=workers)
    end = time.perf_counter() + SECONDS
    for batch in loader:
        model(batch.cuda(non_blocking=True)).sum().backward()
        if time.perf_counter() > end:
            break


def make_model(width, layers):
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
    return torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).cuda()


def read_the_loss():
    model, x = make_model(1024, 6), torch.randn(8, 256, 1024, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    total, end = 0.0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        total += loss.item()


def launch_tiny(read):
    x, end = torch.zeros(256, device="cuda"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for _ in range(100):
            x = x + 1
            if read:
                x[0].item()


def multiply():
    a, end = torch.randn(4096, 4096, device="cuda"), time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for _ in range(50):
            torch.mm(a, a)
        torch.cuda.synchronize()


{
    "data": lambda: train_on_data(0),
    "workers": lambda: train_on_data(2),
    "item": read_the_loss,
    "tiny": lambda: launch_tiny(False),
    "tiny-item": lambda: launch_tiny(True),
    "compute": multiply,
}[sys.argv[1]]()
