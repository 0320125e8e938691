# SPDX-License-Identifier: MIT
"""Trains a small transformer on noise: PyTorch's own kernels, and those of cuBLAS.

    xpuprof record --stalls -o transformer.xpu -- python3 transformer.py
"""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        normed = self.norm1(x)
        x = x + self.attention(normed, normed, normed, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


def train_step(model, optimizer, x, target):
    loss = nn.functional.mse_loss(model(x), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def main():
    model = nn.Sequential(*(Block(512, 8) for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    x, target = torch.randn(2, 32, 512, 512, device="cuda")
    for _ in range(120):
        train_step(model, optimizer, x, target)
    torch.cuda.synchronize()


main()
