"""Build flags and environment variables, as the options that the compiler takes.

>>> options, warnings = parse("-ze-opt-level=1 -g -what", Config())
>>> options.level, options.debug, warnings
(1, True, ['the build flag "-what" is not known and has no effect'])
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from anyzero.compiler.compiled import Options
from anyzero.config import Config
from anyzero.lazy_dataclass import replace

__all__ = ["parse"]

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
"""The option that a flag sets, and its value."""

# Flags that ask for the default, permit optimisations that are not done, or tune other hardware.
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
    "-ze-intel-num-thread-per-eu",
    "-ze-opt-num-thread-per-eu",
    "-cl-intel-num-thread-per-eu",
    "-cl-intel-reqd-eu-thread-count",
)
"""Flags whose value follows `=` or is the next word."""
_FOR_SOURCES: Final = ("-D", "-I")
"""Flags for a compiler of source text; their value follows at once or as the next word."""

_LEVEL: Final = "-ze-opt-level"
_REGISTERS: Final = "-ze-exp-register-file-size"
_CHECKS: Final = "-anyzero-check"
"""The engine adds it in check mode: kinds of checks that kernels do themselves."""
_CHECKED: Final = ("memory", "races", "init", "sync")
_LANES: Final = "-anyzero-count-lanes"
"""The engine adds it while a profile with lanes is made."""
_LARGE: Final = frozenset({"256", "512"})
"""Registers for each thread, where 128 are usual."""
_COMMA: Final = re.compile(r",(?=-)")
_WARNINGS_SHOWN: Final = 100

# Words as a shell reads them, in time that grows with their length: shlex needs minutes for a word of a megabyte.
_PIECE: Final = re.compile(
    r"""(?P<gap>[ \t\r\n]++)|(?P<plain>[^ \t\r\n"'\\]++)|\\(?P<escaped>.)"""
    r"""|"(?P<double>(?:[^"\\]++|\\.)*+)"|'(?P<single>[^']*+)'""",
    re.DOTALL,
)
_ESCAPED: Final = re.compile(r"""\\(["\\])""")


def parse(flags: str, environment: Config) -> tuple[Options, list[str]]:
    """The options that flags and environment make together, and warnings for flags that are not known."""
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
        elif name == _CHECKS:
            given |= {f"check_{kind}": True for kind in _CHECKED if kind in value.split(",")}
        elif word == _LANES:
            given["count_lanes"] = True
        elif name == _REGISTERS:
            given["large_registers"] = (value if equals else next(words, "")) in _LARGE
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
    if len(warnings) > _WARNINGS_SHOWN:
        left = len(warnings) - _WARNINGS_SHOWN
        warnings[_WARNINGS_SHOWN:] = [f"{left} more build flags are not known and have no effect"]
    return replace(options, **given), warnings


def _words(flags: str) -> Iterator[str]:
    """Flags are separated by spaces or commas; some have commas in their value."""
    for part in _split(flags):
        yield from [part] if part.startswith("-cl-ext=") else filter(None, _COMMA.split(part.strip(",")))


def _split(flags: str) -> list[str]:
    words: list[str] = []
    pieces: list[str] = []
    at = 0
    while at < len(flags):
        found = _PIECE.match(flags, at)
        if found is None:  # an unmatched quotation mark
            return flags.split()
        at, kind = found.end(), found.lastgroup
        if kind != "gap":
            text = found[kind or 0]
            pieces.append(_ESCAPED.sub(r"\1", text) if kind == "double" else text)
        elif pieces:
            words.append("".join(pieces))
            pieces.clear()
    return [*words, "".join(pieces)] if pieces else words


def _level(text: str, given: dict[str, Any], warnings: list[str]) -> None:
    if re.fullmatch(r"[0-9]{1,9}", text):
        given["level"] = min(int(text), HIGHEST_LEVEL)
    else:
        warnings.append(f'the build flag {_LEVEL} has the value "{_shown(text)}" instead of a number and has no effect')


def _shown(word: str) -> str:
    """The text of a flag for a log: shortened and printable."""
    start = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in word[:80])
    return start if len(word) <= 80 else f"{start}…"
