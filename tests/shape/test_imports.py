"""Imports point one way; the arrows are the architecture."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.shape.tree import PACKAGE, ROOT, hand_written, nodes

# What each part of the package may import, besides itself. `anyzero` stands for the public names in __init__.py.
ALLOWED = {
    "anyzero": {"api", "arrays", "checking", "language", "profiling", "tracing"},
    "api": {"opencl_c", "spirv", "ze", "errors", "config", "installed", "lazy_dataclass"},
    "tools": {
        *("anyzero", "api", "npu", "language", "driver", "compiler", "opencl_c", "tracing", "errors", "config"),
        *("checking", "cluster", "installed", "mapped_files", "profiling"),
    },
    "testing": {"anyzero", "config"},
    "cluster": {"anyzero", "errors", "installed", "language", "npu"},
    "npu": {"anyzero", "api", "errors", "installed", "trust"},
    "interop": {"api", "opencl_c", "ze", "errors", "installed"},
    "language": {"api", "config", "errors", "fingerprint", "kernel_cache", "layouts", "spirv"},
    "arrays": {"api", "language", "errors"},
    "driver": {
        *("compiler", "layouts", "wire", "ze", "config", "cache_folder", "fingerprint", "installed", "kernel_cache"),
        *("lazy_dataclass", "lazy_namedtuple", "trust"),
    },
    "checking": {"api", "errors", "own_folder", "ze"},
    "profiling": {"api", "compiler", "driver", "errors", "layouts", "mapped_files", "own_folder"},
    "tracing": {"api", "layouts", "mapped_files", "own_folder", "ze", "errors"},
    "mapped_files": set(),
    "own_folder": set(),
    "opencl_c": {"errors", "config", "cache_folder", "fingerprint", "installed", "spirv", "trust"},
    "kernel_cache": {"cache_folder", "config", "trust"},
    "cache_folder": {"config", "trust"},
    "fingerprint": set(),
    "compiler": {"config", "layouts", "lazy_dataclass", "lazy_namedtuple", "spirv"},
    "layouts": {"wire"},
    "spirv": set(),
    "wire": set(),
    "errors": {"ze"},
    "config": {"lazy_dataclass", "trust"},
    "lazy_dataclass": set(),
    "lazy_namedtuple": set(),
    "trust": set(),
    "installed": {"lazy_dataclass"},
    "ze": set(),
}
# Parts of the checkout that are not installed with the package.
OUTSIDE = {"tests", "clients", "codegen", "benchmarks", "examples", "website"}

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
PYTHON_C_API = re.compile(r"\bPy(?:[A-Z][A-Za-z]*)?_\w+|\bPyObject\b")


def imported(source: str, module: str, is_package: bool) -> Iterator[str]:
    """The dotted name of everything that `source` imports, wherever the statement stands."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in nodes(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def part(name: str) -> str | None:
    """The part of the package that a dotted name belongs to; None when it is not ours."""
    top, *rest = name.split(".")
    if top != "anyzero":
        return top if top in OUTSIDE else None
    return rest[0] if rest and rest[0] in ALLOWED else top


def crossings(source: str, module: str, is_package: bool = False) -> list[str]:
    """Every import of `source` that points the wrong way."""
    own = part(module)
    assert own in ALLOWED, f"{module} is in no part that tests/shape/test_imports.py knows; add its arrows there"
    parts = {name: part(name) for name in imported(source, module, is_package)}
    return [
        f"{module} imports {name}" for name, to in parts.items() if to not in (None, own) and to not in ALLOWED[own]
    ]


def module_of(path: Path) -> str:
    names = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def calls_python(source: str) -> list[str]:
    return PYTHON_C_API.findall(COMMENT.sub("", source))


def test_imports_of_the_package_point_one_way() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    assert paths
    wrong = [
        found for path in paths for found in crossings(path.read_text(), module_of(path), path.name == "__init__.py")
    ]
    assert wrong == []


def test_nothing_outside_tests_imports_tests() -> None:
    sources = {name: (ROOT / name).read_text() for name in hand_written(".py") if not name.startswith("tests/")}
    wrong = [name for name, text in sources.items() for found in imported(text, "x", False) if part(found) == "tests"]
    assert wrong == []


def test_every_part_has_its_arrows() -> None:
    entries = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert entries - {"__init__", "__main__"} <= ALLOWED.keys()


def test_only_the_planner_calls_python() -> None:
    engine = [name for name in hand_written(".cpp", ".h") if name.startswith("engine/")]
    assert engine
    others = [name for name in engine if not Path(name).name.startswith("planner.")]
    assert [name for name in others if calls_python((ROOT / name).read_text())] == []


def test_wrong_directions_are_noticed() -> None:
    assert crossings("import anyzero.driver.devices.boot", "anyzero.api.device") == [
        "anyzero.api.device imports anyzero.driver.devices.boot"
    ]
    assert crossings("from ..driver.devices import boot", "anyzero.api.device") == [
        "anyzero.api.device imports anyzero.driver.devices.boot"
    ]
    assert crossings("from .. import tools", "anyzero.api", is_package=True) == ["anyzero.api imports anyzero.tools"]
    assert crossings("from anyzero import tools", "anyzero.npu.core") == ["anyzero.npu.core imports anyzero.tools"]
    assert crossings("def f():\n    import anyzero", "anyzero.api.device") == ["anyzero.api.device imports anyzero"]
    assert crossings("from anyzero.api import Event", "anyzero.compiler.pipeline") != []
    assert crossings("from anyzero import errors", "anyzero.ze.enums") != []
    assert crossings("import tests.shape", "anyzero.tools.cli") != []


def test_right_directions_pass() -> None:
    assert crossings("from anyzero import config, errors\nimport numpy", "anyzero.api.device") == []
    assert crossings("from . import event\nfrom ..ze import enums", "anyzero.api.device") == []
    assert crossings("import anyzero as az", "anyzero.tools.demo") == []
    assert crossings("from anyzero.compiler import pipeline", "anyzero.driver.modules.requests") == []


def test_calls_of_python_are_noticed() -> None:
    assert calls_python("PyGILState_Ensure();") == ["PyGILState_Ensure"]
    assert calls_python("PyObject* x;") == ["PyObject"]
    assert calls_python('auto f = dlsym(self, "Py_IsInitialized");') == ["Py_IsInitialized"]
    assert calls_python("copy();  // still works after Py_Finalize") == []
