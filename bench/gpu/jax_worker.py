# SPDX-License-Identifier: MIT
"""Steps of a small jitted JAX program, a few launches each, on request as torch_worker.py does it: a line "jax N" runs N.
--free: the launching thread is not kept on one core."""
import os
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # many of them share the GPU

import jax
import jax.numpy as jnp


@jax.jit
def step(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return x / jnp.linalg.norm(x)


def make_arguments():
    key = jax.random.PRNGKey(1)
    return [jax.random.normal(key, (256, 256)) for _ in range(3)], jax.random.normal(key, (64, 256))


def main():
    weights, x = make_arguments()
    for _ in range(20):
        x = step(weights, x)
    x.block_until_ready()
    if "--free" not in sys.argv[1:]:
        os.sched_setaffinity(0, {os.cpu_count() // 2})
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line.split()[1])):
            x = step(weights, x).block_until_ready()
        print(time.perf_counter() - start, flush=True)


if __name__ == "__main__":
    main()
