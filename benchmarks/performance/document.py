"""The files that show what was measured."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from benchmarks.kernels.command import results_of
from benchmarks.kernels.targets import MEASURED as TARGETS
from benchmarks.performance import tables
from benchmarks.performance.figures import figures
from benchmarks.performance.record import Incomplete, Record, updated
from benchmarks.sources import BUILD, ROOT

__all__ = ["FOLDER", "PAGES", "RECORD", "main", "rendered"]

FOLDER: Final = Path("docs") / tables.FOLDER
RECORD: Final = FOLDER / "kernels.json"
PAGES: Final = (Path("docs/performance.md"), Path("README.md"))
MEASURED: Final = (*(results_of(name) for name in TARGETS), BUILD / "results.json")
SECTION: Final = re.compile(r"(?<=<!-- begin: )([a-z]+)( -->\n)(.*?)(?=<!-- end: \1 -->)", re.DOTALL)


def _filled(text: str, record: Record) -> str:
    return SECTION.sub(lambda found: f"{found[1]}{found[2]}{tables.SECTIONS[found[1]](record)}", text)


def rendered(record: Record, pages: Mapping[Path, str]) -> dict[Path, str]:
    """Every file by its path in the checkout; `pages` are those with sections to fill."""
    return {FOLDER / name: text for name, text in figures(record).items()} | {
        path: _filled(text, record) for path, text in pages.items()
    }


def main(files: Sequence[str]) -> int:
    """Take in what was measured, then write everything anew. The record itself as a file adds nothing to it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks --figures", description=main.__doc__)
    parser.add_argument("file", nargs="*", type=Path, help="written by `python -m benchmarks`; else build/bench")
    given = parser.parse_args(files).file or [path for path in MEASURED if path.exists()]
    kept = ROOT / RECORD
    try:
        record = json.loads(kept.read_text()) if kept.exists() else {}
        for path in (each for each in given if each.resolve() != kept):
            record = updated(record, json.loads(path.read_text()))
        if not record.get("kernels"):
            raise Incomplete("nothing was measured; run `python -m benchmarks --kernels --suite all` first")
    except (OSError, ValueError, Incomplete) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    pages = {path: (ROOT / path).read_text() for path in PAGES}
    for old in (ROOT / FOLDER).glob("*.svg"):
        old.unlink()
    for path, text in {
        RECORD: json.dumps(record, indent=1, ensure_ascii=False) + "\n",
        **rendered(record, pages),
    }.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text)
        print(path)
    return 0
