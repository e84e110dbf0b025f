"""Optional packages that are installed, found without importing them, which would take longer than our own start.

>>> openvino(path=[]) is None
True
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from anyzero.lazy_dataclass import dataclass

__all__ = ["INSTALL_OPENVINO", "OLDEST_OPENVINO", "OpenVINO", "install", "openvino"]

OLDEST_OPENVINO: Final = (2026, 4)
"""The first version whose C library and NPU plugin work with the NPU device."""


def install(extra: str) -> str:
    """The command that installs the packages of an extra: of the package, or of the checkout that it runs from."""
    here = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))  # noqa: PTH120 (pathlib takes long to load)
    checkout = os.path.exists(os.path.join(here, "pyproject.toml"))  # noqa: PTH110, PTH118
    return f"pip install '.[{extra}]' in {here}" if checkout else f"pip install 'anyzero[{extra}]'"


INSTALL_OPENVINO: Final = "pip install 'anyzero[npu]'"
"""The command as pages have it; errors say `install("npu")`, which knows a checkout."""

_LIBRARY: Final = re.compile(r"libopenvino_c\.so(\.\d+)*")
_RELEASE: Final = re.compile(r"openvino(?:_nightly)?-(\d+(?:\.\d+)*)[^/]*\.dist-info")
# 2026.4.1 is libopenvino_c.so.2641.
_SUFFIX: Final = re.compile(r"\.so\.(\d\d)(\d)(\d+)")


@dataclass(frozen=True, slots=True)
class OpenVINO:
    """An installed OpenVINO. `library` is its C library; empty where its package has none."""

    version: str
    folder: str
    library: str

    @property
    def is_enough(self) -> bool:
        """Whether models can be compiled and run with it."""
        return bool(self.library) and tuple(map(int, self.version.split(".")[:2])) >= OLDEST_OPENVINO

    @property
    def shortcoming(self) -> str:
        """The reason why it is not enough; empty where it is."""
        if not self.library:
            return f"the package in {self.folder} has no C library (libs/libopenvino_c.so)"
        needed = ".".join(map(str, OLDEST_OPENVINO))
        return "" if self.is_enough else f"{self.version} in {self.folder} is older than {needed}"


def openvino(path: Sequence[str] | None = None) -> OpenVINO | None:
    """The OpenVINO that a program would import; None where there is none. `path` replaces ``sys.path``."""
    for place in _places(_importing() if path is None else path):
        folder = os.path.join(place, "openvino")  # noqa: PTH118 (pathlib costs more than the look)
        try:
            libraries = os.listdir(os.path.join(folder, "libs"))  # noqa: PTH118, PTH208
        except OSError:
            if os.path.isfile(os.path.join(folder, "__init__.py")):  # noqa: PTH113, PTH118
                return OpenVINO(_release(place) or "0", folder, "")
            continue
        found = next((name for name in sorted(libraries) if _LIBRARY.fullmatch(name)), "")
        library = os.path.join(folder, "libs", found) if found else ""  # noqa: PTH118
        return OpenVINO(_release(place) or _told_by(found) or "0", folder, library)
    return None


def _importing() -> Iterable[str]:
    # A package that is imported already takes precedence, from any folder.
    loaded = getattr(sys.modules.get("openvino"), "__file__", None)
    return [os.path.dirname(os.path.dirname(loaded)), *sys.path] if loaded else sys.path  # noqa: PTH120


def _places(path: Iterable[str]) -> Iterable[str]:
    # An empty entry is the working folder; the paths must stay valid in another one.
    return (os.path.abspath(each) for each in path)  # noqa: PTH100


def _release(place: str) -> str:
    try:
        names = os.listdir(place)  # noqa: PTH208
    except OSError:
        return ""
    return next((match[1] for name in names if (match := _RELEASE.fullmatch(name))), "")


def _told_by(library: str) -> str:
    match = _SUFFIX.search(library)
    return f"20{match[1]}.{match[2]}.{match[3]}" if match else ""
