"""Build flags and environment variables, as the options that the compiler takes.

>>> options, warnings = parse("-ze-opt-level=1 -g -what", Config())
>>> options.level, options.debug, warnings
(1, True, ['the build flag "-what" is not known and has no effect'])
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final

from anyzero import config
from anyzero.compiler.compiled import Options
from anyzero.config import Config

__all__ = ["parse", "settings"]

HIGHEST_LEVEL: Final = 3

_MAKERS: Final = ("-ze-opt", "-ze-intel", "-cl-intel")
_EFFECTS: Final[dict[str, tuple[str, int]]] = {
    **dict.fromkeys(["-ze-opt-disable", "-cl-opt-disable", "-O0"], ("level", 0)),
    **{f"-O{level}": ("level", level) for level in (1, 2, 3)},
    **dict.fromkeys(["-g", "-gline-tables-only"], ("debug", True)),
    **dict.fromkeys([f"{maker}-greater-than-4GB-buffer-required" for maker in _MAKERS], ("greater_than_4gb", True)),
    **dict.fromkeys([f"{maker}-256-GRF-per-thread" for maker in _MAKERS], ("large_registers", True)),
    "-ze-opt-large-register-file": ("large_registers", True),
}
"""The option that a flag sets, and to what."""

# Flags that ask for what is done anyway, allow what is not made use of, or tune other hardware.
_WITHOUT_EFFECT: Final = frozenset(
    {
        # Level Zero's, and those that its clients pass to every driver
        "-ze-opt-has-buffer-offset-arg",
        "-ze-opt-buffer-offset-arg-required",
        "-ze-take-global-address",
        "-ze-denorms-are-zero",
        "-ze-fp64-gen-emu",
        "-ze-fp64-gen-conv-emu",
        "-ze-intel-has-buffer-offset-arg",
        "-ze-intel-enable-auto-large-GRF-mode",
        "-ze-opt-enable-auto-large-GRF-mode",
        "-ze-intel-128-GRF-per-thread",
        "-ze-opt-128-GRF-per-thread",
        "-ze-no-fusion",
        "-ze-disable-compact",
        "-ze-collect-cost-info",
        "-library-compilation",
        # OpenCL's
        "-cl-single-precision-constant",
        "-cl-denorms-are-zero",
        "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-strict-aliasing",
        "-cl-uniform-work-group-size",
        "-cl-no-subgroup-ifp",
        "-cl-mad-enable",
        "-cl-no-signed-zeros",
        "-cl-unsafe-math-optimizations",
        "-cl-finite-math-only",
        "-cl-fast-relaxed-math",
        "-cl-kernel-arg-info",
        "-cl-intel-has-buffer-offset-arg",
        "-cl-intel-128-GRF-per-thread",
        "-cl-intel-enable-auto-large-GRF-mode",
        "-cl-store-cache-default",
        "-cl-load-cache-default",
        "-w",
        "-Werror",
        "-create-library",
        "-enable-link-options",
        "-x",
        "spir",
        "spirv",
    }
)
_WITH_VALUE: Final = (
    "-cl-std",
    "-cl-ext",
    "-spir-std",
    "-ze-exp-register-file-size",
    "-ze-intel-num-thread-per-eu",
    "-ze-opt-num-thread-per-eu",
    "-cl-intel-num-thread-per-eu",
    "-cl-intel-reqd-eu-thread-count",
)
"""Behind `=` or as the next word."""
_FOR_SOURCES: Final = ("-D", "-I")
"""They are for a compiler of source text; their value follows at once or as the next word."""

_LEVEL: Final = "-ze-opt-level"
_COMMA: Final = re.compile(r",(?=-)")


@cache
def settings() -> Config:
    """The environment, read once. Raises ConfigError for a bad value."""
    return config.read()


def parse(flags: str, environment: Config) -> tuple[Options, list[str]]:
    """The options that flags and environment make together, and a warning for every flag that is not known."""
    given: dict[str, Any] = {}
    warnings: list[str] = []
    words = _words(flags)
    for word in words:
        name, equals, value = word.partition("=")
        if word in _EFFECTS:
            option, setting = _EFFECTS[word]
            given[option] = setting
        elif name == _LEVEL:
            _level(value if equals else next(words, ""), given, warnings)
        elif name in _WITH_VALUE:
            if not equals:
                next(words, "")
        elif word in _FOR_SOURCES:
            next(words, "")
        elif word not in _WITHOUT_EFFECT and not word.startswith(_FOR_SOURCES):
            warnings.append(f'the build flag "{_shown(word)}" is not known and has no effect')
    if environment.opt_level is not None:
        given["level"] = environment.opt_level
    options = Options(lanes=environment.lanes, gathers=environment.gathers, cpu=environment.target or "")
    return replace(options, **given), warnings


def _words(flags: str) -> Iterator[str]:
    """Flags are separated by spaces or commas; some have commas in their value."""
    try:
        parts = shlex.split(flags)
    except ValueError:  # a quotation mark without its other
        parts = flags.split()
    for part in parts:
        yield from [part] if part.startswith("-cl-ext=") else filter(None, _COMMA.split(part.strip(",")))


def _level(text: str, given: dict[str, Any], warnings: list[str]) -> None:
    if re.fullmatch(r"[0-9]{1,9}", text):
        given["level"] = min(int(text), HIGHEST_LEVEL)
    else:
        warnings.append(f'the build flag {_LEVEL} has the value "{_shown(text)}" instead of a number and has no effect')


def _shown(word: str) -> str:
    """As a log can show it, whatever it is."""
    word = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in word)
    return word if len(word) <= 80 else f"{word[:80]}…"
