"""A picture of Dask's dashboard while kernels run on two workers, for docs/cluster.md: part of `make pictures`."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from website.pictures import FOLDER
from website.screenshots import PATIENCE_S, ROOT, browser

PICTURE = FOLDER / "dashboard.png"
SIZE = (1280, 800)
DRAWING_S = 25
"""How long the page draws before the picture is taken."""


class _Slow(BaseHTTPRequestHandler):
    """An image that takes its time: the browser takes its picture when everything has loaded."""

    def do_GET(self) -> None:
        time.sleep(DRAWING_S)
        self.send_response(404)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def work(client: Any, ended: threading.Event) -> None:
    """Keep two workers busy: a stencil over the chunks of a matrix, and its sum."""
    import dask.array as da
    import numpy as np

    import anyzero as az

    smooth = az.elementwise("y = math.sqrt(x * x + 1)")
    # With pauses: the scheduler that draws the page is in this process.
    while not ended.wait(1):
        x = az.cluster.to_device(da.random.random((1024, 1024), chunks=256).astype(np.float32))
        for _ in range(4):
            x = az.cluster.map(smooth, x, depth=1)
        x.sum().compute()
        del x


def shoot(program: str, address: str, target: Path) -> None:
    """One picture of a page that draws itself after it has loaded, beside something that loads longer."""
    with tempfile.TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), _Slow) as slow:
        threading.Thread(target=slow.serve_forever, daemon=True).start()
        frame = Path(folder, "frame.html")
        style = f"border:0;width:{SIZE[0]}px;height:{SIZE[1]}px"
        image = f'<img style="display:none" src="http://127.0.0.1:{slow.server_port}/">'
        frame.write_text(f'<body style="margin:0"><iframe src="{address}" style="{style}"></iframe>{image}</body>')
        options = [
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *(f"--user-data-dir={folder}/profile", f"--window-size={SIZE[0]},{SIZE[1]}", f"--screenshot={target}"),
        ]
        run = subprocess.run(
            [program, *options, frame.as_uri()], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        slow.shutdown()
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

    PICTURE.parent.mkdir(parents=True, exist_ok=True)
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
