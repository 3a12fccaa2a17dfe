"""The settings of a training run: frozen dataclasses with a documented default for every value and every game.

A run takes the defaults of its game, then a TOML file, then `--set section.name=value`. Unknown names and impossible
values are all reported at once, before anything starts.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qizero.games.catalog import load_game
from qizero.nets.architecture import NetworkConfig

__all__ = [
    "ConfigError",
    "EvaluationConfig",
    "ReplayConfig",
    "RunConfig",
    "SelfPlayConfig",
    "TrainConfig",
    "TrainingConfig",
    "config_from_json",
    "load_config",
]


class ConfigError(ValueError):
    """Settings that cannot be; the message lists every problem."""


def setting(default: Any, low: float | None = None, high: float | None = None) -> Any:
    """A field with a range; both ends are allowed."""
    metadata = {"low": low, "high": high}
    if isinstance(default, tuple):
        return field(default_factory=lambda: default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class RunConfig:
    """What is trained, for how long."""

    variants: tuple[
        str, ...
    ] = ()  # game specs that one network learns, e.g. several board sizes; empty: the game itself
    shares: tuple[float, ...] = ()  # of each variant in the rows of a cycle; empty: equal
    network: str = "small"  # preset or channels x blocks
    minutes: float = setting(60.0, 0.01, 100_000)  # of learning in all, over all resumptions; schedules end there
    cycles: int = setting(
        0, 0, 10_000_000
    )  # > 0: the run ends, and schedules are measured, by cycles instead of minutes
    seed: int = setting(1, 0, 2**63 - 1)
    threads: int = setting(0, 0, 1024)  # 0: all cores
    backend: str = "auto"  # of the evaluator; see qizero.nets.evaluator.BACKENDS
    keep_checkpoints: int = setting(3, 1, 1000)  # the newest ones are kept
    milestones: int = setting(12, 0, 1000)  # networks spread over the run that are kept for good: nets/c000012.onnx


@dataclass(frozen=True)
class SelfPlayConfig:
    """How games are played. Searches: cpp/mcts/params.h; games: cpp/selfplay/selfplay.h."""

    slots: int = setting(256, 2, 100_000)  # games at once; of several variants: on average
    simulations: int = setting(32, 1, 100_000)  # per full search at the beginning of the run …
    final_simulations: int = setting(64, 1, 100_000)  # … and at its end; linear in between
    fast_simulations: int = setting(8, 1, 100_000)  # per fast search (playout-cap randomisation)
    full_share: float = setting(1.0, 0.01, 1)  # of moves searched fully
    gumbel: bool = False  # Gumbel root for the full searches
    gumbel_considered: int = setting(16, 1, 1000)
    improved_policy: bool = True  # learn softmax(log flattened prior + sigma(completed q)), not visit counts
    c_init: float = setting(1.25, 0, 100)
    c_visit: float = setting(50.0, 0, 1e6)
    c_scale: float = setting(0.05, 0, 1e3)
    fpu_reduction: float = setting(0.25, 0, 2)
    noise_epsilon: float = setting(0.25, 0, 1)
    noise_alpha: float = setting(10.0, 1e-3, 1e6)
    root_policy_temperature: float = setting(1.1, 0.1, 10)  # how much the prior is flattened
    random_opening_share: float = setting(0.25, 0, 1)
    random_plies: int = setting(6, 0, 1000)
    temperature: float = setting(1.0, 0, 100)
    temperature_plies: int = setting(10, 0, 100_000)
    temperature_halflife: float = setting(4.0, 0, 100_000)
    final_temperature: float = setting(0.25, 0, 100)
    adjudicate: bool = True  # proven positions end the game
    resign_value: float = setting(1.0, 0, 1)  # 1: never resign
    play_on_share: float = setting(0.1, 0, 1)  # of games that are never adjudicated or resigned
    prove_nodes: int = setting(0, 0, 1_000_000_000)  # of an exact search, by the rules alone, of every position …
    prove_from_ply: int = setting(0, 0, 100_000)  # … from this ply on; what it proves is played out perfectly
    limit_value_share: float = setting(0.0, 0, 1)
    cache_positions: int = setting(1 << 18, 0, 1 << 32)


@dataclass(frozen=True)
class ReplayConfig:
    """How much of the past is learnt from."""

    rows_per_cycle: int = setting(10_000, 16, 100_000_000)  # self-play rows between two trainings
    window_share: float = setting(0.5, 0.01, 1)  # of all rows so far …
    window_min: int = setting(50_000, 1, 1_000_000_000)  # … but at least
    window_max: int = setting(1_500_000, 1, 1_000_000_000)  # … and at most so many


@dataclass(frozen=True)
class TrainingConfig:
    """How the network learns."""

    batch: int = setting(512, 2, 100_000)
    reuse: float = setting(3.0, 0.1, 100)  # times that a row is learnt from on average
    learning_rate: float = setting(2e-3, 1e-8, 1)
    warmup_steps: int = setting(200, 0, 1_000_000)
    final_learning_rate_share: float = setting(
        0.05, 0, 1
    )  # cosine from learning_rate to this share of it at the end of the run
    weight_decay: float = setting(1e-3, 0, 1)
    ema: float = setting(0.995, 0, 1)  # per step; the averaged weights play
    gradient_clip: float = setting(2.0, 0, 1e6)
    root_value_share: float = setting(
        0.4, 0, 1
    )  # value target: this much of the search's value, the rest of the outcome
    value_weight: float = setting(1.0, 0, 100)
    moves_left_weight: float = setting(0.05, 0, 100)
    bf16: bool = False


@dataclass(frozen=True)
class EvaluationConfig:
    """How strength is measured while the run goes on, in a process of its own."""

    enabled: bool = True
    minutes: float = setting(10.0, 0.01, 100_000)  # between two evaluations
    games: int = setting(40, 2, 100_000)  # per opponent
    simulations: int = setting(100, 0, 1_000_000)  # of the network's player; 0: raw policy
    rollout_simulations: int = setting(
        200, 1, 1_000_000_000
    )  # of the first rollout rung; four times more, up to 100,000, whenever it is beaten badly


@dataclass(frozen=True)
class TrainConfig:
    """Everything. `game` is the spec that names the run."""

    game: str
    run: RunConfig = RunConfig()
    selfplay: SelfPlayConfig = SelfPlayConfig()
    replay: ReplayConfig = ReplayConfig()
    training: TrainingConfig = TrainingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()

    @property
    def variants(self) -> tuple[str, ...]:
        return self.run.variants or (self.game,)

    @property
    def shares(self) -> tuple[float, ...]:
        shares = self.run.shares or (1.0,) * len(self.variants)
        return tuple(share / sum(shares) for share in shares)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


MODERN_LIUZHOU = "liuzhou(lose_below=4,max_steps=144,no_capture_limit=36)"

# What differs from the general defaults.
GAME_DEFAULTS: dict[str, dict[str, dict[str, Any]]] = {
    "tictactoe": {
        "run": {"network": "32x2", "minutes": 4.0},
        "selfplay": {
            "slots": 64,
            "simulations": 32,
            "final_simulations": 32,
            "random_opening_share": 0.5,
            "random_plies": 5,
            "temperature_plies": 9,
        },
        "replay": {"rows_per_cycle": 2_000, "window_min": 10_000, "window_max": 60_000},
        "training": {"batch": 256, "warmup_steps": 50},
        "evaluation": {"minutes": 1.0},
    },
    "connect4": {
        "run": {"network": "64x4", "minutes": 120.0},
        "selfplay": {
            "slots": 512,
            "simulations": 24,
            "final_simulations": 64,
            # One bad move decides a game: after the opening, the labels are worth more than variety.
            "temperature": 0.8,
            "temperature_plies": 6,
            "temperature_halflife": 3.0,
            "final_temperature": 0.15,
            "random_opening_share": 0.6,
            "random_plies": 28,
            "prove_nodes": 20_000,
            "prove_from_ply": 24,
            "c_scale": 0.1,
        },
    },
    "othello": {
        "run": {"network": "64x4", "minutes": 90.0},
        "selfplay": {
            "simulations": 24,
            "final_simulations": 48,
            "temperature_plies": 16,
            "random_plies": 10,
            "prove_nodes": 4_000,
            "prove_from_ply": 52,
            # As the shipped net was trained; what is best is not known.
            "c_scale": 0.25,
            "root_policy_temperature": 1.2,
        },
    },
    "gomoku": {
        "run": {
            "network": "64x4",
            "minutes": 150.0,
            "variants": ("gomoku(size=9)", "gomoku(size=11)", "gomoku", "gomoku(rule=standard)", "gomoku(rule=renju)"),
            "shares": (0.35, 0.2, 0.3, 0.075, 0.075),
        },
        "selfplay": {
            "slots": 128,
            "simulations": 24,
            "final_simulations": 48,
            "temperature_plies": 8,
            "random_plies": 6,
            "c_scale": 0.15,
            "root_policy_temperature": 1.05,  # among 225 actions, flattening adds up
        },
    },
    "liuzhou": {
        "run": {"network": "64x4", "minutes": 60.0, "variants": ("liuzhou", MODERN_LIUZHOU), "shares": (0.4, 0.6)},
        "selfplay": {
            "simulations": 16,
            "final_simulations": 32,
            "temperature_plies": 30,
            "random_plies": 60,
            "random_opening_share": 0.5,
            "limit_value_share": 0.5,
            "full_share": 0.5,
            # Values of neighbouring moves differ little: sigma(q) must be steep, or the policy stays almost even.
            "c_scale": 0.25,
            "root_policy_temperature": 1.2,
        },
    },
}

SECTIONS: dict[str, type] = {f.name: type(f.default) for f in dataclasses.fields(TrainConfig)[1:]}


def load_config(game: str, file: Path | None = None, settings: Sequence[str] = ()) -> TrainConfig:
    """The settings of a run of `game`: its defaults, then the TOML file, then each "section.name=value"."""
    problems: list[str] = []
    try:
        name = load_game(game).name
    except ValueError as error:
        raise ConfigError(str(error)) from None
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    defaults = GAME_DEFAULTS.get(name, {})
    layers: list[tuple[str, Mapping[str, Any]]] = [
        ("defaults", defaults if game == name else without_variants(defaults))
    ]
    if file is not None:
        try:
            layers.append((str(file), tomllib.loads(file.read_text("utf-8"))))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{file}: {error}") from None
    for text in settings:
        key, equals, value = text.partition("=")
        section, dot, name = key.partition(".")
        if not equals or not dot:
            problems.append(f"--set {text!r} is not of the form section.name=value")
            continue
        layers.append((f"--set {text}", {section.strip(): {name.strip(): parse_value(value.strip())}}))
    for source, layer in layers:
        merge(values, layer, source, problems)
    sections: dict[str, Any] = {}
    for section, chosen in values.items():
        sections[section] = SECTIONS[section](**chosen)
        problems += check_section(section, sections[section])
    config = TrainConfig(game, **sections)
    problems += check_config(config)
    if problems:
        raise ConfigError("; ".join(problems))
    return config


def config_from_json(values: Mapping[str, Any]) -> TrainConfig:
    """What `TrainConfig.to_json` wrote."""
    sections = {
        section: kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values[section].items()})
        for section, kind in SECTIONS.items()
    }
    return TrainConfig(values["game"], **sections)


def without_variants(defaults: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """A game with options of its own is trained alone."""
    return {
        section: {name: value for name, value in values.items() if name not in ("variants", "shares")}
        for section, values in defaults.items()
    }


def parse_value(text: str) -> Any:
    """As TOML reads it; a bare word is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def merge(values: dict[str, dict[str, Any]], layer: Mapping[str, Any], source: str, problems: list[str]) -> None:
    for section, content in layer.items():
        if section not in SECTIONS or not isinstance(content, Mapping):
            problems.append(f"{source}: there is no section {section!r}; there are {', '.join(SECTIONS)}")
            continue
        fields = {f.name: f for f in dataclasses.fields(SECTIONS[section])}
        for name, value in content.items():
            if name not in fields:
                problems.append(f"{source}: [{section}] has no {name!r}; it has {', '.join(fields)}")
                continue
            values[section][name] = tuple(value) if isinstance(value, list) else value


def check_section(section: str, config: Any) -> list[str]:
    problems = []
    for f in dataclasses.fields(config):
        value = getattr(config, f.name)
        default = f.default if f.default is not dataclasses.MISSING else ()
        wanted: tuple[type, ...] = (int, float) if type(default) is float else (type(default),)
        if type(value) not in wanted:
            problems.append(f"{section}.{f.name} is {value!r}, which is not a {wanted[-1].__name__}")
            continue
        low, high = f.metadata.get("low"), f.metadata.get("high")
        if low is not None and high is not None and not low <= value <= high:
            problems.append(f"{section}.{f.name} is {value!r}, not between {low:g} and {high:g}")
    return problems


def check_config(config: TrainConfig) -> list[str]:
    problems = []
    try:
        NetworkConfig.parse(config.run.network)
    except ValueError as error:
        problems.append(f"run.network: {error}")
    if not all(isinstance(spec, str) for spec in config.run.variants):
        return [*problems, "run.variants must be texts"]
    if config.run.shares and len(config.run.shares) != len(config.variants):
        problems.append(f"run.shares has {len(config.run.shares)} numbers for {len(config.variants)} variants")
    elif not all(isinstance(share, int | float) and share > 0 for share in config.run.shares):
        problems.append(f"run.shares is {config.run.shares!r}; every share must be a positive number")
    games = []
    for spec in config.variants:
        try:
            games.append(load_game(spec))
        except ValueError as error:
            problems.append(f"run.variants: {error}")
    if len({(game.name, game.observation_shape[0]) for game in games}) > 1:
        problems.append(f"run.variants {config.variants!r} are not variants of one game: one network cannot learn them")
    if config.replay.window_min > config.replay.window_max:
        problems.append("replay.window_min is larger than replay.window_max")
    return problems
