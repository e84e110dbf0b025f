"""Examples in C++ as one program: their headers take longer to compile than all of them.

The variable EXAMPLE names the one to run. Each is in a namespace of its own, under the lines of its own file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tests.examples.running import EXAMPLES

FOLDER = EXAMPLES / "c"
APART = {"capture", "opencl_interop"}
"""One has a `main` for old headers besides, the other needs the headers of OpenCL."""

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
