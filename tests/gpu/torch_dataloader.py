# SPDX-License-Identifier: MIT
"""DataLoader workers forked after CUDA was started, which leave by sys.exit: they must end by themselves."""
import torch


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        return torch.full((64,), float(index))


torch.ones(1, device="cuda").sum().item()
total = 0.0
for _ in range(2):
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=16, num_workers=4,
                                         multiprocessing_context="fork")
    for batch in loader:
        total += (batch.cuda() * 2).sum().item()
assert total == 2 * 2 * 64 * sum(range(256)), total
print("total", total)
