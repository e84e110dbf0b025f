"""A hand-written file holds one noun; 600 lines is where that stops being believable."""

from __future__ import annotations

from pathlib import Path

from tests.shape.tree import ROOT, hand_written

CEILING = 600


def too_long(paths: list[Path]) -> list[str]:
    lengths = {path: len(path.read_text().splitlines()) for path in paths}
    return [f"{path} has {lines} lines" for path, lines in lengths.items() if lines > CEILING]


def test_no_hand_written_file_is_too_long() -> None:
    paths = [ROOT / name for name in hand_written(".py", ".cpp", ".h")]
    assert paths
    assert too_long(paths) == []


def test_a_long_file_is_noticed(tmp_path: Path) -> None:
    short, long = tmp_path / "short.py", tmp_path / "long.py"
    short.write_text("x = 1\n" * CEILING)
    long.write_text("x = 1\n" * (CEILING + 1))
    assert too_long([short, long]) == [f"{long} has 601 lines"]
