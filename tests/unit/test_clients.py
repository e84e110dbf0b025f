"""`make clients`: results that survive their processes, differences, and the page made of them."""

from __future__ import annotations

import sys
from pathlib import Path

from clients import drive, page, results
from clients.client import Client, Known, Side
from clients.results import Results

# Dies in its second case, the first time and the second time alike.
PROGRAM = """
import json, os, pathlib, sys
record = pathlib.Path(os.environ["RECORD"])
done = [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []
done = {each["id"] for each in done if "outcome" in each}
with record.open("a", buffering=1) as file:
    note = lambda **entry: file.write(json.dumps(entry) + "\\n")
    note(total=3)
    for name in ("a", "b", "c"):
        if name not in done:
            note(begin=name)
            if name == "b":
                print("the end", flush=True)
                os.abort()
            note(id=name, outcome="passed")
    note(end=True)
"""


def side(name: str) -> Side:
    return Side(name, lambda python, count: ([str(python)], {}))


def client(known: tuple[Known, ...] = ()) -> Client:
    return Client("some", "some tests", "", (), (), (), side("anyzero"), side("another"), 0, 0, known)


def test_a_run_goes_on_behind_the_test_that_ends_its_process(tmp_path: Path) -> None:
    found = drive.drive([sys.executable, "-c", PROGRAM], tmp_path / "some.jsonl", "some", {})
    assert found.outcomes == {"a": "passed", "b": "crashed", "c": "passed"}
    assert found.complete
    assert "the end" in found.details["b"]


def test_results_of_a_killed_process_are_read_up_to_its_last_line(tmp_path: Path) -> None:
    record = tmp_path / "some.jsonl"
    results.write(record, total=2)
    results.write(record, begin="a")
    results.write(record, id="a", outcome="skipped")
    results.write(record, begin="b")
    with record.open("a") as file:
        file.write('{"id": "b", "outc')
    found = results.read(record)
    assert (found.outcomes, found.running, found.complete) == ({"a": "skipped"}, "b", False)


def test_a_difference_is_what_the_peer_passes_and_we_do_not() -> None:
    ours = Results({"a": "failed", "b": "crashed", "c": "failed", "d": "passed"}, {"a": "no FFT", "b": "", "c": ""})
    peer = Results({"a": "passed", "b": "passed", "c": "failed", "d": "failed"})
    reason = Known("a", "There is none.", detail="FFT")
    assert client((reason,)).differences(ours, peer) == {"a": reason, "b": None}


def test_the_page_has_a_row_for_each_client_and_a_line_for_each_reason() -> None:
    ours = Results({"a": "failed", "b": "passed"}, {"a": "no FFT"}, complete=True)
    peer = Results({"a": "passed", "b": "skipped"}, complete=True)
    some = client((Known("a", "There is none.", detail="FFT"),))
    text = page.render([some], lambda _, side: ours if side is some.ours else peer)
    assert "| some |  | some tests | another | 1 | 1 | 0 | 1 | 0 | 1 | 1 |" in text
    assert "| some | 1 | There is none. |" in text
    assert "not run" in page.render([some], lambda _, side: Results())
