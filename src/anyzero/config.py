"""Every environment variable of anyzero, typed and documented.

The fields of :class:`Config` are the table: each carries the variable's name, how its text is read, what it accepts and
what it means. :func:`read` turns the environment into a ``Config``; :func:`markdown` prints the table, which opens
``docs/environment.md``.

    >>> read({"ANYZERO_THREADS": "4", "ANYZERO_MEMORY": "2G"}).memory
    2147483648
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, Final

from anyzero.lazy_dataclass import dataclass, field, fields
from anyzero.trust import process

__all__ = ["Config", "ConfigError", "DeviceSelector", "Variable", "markdown", "parse_size", "read", "variables"]

LOG_LEVELS: Final = ("off", "error", "warning")
"""Values of ``ANYZERO_LOG``; the position is the engine's level."""

CHECKS: Final = ("memory", "sync", "strict", "races", "init")
"""Names in ``ANYZERO_CHECK``."""

LOADERS: Final = ("ours", "system")
"""Values of ``ANYZERO_LOADER``, besides a path."""

LANES: Final = ("auto", "1", "4", "8", "16", "32")
"""Values of ``ANYZERO_LANES``."""

STAGES: Final = ("both", "quick", "final")
"""Values of ``ANYZERO_STAGES``."""

MAX_THREADS: Final = 1024
MAX_SPIN_US: Final = 1_000_000
MAX_TIMEOUT: Final = 1_000_000
MAX_SIZE: Final = (1 << 63) - 1
"""Sizes are numbers of 64 bits in the engine, and sums of two of them must be as well."""
_DIGITS: Final = 20
"""No accepted number has more digits; int() refuses thousands of them with a message of its own."""

_SHOWN: Final = 300
"""Characters of a value that a message repeats."""

_SIZE = re.compile(r"([0-9]+)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_SHIFT = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_SELECTOR = re.compile(r"(?:(?P<backend>[a-z]+)(?::|$))?(?:(?P<index>[0-9]{1,9})(?:\.(?P<tile>[0-9]{1,9}))?)?")


class ConfigError(ValueError):
    """A variable holds something it does not accept; the text names the variable, the value and the accepted forms."""

    def __init__(self, variable: str, value: str, reason: str, accepts: str) -> None:
        super().__init__(f"{variable}={_cut(value)!r}: {_cut(reason)}. Accepted: {accepts}.")
        self.variable = variable
        self.value = value
        self.reason = reason
        self.accepts = accepts


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class DeviceSelector:
    """The device to select: by its index among all devices, or among those of one backend; perhaps one of its tiles."""

    backend: str | None = None
    index: int = 0
    tile: int | None = None

    @classmethod
    def parse(cls, text: str) -> DeviceSelector:
        """Read ``0``, ``0.1``, ``cpu``, ``cpu:0`` or ``cpu:0.1``; raise ValueError for anything else.

        >>> DeviceSelector.parse("cpu:0.1")
        DeviceSelector(backend='cpu', index=0, tile=1)
        """
        match = _SELECTOR.fullmatch(text.strip())
        # "cpu:" and "" match the pattern but select nothing.
        if match is None or not text.strip() or text.strip().endswith(":"):
            raise ValueError("not a device selection")
        tile = match["tile"]
        return cls(match["backend"], int(match["index"] or 0), None if tile is None else int(tile))

    def __str__(self) -> str:
        where = str(self.index) if self.tile is None else f"{self.index}.{self.tile}"
        return where if self.backend is None else f"{self.backend}:{where}"


@dataclass(frozen=True, slots=True)
class Variable:
    """One row of the table."""

    name: str
    accepts: str
    default: str
    meaning: str
    parse: Callable[[str], Any]
    names_path: bool = False
    """A process with more rights than its caller ignores it."""


def parse_size(text: str) -> int:
    """Read a number of bytes: ``65536``, ``64K``, ``64KiB``, ``4G``; units are powers of 1024, and 2⁶³ is too much.

    >>> parse_size("64K")
    65536
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError("not a size")
    size = MAX_SIZE + 1 if len(match[1]) > _DIGITS else int(match[1]) << _SHIFT[match[2].lower()]
    if size > MAX_SIZE:
        raise ValueError("too large: sizes are less than 8388608T")
    return size


def available_cpus() -> int:
    """The number of CPUs that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _text(text: str) -> str:
    return text


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        # int() would also accept "1_000" and digits of other scripts, which are typing errors.
        if re.fullmatch(r"[0-9]+", text) is None:
            raise ValueError("not a whole number")
        if len(text) > _DIGITS or not low <= int(text) <= high:
            raise ValueError("out of range")
        return int(text)

    return parse


def _positive_size(text: str) -> int:
    size = parse_size(text)
    if size == 0:
        raise ValueError("must not be zero")
    return size


def _seconds(text: str) -> float:
    # float() would also take "inf", "nan" and "1e3".
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", text) is None:
        raise ValueError("not a decimal number")
    if float(text) > MAX_TIMEOUT:
        raise ValueError("out of range")
    return float(text)


def _switch(text: str) -> bool:
    if text not in ("on", "off", "1", "0"):
        raise ValueError("neither on nor off")
    return text in ("on", "1")


def _unless_auto(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Reads ``auto`` as None, which leaves the choice to the compiler."""
    return lambda text: None if text == "auto" else parse(text)


def _lanes(text: str) -> int:
    return int(_one_of(LANES)(text))


def _cpu_name(text: str) -> str:
    # The name becomes part of LLVM's options, where other characters have a meaning.
    if re.fullmatch(r"[A-Za-z0-9._-]+", text) is None:
        raise ValueError("not the name of a processor")
    return text


def _loader(text: str) -> str:
    # A path has a slash, as for the linker, so that a misspelt word is not taken for a path.
    return text if "/" in text else _one_of(LOADERS)(text)


def _one_of(words: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError("not one of the accepted values")
        return text

    return parse


def _checks(text: str) -> str | None:
    words = text.split(",")
    if not set(words) <= {*CHECKS, "on", "1", "off", "0", "all", "stop"}:
        raise ValueError(f"not some of {', '.join(CHECKS)}, stop, with commas between them")
    return None if set(words) <= {"off", "0"} else text


def _variable(
    name: str,
    parse: Callable[[str], Any],
    *,
    accepts: str,
    meaning: str,
    default: object = None,
    factory: Callable[[], Any] | None = None,
    shown: str | None = None,
    names_path: bool = False,
) -> Any:
    """A field of :class:`Config`; `shown` describes a default that depends on the machine."""
    row = Variable(name, accepts, f"`{default}`" if shown is None else shown, meaning, parse, names_path)
    metadata = {"variable": row}
    if factory is not None:
        return field(default_factory=factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class Config:
    """The values of all variables, read once. A variable that is unset or empty has its default."""

    devices: str | None = _variable(
        "ANYZERO_DEVICES",
        _text,
        default=None,
        shown="`cpu`, and `npu` where OpenVINO is installed",
        accepts="`cpu`, `cpu,npu`, `cpu:tiles=2`, `cpu:tiles=2,memory=4G,cpu`, …",
        meaning="The devices and their options. The grammar is below.",
    )
    device: DeviceSelector | None = _variable(
        "ANYZERO_DEVICE",
        DeviceSelector.parse,
        default=None,
        shown="the first device",
        accepts="`0`, `0.1`, `cpu`, `cpu:0`, `cpu:0.1`, `npu`",
        meaning="The device that `anyzero.device()` picks: its index among all devices, or `backend:index` among those "
        "of one backend. `.N` picks sub-device N, and the process has the threads of that one.",
    )
    profile: str = _variable(
        "ANYZERO_PROFILE",
        _text,
        default="default",
        accepts="the name of a profile (below)",
        meaning="The identity that devices report: name, vendor, ids, limits.",
    )
    threads: int = _variable(
        "ANYZERO_THREADS",
        _whole(1, MAX_THREADS),
        factory=available_cpus,
        shown="the CPUs this process may use",
        accepts=f"a whole number from 1 to {MAX_THREADS}",
        meaning="Threads that work on a command, the waiting caller included.",
    )
    memory: int | None = _variable(
        "ANYZERO_MEMORY",
        _positive_size,
        default=None,
        shown="the machine's memory",
        accepts="a size: `4G`, `512M`, `65536`",
        meaning="Memory that each device reports and may allocate; beyond it allocations return OUT_OF_DEVICE_MEMORY.",
    )
    kept_memory: int = _variable(
        "ANYZERO_KEPT_MEMORY",
        parse_size,
        default=256 << 20,
        shown="`256M`",
        accepts="a size, `0` for none",
        meaning="Freed memory that the driver keeps for the next allocations, in blocks over 1 MiB. What is beyond it "
        "returns to the system at once.",
    )
    spin_us: int = _variable(
        "ANYZERO_SPIN_US",
        _whole(0, MAX_SPIN_US),
        default=20,
        accepts=f"a whole number of microseconds from 0 to {MAX_SPIN_US}",
        meaning="How long a waiter spins before it sleeps. A higher value lowers latency and keeps a CPU busy.",
    )
    inline_bytes: int = _variable(
        "ANYZERO_INLINE_BYTES",
        parse_size,
        default=16384,
        accepts="a size, `0` for never",
        meaning="The largest copy or fill that runs on the caller's own thread instead of being handed to an engine.",
    )
    description: str | None = _variable(
        "ANYZERO_DESCRIPTION",
        _text,
        names_path=True,
        default=None,
        shown="none",
        accepts="a path",
        meaning="For programs on machines without Python: a file written by `python -m anyzero.driver > file`, read "
        "instead of asking Python. The variables that shape devices took effect when the file was written.",
    )
    python: str | None = _variable(
        "ANYZERO_PYTHON",
        _text,
        names_path=True,
        default=None,
        shown="the one that anyzero is installed for",
        accepts="a path, or a name to look for on `PATH`",
        meaning="For C programs: the Python, 3.11 or newer, that the driver starts beside them to describe devices and "
        "to compile. Programs that run Python and can import `anyzero` use their own.",
    )
    planner_timeout: float = _variable(
        "ANYZERO_PLANNER_TIMEOUT",
        _seconds,
        default=60.0,
        shown="`60`",
        accepts=f"seconds, up to {MAX_TIMEOUT}: `60`, `0.5`; `0` for no limit",
        meaning="For C programs: how long that Python may neither answer nor use any processor time before it is "
        "terminated and another one is started. It is not terminated while it uses processor time.",
    )
    loader: str = _variable(
        "ANYZERO_LOADER",
        _loader,
        names_path=True,
        default="ours",
        accepts="`ours` or `system`, or the path of a loader: `/opt/lib/libze_loader.so.1`",
        meaning="The drivers that the Python API uses: this package's, or those that the system's `libze_loader.so.1` "
        "finds, or those of another loader. Read when `anyzero` is first used.",
    )
    log: str = _variable(
        "ANYZERO_LOG",
        _one_of(LOG_LEVELS),
        default="error",
        accepts=", ".join(f"`{level}`" for level in LOG_LEVELS),
        meaning="The messages on stderr: with `error`, reports of faults that lose a queue or a device; with "
        "`warning`, also waits that last long, each once, with the event, queue or kernel that it is for.",
    )
    slow_wait: float = _variable(
        "ANYZERO_SLOW_WAIT",
        _seconds,
        default=5.0,
        shown="`5`",
        accepts=f"seconds, up to {MAX_TIMEOUT}: `5`, `0.5`",
        meaning="How long a wait lasts before `ANYZERO_LOG=warning` says what it is for.",
    )
    kernel_timeout: float = _variable(
        "ANYZERO_KERNEL_TIMEOUT",
        _seconds,
        default=0.0,
        shown="`0`",
        accepts=f"seconds, up to {MAX_TIMEOUT}: `10`, `0.5`; `0` for no limit",
        meaning="How long a launch of a kernel may take. One that takes longer is stopped, and its queue is lost. "
        "Without a limit, an endless kernel blocks its own queue only.",
    )
    strict: bool = _variable(
        "ANYZERO_STRICT",
        _switch,
        default=False,
        shown="`off`",
        accepts="`on` or `1`, `off` or `0`",
        meaning="Refuse what hardware drivers tolerate although the specification forbids it: a kernel argument of "
        "another size than the kernel's own, commands appended to a closed list, accesses just outside local memory.",
    )
    native: bool = _variable(
        "ANYZERO_NATIVE",
        _switch,
        default=True,
        shown="`on`",
        accepts="`on` or `off`",
        meaning="Use the machine code in native binaries. With `off`, modules created from them are compiled from the "
        "SPIR-V in them.",
    )
    cache: bool = _variable(
        "ANYZERO_CACHE",
        _switch,
        default=True,
        shown="`on`",
        accepts="`on` or `off`",
        meaning="Keep compiled kernels and models on disk for the next run.",
    )
    cache_dir: str | None = _variable(
        "ANYZERO_CACHE_DIR",
        _text,
        names_path=True,
        default=None,
        shown="`$XDG_CACHE_HOME/anyzero`, else `~/.cache/anyzero`",
        accepts="a path",
        meaning="The folder of that cache. Its contents are executed, so "
        "a folder that other users may write to is not used.",
    )
    cache_size: int = _variable(
        "ANYZERO_CACHE_SIZE",
        _positive_size,
        default=1 << 30,
        shown="`1G`",
        accepts="a size: `4G`, `512M`",
        meaning="The size of the cache; beyond it the least recently used entries are removed.",
    )
    npu_cache_size: int = _variable(
        "ANYZERO_NPU_CACHE_SIZE",
        parse_size,
        default=1 << 30,
        shown="`1G`",
        accepts="a size: `4G`, `512M`; `0` for none",
        meaning="The same for models compiled for the NPU, which are in a separate folder.",
    )
    lanes: int | None = _variable(
        "ANYZERO_LANES",
        _unless_auto(_lanes),
        default=None,
        shown="`auto`",
        accepts=", ".join(f"`{lanes}`" for lanes in LANES),
        meaning="Work-items that a kernel's code runs at once, one in each lane of a vector.",
    )
    gathers: bool | None = _variable(
        "ANYZERO_GATHERS",
        _unless_auto(_switch),
        default=None,
        shown="`auto`",
        accepts="`auto`, `on`, `off`",
        meaning="Use the processor's gather and scatter instructions; otherwise code loads and stores lane by lane.",
    )
    opt_level: int | None = _variable(
        "ANYZERO_OPT_LEVEL",
        _whole(0, 3),
        default=None,
        shown="the module's build flags, else `2`",
        accepts="`0` to `3`",
        meaning="The optimisation level; `0` compiles fastest. It overrides the build flags.",
    )
    stages: str = _variable(
        "ANYZERO_STAGES",
        _one_of(STAGES),
        default="both",
        accepts=", ".join(f"`{each}`" for each in STAGES),
        meaning="The code that kernels run. With `both`, kernels start with quickly compiled code. Those that run "
        "long enough switch to better code, which another process compiles in the meantime: final code, and code for "
        "the group size of their launches. `quick` stays with the first, `final` waits for final code.",
    )
    dump: str | None = _variable(
        "ANYZERO_DUMP",
        _text,
        names_path=True,
        default=None,
        shown="none",
        accepts="a path",
        meaning="A folder that receives the LLVM IR and the assembly of every kernel that is created. Kernels are "
        "compiled even when the cache has them.",
    )
    check: str | None = _variable(
        "ANYZERO_CHECK",
        _checks,
        default=None,
        shown="`off`",
        accepts="`on`, `off`, `all`; or some of `memory`, `sync`, `strict`, "
        "`races`, `init`, `stop`, separated by commas",
        meaning="Look for mistakes of programs and kernels, and report them on stderr. `on` is `memory,sync,strict`, "
        "`all` also `races` and `init`; with `stop`, a kernel ends at its first mistake. `anyzero check` sets it.",
    )
    check_report: str | None = _variable(
        "ANYZERO_CHECK_REPORT",
        _text,
        names_path=True,
        default=None,
        shown="none",
        accepts="a path",
        meaning="A folder that receives the findings of each process, as a file of JSON lines.",
    )
    trace: str | None = _variable(
        "ANYZERO_TRACE",
        _text,
        names_path=True,
        default=None,
        shown="none",
        accepts="a path",
        meaning="A folder that receives a recording of each process that uses the driver; `anyzero trace` sets it.",
    )
    samples: str | None = _variable(
        "ANYZERO_SAMPLES",
        _text,
        names_path=True,
        default=None,
        shown="none",
        accepts="`RATE:CLOCK:LANES:FOLDER`",
        meaning="Samples of kernels for each second that a thread works, the clock (`any`, `timer`), whether kernels "
        "count their active lanes (`lanes`, `none`), and a folder that receives those of each process; "
        "`anyzero profile` sets it.",
    )
    target: str | None = _variable(
        "ANYZERO_TARGET",
        _unless_auto(_cpu_name),
        default=None,
        shown="`auto`",
        accepts="`auto` or LLVM's name of a processor: `haswell`, `znver4`, `x86-64-v3`",
        meaning="The processor that kernels are compiled for. Code for another one than this machine's may not run.",
    )


def variables() -> Iterator[tuple[str, Variable]]:
    """Every field of :class:`Config` with its variable, in the order of the table."""
    for each in fields(Config):
        yield each.name, each.metadata["variable"]


def read(environ: Mapping[str, str] | None = None, *, only: Container[str] | None = None) -> Config:
    """Read the environment (the process's own when none is given); raise :class:`ConfigError` for a bad value.

    With `only`, the names of fields, the others keep their defaults regardless of their variables. In a process with
    more rights than its caller, so do those that name paths.

    >>> read({"ANYZERO_LOADER": "system", "ANYZERO_THREADS": "many"}, only=["loader"]).loader
    'system'
    """
    source = os.environ if environ is None else environ
    given: dict[str, Any] = {}
    for name, variable in variables():
        text = source.get(variable.name, "").strip()
        if text and (only is None or name in only) and not (variable.names_path and process.is_secure()):
            try:
                given[name] = variable.parse(text)
            except ValueError as error:
                raise ConfigError(variable.name, text, str(error), variable.accepts.replace("`", "")) from None
    return Config(**given)


def markdown() -> str:
    """The table of variables, as ``docs/environment.md`` begins with it."""
    lines = ["| variable | accepts | default | meaning |", "|---|---|---|---|"]
    lines += [f"| `{row.name}` | {row.accepts} | {row.default} | {row.meaning} |" for _, row in variables()]
    return "\n".join(lines) + "\n"
