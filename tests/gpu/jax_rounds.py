# SPDX-License-Identifier: MIT
"""A program that nobody prepared, to be joined while it runs: steps of a small jitted JAX program, until standard input ends. Each
step is a line: "step", and when it began and ended (CLOCK_MONOTONIC, nanoseconds)."""
import os
import select
import sys
import time

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"

import jax
import jax.numpy as jnp


@jax.jit
def step(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return x / jnp.linalg.norm(x)


def main():
    sys.stdout.reconfigure(line_buffering=True)
    key = jax.random.PRNGKey(1)
    weights = [jax.random.normal(key, (256, 256)) for _ in range(3)]
    x = jax.random.normal(key, (64, 256))
    for _ in range(20):
        x = step(weights, x).block_until_ready()
    print("ready")
    while not select.select([sys.stdin], [], [], 0)[0]:
        for _ in range(20):
            begin = time.monotonic_ns()
            x = step(weights, x).block_until_ready()
            print("step", begin, time.monotonic_ns())
    print("done", bool(jnp.isfinite(x).all()))


main()
