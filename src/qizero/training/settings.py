"""The settings of a training run: a section each for the run, self-play, replay, learning and rating.

A run takes the general defaults below, then the defaults of its game, a TOML file, and `--set section.name=value`.
Invalid settings are all reported at once, before anything starts. Settings of searches, self-play and pools take their
meaning, range and default from the C++ core; `core` names them and may set another default for training.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import annotated_types
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo

from qizero.base.core_settings import CORE_SETTINGS, number_text
from qizero.games.catalog import load_game
from qizero.games.profile import profile_of
from qizero.nets.architecture import NetworkConfig
from qizero.nets.evaluator import BACKENDS

__all__ = [
    "SECTIONS",
    "LearningSettings",
    "RatingSettings",
    "ReplaySettings",
    "RunSettings",
    "SelfPlaySettings",
    "Settings",
    "SettingsError",
    "load_settings",
    "range_of",
    "settings_from_json",
]


class SettingsError(ValueError):
    """Invalid settings. The message lists every problem."""


def number(default: float, low: float, high: float, meaning: str) -> Any:
    """A number with a range; both ends are allowed."""
    return Field(default=default, ge=low, le=high, description=meaning)


def core(
    name: str, default: Any = None, *, low: float | None = None, high: float | None = None, meaning: str | None = None
) -> Any:
    """A setting that the core declares; `default`, if given, is that of training, `low` and `high` narrow the range."""
    setting = CORE_SETTINGS[name]
    return Field(
        default=setting.default if default is None else default,
        ge=setting.low if low is None else low,
        le=setting.high if high is None else high,
        description=meaning or setting.meaning,
    )


def listed(value: object) -> object:
    """TOML and JSON have lists where a setting is a tuple."""
    return tuple(value) if isinstance(value, list) else value


class Section(BaseModel):
    """Part of the settings."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False, validate_default=True)


class RunSettings(Section):
    """What is trained, for how long."""

    variants: Annotated[tuple[str, ...], BeforeValidator(listed)] = Field(
        default=(),
        description="Game specs that one network learns, e.g. several board sizes; empty: the game itself.",
    )
    shares: Annotated[tuple[float, ...], BeforeValidator(listed)] = Field(
        default=(), description="Share of each variant in the rows of a cycle; empty: equal shares."
    )
    network: str = Field(default="small", description="Size of the network: tiny, small, base or channels x blocks.")
    first_network: str = Field(
        default="", description="Size of the network that the run begins with, and grows from; empty: run.network."
    )
    grow_at: float = number(0.25, 0, 1, "Share of the run after which the first network grows into run.network.")
    minutes: float = number(
        60.0, 0.01, 100_000, "Minutes of learning in all, over all resumptions; schedules end there."
    )
    cycles: int = number(
        0, 0, 10_000_000, "More than 0: the run ends, and schedules are measured, by cycles instead of minutes."
    )
    seed: int = number(1, 0, 2**63 - 1, "Seed of everything random in the run.")
    threads: int = number(0, 0, 1024, "Threads of learning and of the evaluator; 0: all cores.")
    backend: str = Field(default="auto", description=f"Runtime of the evaluator: {', '.join(BACKENDS)}.")
    keep_checkpoints: int = number(3, 1, 1000, "Number of newest checkpoints that are kept.")
    milestones: int = number(
        12, 0, 1000, "Networks spread over the run that are kept for good, such as nets/c000012.onnx."
    )

    @field_validator("network")
    @classmethod
    def _network(cls, value: str) -> str:
        NetworkConfig.parse(value)
        return value

    @field_validator("first_network")
    @classmethod
    def _first_network(cls, value: str, info: ValidationInfo) -> str:
        if value and "network" in info.data:
            small, large = NetworkConfig.parse(value), NetworkConfig.parse(info.data["network"])
            if small.channels > large.channels or small.blocks > large.blocks:
                raise ValueError(f"it cannot grow into run.network, {info.data['network']!r}: that is smaller")
        return value

    @field_validator("backend")
    @classmethod
    def _backend(cls, value: str) -> str:
        if value not in BACKENDS:
            raise ValueError(f"allowed are {', '.join(BACKENDS)}")
        return value

    @field_validator("variants")
    @classmethod
    def _variants(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        games = [load_game(spec) for spec in value]
        if len({(game.name, game.observation_shape[0]) for game in games}) > 1:
            raise ValueError("they are not variants of one game: one network cannot learn them")
        return value

    @field_validator("shares")
    @classmethod
    def _shares(cls, value: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        if not all(share > 0 for share in value):
            raise ValueError("every share must be a positive number")
        if value and "variants" in info.data and len(value) != (variants := len(info.data["variants"]) or 1):
            raise ValueError(f"{len(value)} shares for {variants} variants")
        return value


class SelfPlaySettings(Section):
    """How games are played."""

    slots: int = core(
        "pool.slots", 256, low=2, high=100_000, meaning="Games at once; of several variants: on average per variant."
    )
    simulations: int = core(
        "search.simulations",
        32,
        low=1,
        high=100_000,
        meaning="Simulations per full search at the beginning of the run.",
    )
    final_simulations: int = core(
        "search.simulations",
        64,
        low=1,
        high=100_000,
        meaning="Simulations per full search at the end of the run; linear in between.",
    )
    fast_simulations: int = core(
        "search.simulations", 8, low=1, high=100_000, meaning="Simulations per fast search; see full_share."
    )
    full_share: float = core("selfplay.full_share")
    gumbel: bool = core("search.gumbel")
    gumbel_considered: int = core("search.gumbel_considered")
    improved_policy: bool = core("search.improved_policy", True)
    c_init: float = core("search.c_init")
    c_visit: float = core("search.c_visit")
    c_scale: float = core("search.c_scale", 0.05)
    q_span: float = core("search.q_span")
    fpu_reduction: float = core("search.fpu_reduction")
    noise_epsilon: float = core("search.noise_epsilon", 0.25)
    noise_alpha: float = core("search.noise_alpha")
    root_policy_temperature: float = core("search.root_policy_temperature", 1.1)
    final_root_policy_temperature: float = number(
        0.0, 0, 10, "root_policy_temperature at the end of the run; linear in between; 0: the same all the time."
    )

    @field_validator("final_root_policy_temperature")
    @classmethod
    def _final_root_policy_temperature(cls, value: float) -> float:
        if 0 < value < (low := CORE_SETTINGS["search.root_policy_temperature"].low):
            raise ValueError(f"it must be 0 or at least {low:g}")
        return value

    random_opening_share: float = core("selfplay.random_opening_share", 0.25)
    random_plies: int = core("selfplay.random_plies", 6)
    opening_temperature: float = core("selfplay.opening_temperature")
    opening_limit: float = core("selfplay.opening_limit")
    opening_tries: int = core("selfplay.opening_tries")
    temperature: float = core("selfplay.temperature")
    temperature_plies: int = core("selfplay.temperature_plies")
    temperature_halflife: float = core("selfplay.temperature_halflife", 4.0)
    final_temperature: float = core("selfplay.final_temperature", 0.25)
    adjudicate: bool = core("selfplay.adjudicate")
    resign_value: float = core("selfplay.resign_value")
    play_on_share: float = core("selfplay.play_on_share")
    oracle_effort: float = core("search.oracle_effort")
    oracle_root_effort: float = core("search.oracle_root_effort")
    prove_nodes: int = core("selfplay.prove_nodes")
    prove_from_ply: int = core("selfplay.prove_from_ply")
    value_lambda: float = core("selfplay.value_lambda")
    limit_value_share: float = core("selfplay.limit_value_share")
    cache_positions: int = core("pool.cache_positions", 1 << 18)


class ReplaySettings(Section):
    """How much of the past is learnt from."""

    rows_per_cycle: int = number(10_000, 16, 100_000_000, "Self-play rows between two trainings.")
    window_share: float = number(0.5, 0.01, 1, "The window that is learnt from: this share of all rows so far.")
    surprise_share: float = number(
        0.0, 0, 1, "Share of the rows of a step that are drawn by how far the search was from the network. KataGo: 0.5."
    )
    window_min: int = number(50_000, 1, 1_000_000_000, "Smallest window, in rows.")
    window_max: int = number(1_500_000, 1, 1_000_000_000, "Largest window, in rows.")

    @field_validator("window_max")
    @classmethod
    def _window_max(cls, value: int, info: ValidationInfo) -> int:
        if (low := info.data.get("window_min", value)) > value:
            raise ValueError(f"it must be at least replay.window_min, {low}")
        return value


class LearningSettings(Section):
    """How the network learns."""

    batch: int = number(512, 2, 100_000, "Rows per step.")
    reuse: float = number(3.0, 0.1, 100, "Times that a row is learnt from on average.")
    learning_rate: float = number(2e-3, 1e-8, 1, "Highest learning rate of the optimiser.")
    warmup_steps: int = number(200, 0, 1_000_000, "Steps in which the learning rate rises from 0.")
    final_learning_rate_share: float = number(
        0.05, 0, 1, "The learning rate falls along a cosine to this share of it at the end of the run."
    )
    weight_decay: float = number(1e-3, 0, 1, "Weight decay of the optimiser.")
    ema: float = number(0.995, 0, 1, "Decay per step of the averaged weights, which play.")
    gradient_clip: float = number(2.0, 0, 1e6, "Largest norm of the gradient; 0: no limit.")
    root_value_share: float = number(
        0.4, 0, 1, "Share of the search's value in the value target; the rest is the outcome."
    )
    value_weight: float = number(1.0, 0, 100, "Weight of the value in the loss; the policy has 1.")
    moves_left_weight: float = number(0.05, 0, 100, "Weight of the moves left in the loss.")
    soft_policy_weight: float = number(
        0.0, 0, 100, "Weight, in the loss, of a second policy that learns the targets flattened. KataGo: 8."
    )
    final_board_weight: float = number(
        0.0, 0, 100, "Weight, in the loss, of whose piece stands on each cell when the game ends, or is adjudicated."
    )
    bf16: bool = Field(default=False, description="Learn in bfloat16, with torch's autocast.")


class RatingSettings(Section):
    """How strength is measured during the run, in a process of its own."""

    enabled: bool = Field(default=True, description="Measure strength during the run.")
    minutes: float = number(10.0, 0.01, 100_000, "Minutes between two measurements.")
    games: int = number(40, 2, 100_000, "Games per opponent.")
    simulations: int = number(100, 0, 1_000_000, "Simulations of the network's player; 0: raw policy.")
    rollout_simulations: int = number(
        200,
        1,
        1_000_000_000,
        "Simulations of the first rollout opponent; four times as many, up to 100,000, whenever it is beaten badly.",
    )


class Settings(Section):
    """All settings of a run. `game` is the spec that names the run."""

    game: str
    run: RunSettings = RunSettings()
    selfplay: SelfPlaySettings = SelfPlaySettings()
    replay: ReplaySettings = ReplaySettings()
    training: LearningSettings = LearningSettings()
    evaluation: RatingSettings = RatingSettings()

    @property
    def variants(self) -> tuple[str, ...]:
        return self.run.variants or (self.game,)

    @property
    def shares(self) -> tuple[float, ...]:
        shares = self.run.shares or (1.0,) * len(self.variants)
        return tuple(share / sum(shares) for share in shares)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump()


SECTIONS: dict[str, type[Section]] = {
    "run": RunSettings,
    "selfplay": SelfPlaySettings,
    "replay": ReplaySettings,
    "training": LearningSettings,
    "evaluation": RatingSettings,
}


def load_settings(game: str, file: Path | None = None, assignments: Sequence[str] = ()) -> Settings:
    """The settings of a run of `game`: its defaults, then the TOML file, then each "section.name=value"."""
    try:
        name = load_game(game).name
    except ValueError as error:
        raise SettingsError(str(error)) from None
    defaults = profile_of(name).training
    layers: list[tuple[str, Mapping[str, Any]]] = [
        (f"defaults of {name}", defaults if game == name else without_variants(defaults))
    ]
    if file is not None:
        layers.append((str(file), read_toml(file)))
    problems: list[str] = []
    for text in assignments:
        key, equals, value = text.partition("=")
        section, dot, name = (part.strip() for part in key.partition("."))
        if equals and dot:
            layers.append((f"--set {shortened(text)}", {section: {name: parse_value(section, name, value.strip())}}))
        else:
            problems.append(f"--set {shortened(text)!r} is not of the form section.name=value")
    return make_settings(game, layers, problems)


def settings_from_json(values: Mapping[str, Any], source: str = "config.json") -> Settings:
    """The settings that `Settings.to_json` wrote; those that the writer did not know yet have their defaults."""
    sections = dict(values)
    game = sections.pop("game", None)
    problems = [] if isinstance(game, str) else [f"{source}: game is {shown(game)}, not a text"]
    return make_settings(str(game), [(source, sections)], problems)


def make_settings(game: str, layers: Sequence[tuple[str, Mapping[str, Any]]], problems: list[str]) -> Settings:
    """Later layers override earlier ones. Raises SettingsError with `problems` and those of the layers."""
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    sources: dict[tuple[str, str], str] = {}
    for source, layer in layers:
        for section, content in layer.items():
            if section not in SECTIONS:
                problems.append(f"{source}: there is no section {shown(section)}; there are {', '.join(SECTIONS)}")
                continue
            if not isinstance(content, Mapping):
                problems.append(f"{source}: {section} is {shown(content)}, not a section of settings")
                continue
            values[section] |= content
            sources |= {(section, name): source for name in content}
    settings = None
    try:
        settings = Settings.model_validate({"game": game, **values})
    except ValidationError as invalid:
        problems += problems_of(invalid, values, sources)
    if settings is not None and not problems and settings.run.variants:
        try:
            name = load_game(game).name
        except ValueError as error:
            raise SettingsError(str(error)) from None
        if load_game(settings.variants[0]).name != name:
            source = sources["run", "variants"]
            problems.append(f"{source}: run.variants is {shown(settings.variants)}: they are not variants of {name}")
    if settings is None or problems:
        raise SettingsError("; ".join(problems))
    return settings


def problems_of(
    invalid: ValidationError, values: Mapping[str, Mapping[str, Any]], sources: Mapping[tuple[str, str], str]
) -> Iterator[str]:
    """A sentence per bad setting: its source, its value and what is allowed."""
    seen = set()
    for error in invalid.errors(include_url=False):
        section, name = (str(part) for part in (*error["loc"], "")[:2])
        if (section, name) in seen:  # every bad item of a list is an error
            continue
        seen.add((section, name))
        source = sources.get((section, name), "default")
        fields = SECTIONS[section].model_fields if section in SECTIONS else {}
        if name not in fields:
            yield f"{source}: [{section}] has no {shown(name)}; it has {', '.join(fields)}"
            continue
        value = values[section].get(name, fields[name].default)
        reason = f": {error['ctx']['error']}" if error["type"] == "value_error" else f", not {allowed(fields[name])}"
        yield f"{source}: {section}.{name} is {shown(value)}{reason}"


def range_of(field: FieldInfo) -> tuple[Any, Any] | None:
    """The smallest and the largest value of a number; None for other settings."""
    low = [m.ge for m in field.metadata if isinstance(m, annotated_types.Ge)]
    high = [m.le for m in field.metadata if isinstance(m, annotated_types.Le)]
    return (low[0], high[0]) if low and high else None


def allowed(field: FieldInfo) -> str:
    """The values that a setting may have, in words."""
    words = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        tuple[str, ...]: "a list of texts",
        tuple[float, ...]: "a list of numbers",
    }
    limits = range_of(field)
    text = words[field.annotation]  # type: ignore[index]
    return text if limits is None else f"{text} between {number_text(limits[0])} and {number_text(limits[1])}"


def shown(value: object) -> str:
    """A value for an error message, on one line and not too long."""
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):  # an integer of more than 4,300 digits, lists in lists
        return "a value too large to show"


def shortened(text: str) -> str:
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= 80 else text[:79] + "…"


def without_variants(defaults: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """A game with options of its own is trained alone."""
    return {
        section: {name: value for name, value in values.items() if name not in ("variants", "shares")}
        for section, values in defaults.items()
    }


def read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:  # not UTF-8, not TOML, an integer of more than 4,300 digits
        raise SettingsError(f"{file}: {error}") from None
    except RecursionError:
        raise SettingsError(f"{file}: lists or tables are nested too deeply") from None


def parse_value(section: str, name: str, text: str) -> Any:
    """The value as TOML reads it; a bare word, and what is not a text for a setting that is one, is taken literally."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
    field = SECTIONS[section].model_fields.get(name) if section in SECTIONS else None
    return text if field is not None and field.annotation is str and not isinstance(value, str) else value
