# SPDX-License-Identifier: MIT
"""Decoding with a language model of transformers, token by token, on request as torch_worker.py does it.

The model is a small Llama with random weights, whose launches (about 1,030 a token) take the CPU longer than the GPU. A
line "decode N" makes N tokens. --free: the launching thread is not kept on one core.
"""
import os
import sys
import time

import torch
import transformers


def make_model():
    config = transformers.LlamaConfig(
        hidden_size=1024, intermediate_size=2816, num_hidden_layers=24, num_attention_heads=16, num_key_value_heads=8,
        vocab_size=32000, max_position_embeddings=4096, pad_token_id=0, eos_token_id=None)
    torch.manual_seed(1)
    return transformers.LlamaForCausalLM(config).to(torch.bfloat16).cuda().eval()


def generate(model, tokens):
    prompt = torch.randint(1, 32000, (1, 16), device="cuda")
    mask = torch.ones_like(prompt)
    with torch.no_grad():
        model.generate(prompt, attention_mask=mask, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False)


def main():
    model = make_model()
    generate(model, 8)
    torch.cuda.synchronize()
    if "--free" not in sys.argv[1:]:
        os.sched_setaffinity(0, {os.cpu_count() // 2})
    print("ready", flush=True)
    for line in sys.stdin:
        tokens = int(line.split()[1])
        torch.cuda.synchronize()
        start = time.perf_counter()
        generate(model, tokens)
        torch.cuda.synchronize()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
