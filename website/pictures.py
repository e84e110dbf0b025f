"""Pictures of what tools of the package show, for pages of the site: `make pictures`.

A page names one by a comment, `<!-- picture: timeline: what it shows -->`. The site has the picture where it was made,
which takes a Chromium; otherwise it has none. They are in build/pictures and not under version control.
"""

from __future__ import annotations

import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from website.screenshots import ROOT, browser, shoot

FOLDER = ROOT / "build" / "pictures"
MARK = re.compile(r"^<!-- picture: ([a-z-]+): (.+) -->$", re.MULTILINE)
PATIENCE_S = 300

PROGRAM = """
import numpy as np
import anyzero as az

@az.kernel
def blur(to: az.ptr[az.f32], image: az.ptr[az.f32], n: az.i32) -> None:
    i = az.global_id(0)
    if 0 < i and i < n - 1:
        to[i] = (image[i - 1] + image[i] + image[i + 1]) / 3.0

@az.kernel
def brighten(image: az.ptr[az.f32], by: az.f32) -> None:
    i = az.global_id(0)
    image[i] = image[i] * by

n = 1 << 20
with az.device().context() as ctx:
    a, b = ctx.to_device(np.random.rand(n).astype(np.float32)), ctx.zeros(n, np.float32)
    for _ in range(6):
        blur[n](b, a, n)
        brighten[n](b, 1.1)
        a, b = b, a
    print(a.copy_to().sum())
"""
WRONG = """
import numpy as np
import anyzero as az

@az.kernel
def scale(y: az.ptr[az.f32], x: az.ptr[az.f32], a: az.f32) -> None:
    i = az.global_id(0)
    y[i] = a * x[i]

with az.device().context() as ctx:
    x, y = ctx.to_device(np.ones(100, np.float32)), ctx.zeros(100, np.float32)
    scale[128](y, x, 2.0)
"""
STYLE = "color:#dde;font:15px/1.5 ui-monospace,monospace;padding:1rem 1.2rem;margin:0;white-space:pre-wrap"
TERMINAL = (
    f'<!DOCTYPE html><meta charset="utf-8"><body style="margin:0;background:#1e1e2a"><pre style="{STYLE}">{{}}</pre>'
)


def _anyzero(folder: Path, source: str, *arguments: str) -> str:
    (folder / "program.py").write_text(source.lstrip())
    command = [sys.executable, "-m", "anyzero.tools", *arguments, "--", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    return done.stderr


def timeline(folder: Path) -> tuple[Path, tuple[int, int, int]]:
    """The page of a recording."""
    for _ in range(2):  # the second time from the cache, so that not all of it is compilation
        said = _anyzero(folder, PROGRAM, "trace", "-o", "timeline.html")
    page = folder / "timeline.html"
    if not page.is_file():
        sys.exit(f"error: the program was not recorded:\n{said}")
    return page, (1200, 900, 1)


def report(folder: Path) -> tuple[Path, tuple[int, int, int]]:
    """What check mode says of a wrong program."""
    said = _anyzero(folder, WRONG, "check")
    if "out-of-bounds" not in said:
        sys.exit(f"error: check mode reported no mistake:\n{said}")
    page = folder / "report.html"
    said = said.replace(f"{folder}/", "")
    page.write_text(TERMINAL.format(html.escape(f"$ anyzero check -- python program.py\n{said}")))
    return page, (1200, 420, 1)


PICTURES = {"timeline": timeline, "report": report}


def placed(markdown: str, folder: Path = FOLDER) -> str:
    """A page with the pictures that there are in the place of its comments."""

    def picture(match: re.Match[str]) -> str:
        name, text = match.groups()
        return f"![{text}](pictures/{name}.png)" if (folder / f"{name}.png").is_file() else match[0]

    return MARK.sub(picture, markdown)


def main() -> int:
    program = browser()
    if program is None:
        print("SKIPPED: no pictures, because there is no browser; on Debian: apt install chromium", file=sys.stderr)
        return 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        with tempfile.TemporaryDirectory() as folder:
            shoot(program, *make(Path(folder)), FOLDER / f"{name}.png")
    print(f"{len(PICTURES)} pictures in {FOLDER.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
