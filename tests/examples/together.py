"""Examples in C++ as one program: their headers take longer to compile than all of them.

The variable EXAMPLE names the one to run. Each is in a namespace of its own, under the lines of its own file.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.examples.running import EXAMPLES, ROOT, account, run

FOLDER = EXAMPLES / "c"
BUILT = ROOT / "build" / "examples"
HEADERS = ROOT / "engine" / "abi" / "gen"
LIBRARY = ROOT / "src" / "anyzero" / "lib"
FLAGS = ("-std=c++20", "-O1", "-pthread", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror")
APART = {"capture", "opencl_interop"}
"""One has a `main` for old headers besides, the other needs the headers of OpenCL."""

TOGETHER = sorted({path.stem for path in FOLDER.glob("*.cpp")} - APART)

_INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)
_MAIN = re.compile(r"^int main\(.*\) \{$", re.MULTILINE)
_END = "\n}\n"


def needed_devices(name: str) -> str | None:
    """The devices that an example asks for."""
    found = re.search(r"^// needs: ANYZERO_DEVICES=(.+)$", (FOLDER / f"{name}.cpp").read_text(), re.MULTILINE)
    return found[1] if found else None


def together(names: Sequence[str]) -> str:
    """The source of a program that contains these examples."""
    texts = {name: (FOLDER / f"{name}.cpp").read_text() for name in names}
    includes = {line for text in texts.values() for line in _INCLUDE.findall(text)}
    parts = ["#include <cstdlib>\n#include <string_view>\n", *sorted(includes)]
    for name, text in texts.items():
        body, found = _MAIN.subn("int run([[maybe_unused]] int argc) {", text)
        assert found == 1, f"{name}: how does it begin?"
        assert body.endswith(_END), f"{name}: main is not its last function"
        # Only a function that is called main may end without a result.
        body = body.removesuffix(_END) + "\n  return 0;" + _END
        parts.append(f'namespace {name} {{\n#line 1 "{FOLDER / f"{name}.cpp"}"\n{body}}}\n')
    parts.append('int main(int argc, char**) {\n  std::string_view name = std::getenv("EXAMPLE");\n')
    parts += [f'  if (name == "{name}") return {name}::run(argc);\n' for name in names]
    parts.append("  return 2;\n}\n")
    return "".join(parts)


@functools.cache
def program() -> Path:
    """All of them, compiled once for each content."""
    text = together(TOGETHER)
    content = hashlib.sha256(repr((FLAGS, text)).encode())
    for header in (*sorted(FOLDER.glob("*.h")), *sorted(HEADERS.glob("*.h"))):
        content.update(header.read_bytes())
    target = BUILT / f"together.{content.hexdigest()[:16]}"
    if not target.exists():
        BUILT.mkdir(parents=True, exist_ok=True)
        source, part = (BUILT / f"together.{os.getpid()}{suffix}" for suffix in (".cpp", ""))
        source.write_text(text)
        folders = ("-I", FOLDER, "-I", HEADERS, "-L", LIBRARY, f"-Wl,-rpath,{LIBRARY}")
        built = run(["g++", *FLAGS, *folders, source, "-lze_loader", "-o", part])
        assert built.returncode == 0, account(built)
        source.unlink()
        part.replace(target)
    return target


def run_cpp(name: str, variables: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs an example: one of them, or else as users do."""
    if name in APART:
        return run([FOLDER / "run", name], variables)
    devices = needed_devices(name) or "cpu"
    given = {"EXAMPLE": name, "ANYZERO_PYTHON": sys.executable, "ANYZERO_DEVICES": devices}
    return run([program()], given | dict(variables or {}))
