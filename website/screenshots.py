"""Screenshots of the site in a headless browser, at the widths of a desktop and of a phone: `make screenshots`.

Each page is shown in a frame of that width, because a browser's own window cannot be as narrow as a phone. The frame of
the phone is enlarged to fill the window, as on its screen with two pixels to a point.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "build" / "site"
FOLDER = ROOT / "build" / "screenshots"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SIZES = {"desktop": (1280, 1600, 1), "phone": (390, 1200, 2)}
"""Width and height in points, and pixels to a point."""
PAGES = (
    *("index", "ten-minutes", "tutorial", "api", "language", "command-line", "environment", "checking", "tracing"),
    *("concepts", "performance", "from-cuda", "comparison", "troubleshooting", "examples", "examples/nbody"),
    *("architecture", "reference/contexts", "coverage"),
)
PATIENCE_S = 120


def browser() -> str | None:
    """A Chromium of this machine, by any of its names; CHROMIUM names another."""
    names = (os.environ["CHROMIUM"],) if "CHROMIUM" in os.environ else BROWSERS
    return next((found for name in names if (found := shutil.which(name))), None)


def shoot(program: str, page: Path, size: tuple[int, int, int], target: Path) -> None:
    """One picture of one page."""
    width, height, scale = size
    with tempfile.TemporaryDirectory() as folder:
        frame = Path(folder, "frame.html")
        style = f"border:0;width:{width}px;height:{height}px;transform:scale({scale});transform-origin:0 0"
        frame.write_text(f'<body style="margin:0"><iframe src="{page.as_uri()}" style="{style}"></iframe></body>')
        options = [
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"),
            *(f"--user-data-dir={folder}/profile", f"--window-size={width * scale},{height * scale}"),
            *("--virtual-time-budget=3000", f"--screenshot={target}"),
        ]
        run = subprocess.run(
            [program, *options, frame.as_uri()], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    if not target.exists():
        sys.exit(f"error: {program} took no picture of {page.name}:\n{run.stderr[-2000:]}")


def main() -> int:
    program = browser()
    if program is None:
        print("SKIPPED: no screenshots, because there is no browser; on Debian: apt install chromium", file=sys.stderr)
        return 0
    missing = [name for name in PAGES if not (SITE / f"{name}.html").is_file()]
    if missing:
        print(f"error: the site has no page {', '.join(missing)}; make docs builds it", file=sys.stderr)
        return 1
    shutil.rmtree(FOLDER, ignore_errors=True)
    for kind, size in SIZES.items():
        for name in sys.argv[1:] or PAGES:
            target = FOLDER / kind / f"{name.replace('/', '-')}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            shoot(program, SITE / f"{name}.html", size, target)
    print(f"{len(list(FOLDER.rglob('*.png')))} screenshots in {FOLDER.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
