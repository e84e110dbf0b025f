"""The folder of kernels for the tests of the Python API."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
EXAMPLES: Final = ROOT / "examples" / "kernels"
KERNELS: Final = ROOT / "tests" / "kernels"
SAXPY: Final = ROOT / "src" / "anyzero" / "tools" / "saxpy.spv"
