"""mctx on pgx at the work of `qizero bench`: run by it in the peers' environment, see requirements.txt.

Says "ready" with its versions once everything is compiled. Then it reads a number of seconds a line from standard
input, measures for that long and answers with simulations per second.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
import pgx

PGX_GAMES = {"tictactoe": "tic_tac_toe", "connect4": "connect_four", "othello": "othello"}


class Work(NamedTuple):
    """`step(key, states) -> (key, states)` searches every state of the batch once."""

    step: Callable[[Any, Any], tuple[Any, Any]]
    states: Any
    simulations: int  # of one step, all trees together


def masked(logits: Any, state: Any) -> Any:
    return jnp.where(state.legal_action_mask, logits - logits.max(axis=-1, keepdims=True), jnp.finfo(jnp.float32).min)


def uniform_evaluator(num_actions: int) -> Callable[[Any], tuple[Any, Any]]:
    def evaluate(state: Any) -> tuple[Any, Any]:
        batch = state.legal_action_mask.shape[0]
        return jnp.zeros((batch, num_actions)), jnp.zeros(batch)

    return evaluate


def residual_evaluator(channels: int, blocks: int, planes: int, cells: int, num_actions: int) -> Callable[[Any], Any]:
    """A residual tower with policy and value heads, untrained, normalisation folded into the convolutions."""
    keys = iter(jax.random.split(jax.random.PRNGKey(0), 2 * blocks + 8))

    def weights(*shape: int) -> Any:
        return jax.random.normal(next(keys), shape) * 0.05

    stem, heads = weights(3, 3, planes, channels), weights(1, 1, channels, 3)
    tower = [(weights(3, 3, channels, channels), weights(3, 3, channels, channels)) for _ in range(blocks)]
    policy, value = weights(2 * cells, num_actions), weights(cells, 64)
    last = weights(64, 1)

    def convolve(x: Any, kernel: Any) -> Any:
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def evaluate(state: Any) -> tuple[Any, Any]:
        x = jax.nn.relu(convolve(state.observation.astype(jnp.float32), stem))
        for first, second in tower:
            x = jax.nn.relu(x + convolve(jax.nn.relu(convolve(x, first)), second))
        maps = jax.nn.relu(convolve(x, heads))
        hidden = jax.nn.relu(maps[..., 2].reshape(len(x), -1) @ value)
        return maps[..., :2].reshape(len(x), -1) @ policy, jnp.tanh(hidden @ last)[:, 0]

    return evaluate


def make_work(options: argparse.Namespace) -> Work:
    env = pgx.make(PGX_GAMES[options.game])
    init, env_step = jax.vmap(env.init), jax.vmap(env.step)
    states = jax.jit(init)(jax.random.split(jax.random.PRNGKey(1), options.batch))
    num_actions = states.legal_action_mask.shape[1]
    height, width, planes = states.observation.shape[1:]
    if options.work == "search":
        evaluate = uniform_evaluator(num_actions)
    else:
        evaluate = residual_evaluator(options.channels, options.blocks, planes, height * width, num_actions)

    def recurrent(_params: Any, _key: Any, action: Any, state: Any) -> tuple[Any, Any]:
        mover = state.current_player
        state = env_step(state, action)
        logits, value = evaluate(state)
        over = state.terminated
        output = mctx.RecurrentFnOutput(
            reward=state.rewards[jnp.arange(len(mover)), mover],
            discount=jnp.where(over, 0.0, jnp.where(state.current_player == mover, 1.0, -1.0)),
            prior_logits=masked(logits, state),
            value=jnp.where(over, 0.0, value),
        )
        return output, state

    def search(key: Any, state: Any) -> Any:
        logits, value = evaluate(state)
        root = mctx.RootFnOutput(prior_logits=masked(logits, state), value=value, embedding=state)
        return mctx.muzero_policy(
            params=None,
            rng_key=key,
            root=root,
            recurrent_fn=recurrent,
            num_simulations=options.sims,
            invalid_actions=~state.legal_action_mask,
        )

    @jax.jit
    def step(key: Any, state: Any) -> tuple[Any, Any]:
        key, search_key, init_key = jax.random.split(key, 3)
        action = search(search_key, state).action
        if options.work == "search":  # the same positions again, as in `qizero bench search`
            return key + action.sum().astype(key.dtype), state  # what nobody uses would not be computed
        following = env_step(state, action)
        fresh = init(jax.random.split(init_key, options.batch))
        return key, jax.tree_util.tree_map(partial(restart, following.terminated), fresh, following)

    return Work(step, states, options.batch * options.sims)


def restart(over: Any, fresh: Any, following: Any) -> Any:
    return jnp.where(over.reshape((-1,) + (1,) * (fresh.ndim - 1)), fresh, following)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["search", "selfplay"])
    parser.add_argument("--game", choices=sorted(PGX_GAMES), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--sims", type=int, required=True)
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()

    # XLA starts as many threads as it has cores; nothing has been computed yet.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    work = make_work(options)
    key, states = jax.random.PRNGKey(2), work.states
    for _ in range(2):
        key, states = jax.block_until_ready(work.step(key, states))
    print(json.dumps({"ready": {name: version(name) for name in ("jax", "mctx", "pgx")}}), flush=True)
    for line in sys.stdin:
        steps, start = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < float(line) or steps == 0:
            key, states = jax.block_until_ready(work.step(key, states))
            steps += 1
        print(json.dumps({"sims_per_s": steps * work.simulations / elapsed}), flush=True)


if __name__ == "__main__":
    main()
