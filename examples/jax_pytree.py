"""JAX pytrees: the clients' trees flattened for a rule, and its update back in the tree's form."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from holdfast import bind, defend, invariant

Tree = Any


def aggregated(params: Tree, sent: list[Tree]) -> tuple[Tree, str]:
    """Return the next parameters and what happened; a tree of another form is dropped."""
    leaves, form = jax.tree.flatten(params)

    def flat(tree: Tree) -> Any:
        found, theirs = jax.tree.flatten(tree)
        return [np.asarray(leaf) for leaf in found] if theirs == form else "a tree of another form"

    base = [np.asarray(leaf) for leaf in leaves]
    result = defend([flat(tree) for tree in sent], bind(invariant, tau=0.6, alpha=0.25), base=base)
    moved = [jnp.asarray(leaf + step) for leaf, step in zip(base, result.update, strict=True)]
    return jax.tree.unflatten(form, moved), str(result.diagnostics)


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
        params, said = aggregated(params, sent)
    x = jax.random.normal(key, (1000, 3))
    accuracy = jnp.mean(jnp.sign(x @ params["weight"] + params["bias"]) == jnp.sign(x.sum(axis=1)))
    print(said)
    print(f"accuracy {accuracy:.2f}")


if __name__ == "__main__":
    main()
