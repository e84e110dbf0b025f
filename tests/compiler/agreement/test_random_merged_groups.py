"""Random kernels whose small groups run as one with their neighbours, against the interpreter.

`ANYZERO_RANDOM=500` tries so many.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from anyzero.compiler import pipeline, reference
from anyzero.compiler.compiled import Options
from anyzero.compiler.passes import Pass
from anyzero.compiler.spirv import read
from tests.compiler.agreement.isolation import isolated
from tests.compiler.native import Loaded
from tests.thorough import examples

WANTED = int(os.environ.get("ANYZERO_RANDOM", "0"))
TYPES = {"i32": np.int32, "i64": np.int64, "f32": np.float32}
HEAD = "import anyzero as az\n\n\n@az.kernel\n"


class Writer:
    """A kernel in Python: it fills a tile, with or without a margin, and combines elements of it."""

    def __init__(self, random: Random, wide: int, high: int) -> None:
        self.random, self.wide, self.high = random, wide, high
        self.margin = random.choice([0, 2])
        self.row = wide + self.margin
        self.type, self.id = random.choice(list(TYPES)), random.choice(["i32", "i64"])
        self.lines: list[str] = []

    def add(self, *lines: str) -> None:
        self.lines += ["    " + line for line in lines]

    def any(self, *forms: str) -> str:
        return self.random.choice(forms)

    def text(self) -> str:
        wide, high, id_ = self.wide, self.high, f"az.{self.id}"
        pointer = f"az.ptr[az.{self.type}]"
        self.lines = [f"def mixed(out: {pointer}, data: {pointer}, width: {id_}) -> None:"]
        self.add(
            f"tile = az.local[az.{self.type}, {self.row * (high + self.margin)}]",
            f"second = az.local[az.{self.type}, {wide * high}]",
            f"x, y = {id_}(az.local_id(0)), {id_}(az.local_id(1))",
            f"gx, gy = {id_}(az.group_id(0)), {id_}(az.group_id(1))",
            "column = "
            + self.any(
                f"gx * {wide} + x",
                f"x + gx * {wide}",
                f"(gx * {wide} + 3) + (x - 3)",
                f"{id_}(az.global_id(0))",
                f"{id_}(az.group_id(0) * {wide} + az.local_id(0))",
            ),
            f"at = (gy * {high} + y) * width + column",
        )
        self._fill()
        self.add("az.barrier()", f"total = az.{self.type}(0)")
        for _ in range(self.random.randint(1, 5)):
            self._combine()
        if self.random.random() < 0.4:
            place = self.any(
                f"y * {wide} + ({wide - 1} - x)", f"({high - 1} - y) * {wide} + x", f"y * {wide} + (x ^ 1)"
            )
            self.add(f"second[y * {wide} + x] = total", "az.barrier()", f"total += second[{place}]")
        if self.random.random() < 0.4:
            self.add(f"if {self.any(f'x < {wide - 1}', 'gx != 1', 'column < 9', 'x + y != 2')}:", "    out[at] = total")
        else:
            self.add("out[at] = total")
        return HEAD + "\n".join(self.lines) + "\n"

    def _fill(self) -> None:
        wide, high = self.wide, self.high
        if self.margin:
            self.add(
                f"for r in range(y, {high + self.margin}, {high}):",
                f"    for c in range(x, {self.row}, {wide}):",
                f"        tile[r * {self.row} + c] = data[(gy * {high} + r) * width + gx * {wide} + c]",
            )
            return
        value = self.any("data[at]", "data[at] + data[at + 1]", f"data[at] + az.{self.type}(gx * 10 + gy)")
        self.add(f"tile[y * {wide} + x] = {value}")
        if self.random.random() < 0.3:
            self.add(f"if x < {self.random.randint(1, wide)}:", f"    tile[y * {wide} + x] = az.{self.type}(7)")

    def _combine(self) -> None:
        element = f"tile[{self._place()}]"
        element = self.any(element, f"{element} * az.{self.type}(3)", f"{element} - az.{self.type}(gx)")
        if self.random.random() < 0.3:
            condition = self.any(f"x < {self.random.randint(0, self.wide)}", "(gx & 1) == 0", "gx + x > 3", "y > 0")
            self.add(f"if {condition}:", f"    total += {element}")
        else:
            self.add(f"total += {element}")

    def _place(self) -> str:
        wide, high, row = self.wide, self.high, self.row
        if self.margin:
            return f"(y + {self.random.randrange(3)}) * {row} + x + {self.random.randrange(3)}"
        column = self.any("x", "(x ^ 1)", f"({wide - 1} - x)", str(self.random.randrange(wide)))
        return f"{self.any('y', f'({high - 1} - y)', str(self.random.randrange(high)))} * {row} + {column}"


def kernel_of(text: str, folder: Path) -> Any:
    path = folder / f"mixed_{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("mixed", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.mixed


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(WANTED or examples(16, 100)))
def test_given_any_kernel_with_a_tile_then_each_group_has_its_own_values(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    cpu, wide = random.choice([("haswell", 4), ("haswell", 4), ("haswell", 2), ("", 8), ("", 4)])
    high, columns, rows = random.choice([1, 2, 4, 8]), random.randint(1, 9), random.randint(1, 3)
    writer = Writer(random, wide, high)
    text = writer.text()
    module = read(kernel_of(text, tmp_path).spirv)
    data = np.random.default_rng(seed).integers(-50, 50, (columns * wide + 8) * (rows * high + 8))
    data = data.astype(TYPES[writer.type])
    given = [np.zeros_like(data), data, TYPES[writer.id](columns * wide + 3)]
    size, group, options = (columns * wide, rows * high), (wide, high), Options(level=1, cpu=cpu, group=(wide, high, 1))

    def wrong() -> int:
        made, wanted = ([each.copy() if each.shape else each for each in given] for _ in range(2))
        code = pipeline.compile_kernel(module, "mixed", options)
        Loaded(code)(made, size, group, strip=random.randint(1, columns))
        reference.run(module, "mixed", wanted, size, group)
        return int((made[0] != wanted[0]).sum())

    outcome = isolated(wrong)
    assert not outcome.trouble, f"{outcome.trouble}\n{text}"
    assert outcome.value == 0, text


def test_most_of_these_kernels_have_merged_groups(tmp_path: Path) -> None:
    merged: list[bool] = []

    def observe(done: Pass, unit: object) -> None:
        if done.name == "write-group-loops":
            merged.append(unit.merged_groups is not None)  # type: ignore[attr-defined]

    for seed in range(20):
        module = read(kernel_of(Writer(Random(seed), 4, 4).text(), tmp_path).spirv)
        options = Options(level=1, cpu="haswell", group=(4, 4, 1))
        pipeline.compile_kernel(module, "mixed", options, observe=observe)
    assert merged.count(True) > 10
