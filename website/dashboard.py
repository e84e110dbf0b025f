"""A picture of Dask's dashboard while kernels run on two workers, for docs/cluster.md: `make dashboard`.

The site shows build/dashboard.png where the page has a comment `<!-- picture: dashboard -->`.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from website.screenshots import PATIENCE_S, browser

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "build" / "dashboard.png"
MARK = "<!-- picture: dashboard -->"
SHOWN = "![The dashboard of Dask while kernels run on two workers](dashboard.png)"
SIZE = (1280, 800)
DRAWING_MS = 6000
"""How long the page draws before the picture is taken."""


def work(client: Any, ended: threading.Event) -> None:
    """Keep two workers busy: a stencil over the chunks of a matrix, and its sum."""
    import dask.array as da
    import numpy as np

    import anyzero as az

    smooth = az.elementwise("y = sqrt(x * x + 1)")
    while not ended.is_set():
        x = az.cluster.to_device(da.random.random((2048, 2048), chunks=256).astype(np.float32))
        for _ in range(4):
            x = az.cluster.map(smooth, x, depth=1)
        x.sum().compute()
        del x


def shoot(program: str, address: str, target: Path) -> None:
    """One picture of a page that never stops loading."""
    with tempfile.TemporaryDirectory() as folder:
        options = [
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--timeout={DRAWING_MS}"),
            *(f"--user-data-dir={folder}/profile", f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={target}"),
        ]
        run = subprocess.run(
            [program, *options, address], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    if not target.exists():
        sys.exit(f"error: {program} took no picture of the dashboard:\n{run.stderr[-2000:]}")


def main() -> int:
    program = browser()
    missing = [name for name in ("distributed", "bokeh") if importlib.util.find_spec(name) is None]
    if program is None or missing:
        reason = f"there is no {missing[0]}; pip install 'dask[diagnostics]'" if missing else "there is no browser"
        print(f"SKIPPED: no picture of the dashboard, because {reason}", file=sys.stderr)
        return 0
    from distributed import Client

    import anyzero as az

    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.unlink(missing_ok=True)
    ended = threading.Event()
    with az.cluster.LocalZeroCluster(topology="cpu:tiles=2") as cluster, Client(cluster) as client:
        busy = threading.Thread(target=work, args=(client, ended))
        busy.start()
        try:
            shoot(program, client.dashboard_link, PICTURE)
        finally:
            ended.set()
            busy.join()
    print(f"{PICTURE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
