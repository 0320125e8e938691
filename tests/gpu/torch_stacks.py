# SPDX-License-Identifier: MIT
"""PyTorch programs whose launches come from known Python functions, for stacks.sh.

usage: torch_stacks.py eager|compile|triton|graph|server [STEPS]

Every launch of the main part is made below `launch_MODE`; in `server`, below `serve` in four threads. Prints
"launches under NAME" for the checker.
"""
import queue
import sys
import threading

import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
            for _ in range(2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x.relu().sum()


def launch_eager(steps):
    net = Net().cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    for _ in range(steps):
        loss = net(torch.randn(4, 16, 128, device="cuda"))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def launch_compile(steps):
    net = torch.compile(Net().cuda().eval())
    with torch.no_grad():
        for _ in range(steps):
            y = net(torch.randn(4, 16, 128, device="cuda"))
    return y.item()


def launch_triton(steps):
    from triton_add import add  # its kernels need a file of their own to be read from

    x = torch.randn(1 << 16, device="cuda")
    for _ in range(steps):
        x = add(x, x)
    return float(x[0].isnan())


def launch_graph(steps):
    net = Net().cuda().eval()
    x = torch.randn(4, 16, 128, device="cuda")
    stream = torch.cuda.Stream()
    with torch.no_grad():
        with torch.cuda.stream(stream):
            for _ in range(3):
                net(x)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = net(x)
        for _ in range(steps):
            graph.replay()
    torch.cuda.synchronize()
    return y.item()


def serve(requests, answers, net):
    with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
        while (x := requests.get()) is not None:
            answers.put(net(x.cuda(non_blocking=True)).item())


def launch_server(steps):
    net = Net().cuda().eval()
    requests, answers = queue.Queue(), queue.Queue()
    threads = [threading.Thread(target=serve, args=(requests, answers, net)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(steps):
        requests.put(torch.randn(4, 16, 128))
    for thread in threads:
        requests.put(None)
    for thread in threads:
        thread.join()
    return sum(answers.get() for _ in range(steps))


def main():
    mode = sys.argv[1]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    torch.manual_seed(1)
    value = globals()["launch_" + mode](steps)
    torch.cuda.synchronize()
    print(mode, value)
    print("launches under", "serve" if mode == "server" else "launch_" + mode)


main()
