"""`python -m codegen` writes every generated file; `--check` names the stale ones and exits 1."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from codegen import project

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m codegen", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when a file is stale")
    check = parser.parse_args(arguments).check

    outputs = project.outputs(ROOT)
    extra = project.leftovers(ROOT, outputs)
    for remark in project.remarks(ROOT):
        print(f"note: {remark}")
    if check:
        stale = [output.path for output in outputs if output.stale(ROOT)] + extra
        for path in stale:
            print(f"stale: {path}")
        return 1 if stale else 0

    written = [output.path for output in outputs if output.write(ROOT)]
    for path in extra:
        (ROOT / path).unlink()
    print(f"{len(outputs)} files, {len(written)} written, {len(extra)} removed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
