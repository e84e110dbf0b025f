"""The examples in docstrings run; each module starts with what every reader has: `az` and `np`."""

from __future__ import annotations

import doctest
import importlib
import types
from pathlib import Path

import numpy as np
import pytest

from tests.shape.tree import PACKAGE

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def with_examples() -> list[str]:
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text()]
    # These want other packages; tests/clients has them, and runs these examples there.
    paths = [path for path in paths if PACKAGE / "interop" not in path.parents]
    return [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__") for path in paths
    ]


def failures(module: types.ModuleType, extra: dict[str, object]) -> str:
    """What the failing examples of a module print; empty when all hold."""
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, extraglobs=extra):
        runner.run(test, out=report.append)
    return "".join(report)


@pytest.mark.parametrize("name", with_examples())
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import anyzero as az

    monkeypatch.chdir(tmp_path)
    report = failures(importlib.import_module(name), {"az": az, "np": np})
    assert not report, report


def test_a_wrong_example_is_noticed() -> None:
    sample = types.ModuleType("sample", "Adds.\n\n>>> 1 + one\n3\n")
    assert "Expected:\n    3\nGot:\n    2" in failures(sample, {"one": 1})
    assert failures(sample, {"one": 2}) == ""


def test_the_api_has_examples() -> None:
    assert any(name.startswith("anyzero.api") for name in with_examples())
