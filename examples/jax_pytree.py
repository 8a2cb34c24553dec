"""JAX: the clients' pytrees in, the next one out."""

from typing import Any

import jax
import jax.numpy as jnp

from holdfast import defend, krum_trimmed_mean

Tree = Any


def loss(params: Tree, x: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean(jnp.logaddexp(0.0, -y * (x @ params["weight"] + params["bias"])))


@jax.jit
def trained_by_a_client(params: Tree, x: jax.Array, y: jax.Array) -> Tree:
    for _ in range(5):
        slopes = jax.grad(loss)(params, x, y)
        params = jax.tree.map(lambda value, slope: value - 0.5 * slope, params, slopes)
    return params


def main() -> None:
    key = jax.random.key(0)
    params = {"weight": jnp.zeros(3), "bias": jnp.zeros(())}
    for _ in range(8):
        sent = []
        for client in range(10):
            key, own = jax.random.split(key)
            x = jax.random.normal(own, (64, 3))
            y = jnp.sign(x.sum(axis=1))
            sent.append(trained_by_a_client(params, x, -y if client == 0 else y))  # one of them lies
        sent[9] = {"weight": jnp.full(3, jnp.nan)}  # and one sends another tree
        result = defend(sent, krum_trimmed_mean(n_malicious=2), base=params)
        params = result.model
    x = jax.random.normal(key, (1000, 3))
    accuracy = jnp.mean(jnp.sign(x @ params["weight"] + params["bias"]) == jnp.sign(x.sum(axis=1)))
    print(result.diagnostics)
    print(f"accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
