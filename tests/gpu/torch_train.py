# SPDX-License-Identifier: MIT
"""A small training loop and a captured-graph evaluation: the launches of a usual PyTorch program."""
import sys

import torch


def make_model():
    layers = []
    for _ in range(4):
        layers += [torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.LayerNorm(512)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(512, 10)).cuda()


def train(model, steps):
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        x = torch.randn(64, 512).cuda(non_blocking=True)
        y = torch.randint(10, (64,)).cuda()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def evaluate(model, replays):
    x = torch.randn(64, 512, device="cuda")
    stream = torch.cuda.Stream()
    with torch.no_grad():
        with torch.cuda.stream(stream):
            model(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = model(x)
        for _ in range(replays):
            graph.replay()
    torch.cuda.synchronize()
    return y.sum().item()


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 50
network = make_model()
print("loss", train(network, steps), "sum", evaluate(network, steps))
