"""A picture of Dask's dashboard while kernels run on two workers, for docs/cluster.md: part of `make pictures`."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from website.pictures import FOLDER
from website.screenshots import PATIENCE_S, ROOT, browser

PICTURE = FOLDER / "dashboard.png"
SIZE = (1280, 800)
DRAWN = """
new Promise(resolve => {
  const look = () => {
    const documents = globalThis.Bokeh ? Bokeh.documents : [];
    const models = documents.flatMap(each => [...each.all_models]);
    const tasks = models.some(each => each.type === "ColumnDataSource" && each.data.duration?.length);
    tasks && documents.every(each => each.is_idle) ? resolve(true) : requestAnimationFrame(look);
  };
  look();
})
"""
"""Is fulfilled when the page shows tasks and has nothing left to draw."""


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


class _Page:
    """A page of a browser, through the protocol of its developer tools."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._session, self._sent = socket, {}, 0
        self._events: list[str] = []

    async def open(self, address: str) -> None:
        made = await self.ask("Target.createTarget", url="about:blank")
        attached = await self.ask("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self._session = {"sessionId": attached["sessionId"]}
        screen = {"width": SIZE[0], "height": SIZE[1], "deviceScaleFactor": 1, "mobile": False}
        await self.ask("Emulation.setDeviceMetricsOverride", **screen)
        await self.ask("Page.enable")
        self._events.clear()
        await self.ask("Page.navigate", url=address)
        while "Page.loadEventFired" not in self._events:
            await self._read()

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters, **self._session}
        await self._socket.write_message(json.dumps(message))
        while (answer := await self._read()).get("id") != self._sent:
            pass
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    async def _read(self) -> dict[str, Any]:
        text = await self._socket.read_message()
        if text is None:
            raise RuntimeError("the browser has ended")
        message = json.loads(text)
        self._events.append(message.get("method", ""))
        return message


async def _picture(tools: str, address: str) -> bytes:
    from tornado.websocket import websocket_connect

    page = _Page(await websocket_connect(tools, max_message_size=1 << 28))
    await page.open(address)
    found = await page.ask("Runtime.evaluate", expression=DRAWN, awaitPromise=True)
    if "exceptionDetails" in found:
        raise RuntimeError(found["exceptionDetails"]["text"])
    return base64.b64decode((await page.ask("Page.captureScreenshot"))["data"])


def shoot(program: str, address: str, target: Path) -> None:
    """One picture of a page that draws itself after it has loaded, when it has."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options = [
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-port=0"),
            f"--user-data-dir={folder}/profile",
        ]
        command = [program, *options, "about:blank"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
            assert running.stderr is not None
            said = ""
            try:
                for line in running.stderr:
                    said += line
                    if line.startswith("DevTools listening on "):
                        # What else it says is read, so that it does not wait for a reader.
                        threading.Thread(target=running.stderr.read, daemon=True).start()
                        taking = _picture(line.split()[-1], address)
                        target.write_bytes(asyncio.run(asyncio.wait_for(taking, PATIENCE_S)))
                        break
            finally:
                running.terminate()
    if not target.exists():
        sys.exit(f"error: {program} took no picture of the dashboard:\n{said[-2000:]}")


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
