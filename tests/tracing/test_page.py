"""The page of a recording in a headless Chromium: it loads without errors, zooms, searches and shows details.

A second script behind the page's own does what a user does, and leaves what it sees in the document.
"""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anyzero as az
from tests.patience import PATIENCE
from website.screenshots import browser, shoot

STEPS = """
<script>
const seen = { errors: window.failures };
const pixels = () => {
  let sum = 0;
  for (const byte of pen.getImageData(0, 0, canvas.width, canvas.height).data) sum = (sum * 31 + byte) | 0;
  return sum;
};
seen.tracks = data.tracks.map(t => t.title);
seen.counters = data.counters.map(c => c.title);
seen.tables = [...document.querySelectorAll("h2")].map(h => h.textContent);
const span = () => to - from;
draw();
const whole = span(), before = pixels();
const box = canvas.getBoundingClientRect();
const pointer = { clientX: box.left + box.width / 3, clientY: box.top + 40 };
canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -1, cancelable: true, ...pointer }));
seen.zoomed = span() / whole;
seen.redrawn = pixels() !== before;
const held = from + (to - from) / 3;
seen.keeps_the_place_under_the_pointer = Math.abs(held - whole / 3) < whole / 100;
document.getElementById("all").click();
seen.whole_again = span() === whole && pixels() === before;
search.value = "DOUBLE"; search.dispatchEvent(new Event("input"));
seen.found = found.textContent;
seen.dimmed = pixels() !== before;
document.getElementById("next").click();
seen.first = found.textContent;
seen.details = document.getElementById("about").textContent;
seen.inside = chosen && from <= chosen[START] && chosen[START] + chosen[LENGTH] <= to;
search.value = "no such thing"; search.dispatchEvent(new Event("input"));
seen.nothing = found.textContent;
document.body.insertAdjacentHTML("beforeend", "<pre id='seen'></pre>");
document.getElementById("seen").textContent = JSON.stringify(seen);
</script>
"""
CATCH = "<script>window.failures = []; addEventListener('error', e => failures.push(e.message));</script>"


@az.kernel
def double(x: az.ptr[az.f32]) -> None:
    i = az.global_id(0)
    x[i] = x[i] + x[i]


@pytest.fixture(scope="module")
def chromium() -> str:
    found = browser()
    if found is None:
        pytest.skip("NOT TESTED: there is no Chromium to show the page in; on Debian: apt install chromium")
    return found


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "trace.html"
    with az.device().context() as ctx:
        x = ctx.to_device(np.ones(4096, np.float32))
        double[4096](x)
        with az.trace(path):
            for _ in range(3):
                double[4096](x)
            x.copy_to()
            ctx.zeros(1000, np.float32)
    return path


def look(chromium: str, page: Path, folder: Path) -> dict[str, Any]:
    text = page.read_text()
    changed = folder / "looked_at.html"
    changed.write_text(text.replace("<head>", f"<head>{CATCH}", 1).replace("</body>", f"{STEPS}</body>"))
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--dump-dom")
    done = subprocess.run(
        [chromium, *options, "--window-size=1200,800", changed.as_uri()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    left = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.DOTALL)
    assert left is not None, done.stdout[-2000:] + done.stderr[-2000:]
    found: dict[str, Any] = json.loads(html.unescape(left[1]))
    return found


def test_the_page_loads_zooms_and_searches(chromium: str, page: Path, tmp_path: Path) -> None:
    seen = look(chromium, page, tmp_path)
    assert seen["errors"] == []
    assert any("queue" in title for title in seen["tracks"])
    assert {"memory: device", "commands in flight"} <= set(seen["counters"])
    assert {"Commands", "Calls", "Source lines of calls"} <= set(seen["tables"])
    assert seen["zoomed"] == pytest.approx(0.8)
    assert seen["redrawn"]
    assert seen["keeps_the_place_under_the_pointer"]
    assert seen["whole_again"]
    assert seen["found"] == "3 found"
    assert seen["dimmed"]
    assert seen["first"] == "1 of 3"
    assert "double   (command)" in seen["details"]
    assert "work-items: 4096" in seen["details"]
    assert seen["inside"]
    assert seen["nothing"] == "0 found"


def test_a_picture_of_the_page_can_be_taken(chromium: str, page: Path, tmp_path: Path) -> None:
    picture = tmp_path / "timeline.png"
    shoot(chromium, page, (800, 600, 1), picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000  # more than an empty page
