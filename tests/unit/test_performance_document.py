"""docs/performance.md, its figures and the README say what the committed record says; no time is judged here."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.kernels import goals
from benchmarks.kernels.program import LAUNCH
from benchmarks.kernels.programs import PROGRAMS
from benchmarks.kernels.published import PUBLISHED
from benchmarks.kernels.shapes import SHAPES
from benchmarks.performance import document, tables
from benchmarks.performance.chart import Bar, Linear, Log, chart
from benchmarks.performance.record import Incomplete, Record, sets, updated
from benchmarks.sources import ROOT

HINT = "run `python -m benchmarks --figures docs/performance/kernels.json`"


def committed() -> Record:
    record: Record = json.loads((ROOT / document.RECORD).read_text())
    return record


def kernels(**changes: object) -> Record:
    """What `python -m benchmarks --kernels` writes, with made-up times."""

    def one(best: float) -> Record:
        return {"best": best, "median": best, "samples": [best], "first": 1.0, "trouble": "", "missing": False}

    programs = [
        {
            "key": each.key,
            "title": each.title,
            "limit": each.limit,
            "disturbed": False,
            "ours_divided_by": {
                "Intel": 0.5,
                "PoCL": 0.25,
                "best OpenCL": 0.5,
                "C++": 1.25,
                "C++ fast": 2,
                "best C++": 2,
            },
            "found": {"anyzero": one(1e6), "Intel": one(2e6), "PoCL": one(4e6), "C++": one(8e5), "C++ fast": one(5e5)},
        }
        for each in PROGRAMS
    ]
    about = {"CPU": "Some CPU", "cores": 2, "memory": "24 GiB", "instruction set": "AVX2", "date": "2026-01-02"}
    peers = {name: f"{name} 1.0" for name in ("anyzero", "Intel", "PoCL", "C++", "C++ fast")}
    return {"machine": about, "size": "full", "peers": peers, "skipped": {}, "programs": programs} | changes


def shapes() -> Record:
    family = {
        "key": "multiply",
        "title": "matmul",
        "knows": False,
        "disturbed": False,
        "spread": {"anyzero": 1.1, "Intel": 4.0},
        "odd": {"anyzero": 1.25, "C++": 1.5},
        "best_to_best": 0.1,
        "worst_to_worst": 0.05,
        "worst_shape": "1021, no group",
        "highest": 0.75,
        "lowest": 0.02,
        "to_blas": 2.5,
    }
    known = {"title": "smooth", "knows": True, "spread": {"anyzero": 1.9}, "small_to_large": 1.15}
    return {"families": [family, family | known], "shapes": [{"key": each.program.key} for each in SHAPES]}


def published() -> Record:
    return {
        "titles": [each.title for each in PUBLISHED],
        "quotients": {"best OpenCL": [0.25, 1.0, 4.0], "best C++": []},
        "geometric_mean": {"best OpenCL": 1.0, "best C++": None},
        "disturbed": False,
        "failed": [],
    }


def scaled(threads: int, gain: float) -> Record:
    """What `python -m benchmarks --source scale` writes."""
    item = {
        "key": "scale_hash",
        "title": "integer hash × 32",
        "threads": threads,
        "at_least": 0.9 * threads,
        "gain": {str(threads): gain},
        "gain_native": 1.9,
        "disturbed": False,
        "found": {"1 thread": {"best": 8e6, "samples": [8e6]}},
    }
    return {"machine": {"CPU": "Some CPU", "cores": threads, "date": "2026-01-02"}, "items": [item], "quick": False}


def test_pages_and_figures_are_those_of_the_record() -> None:
    pages = {path: (ROOT / path).read_text() for path in document.PAGES}
    made = document.rendered(committed(), pages)
    for path, text in made.items():
        assert (ROOT / path).read_text() == text, f"{path} is not what the record says; {HINT}"
    figures = {path for path in made if path.suffix == ".svg"}
    assert {path.relative_to(ROOT) for path in (ROOT / document.FOLDER).glob("*.svg")} == figures


def test_every_section_and_figure_is_shown() -> None:
    page, readme = ((ROOT / path).read_text() for path in document.PAGES)
    shown = {name for text in (page, readme) for name, *_ in document.SECTION.findall(text)}
    assert shown == tables.SECTIONS.keys()
    for path in (ROOT / document.FOLDER).glob("*.svg"):
        assert f"({document.FOLDER.name}/{path.name})" in page


def test_the_record_is_of_programs_that_there_are_and_has_no_samples() -> None:
    known = {each.key for each in PROGRAMS}
    for _, part in sets(committed()):
        assert {each["key"] for each in part["programs"]} <= known
    assert "samples" not in (ROOT / document.RECORD).read_text()


def test_a_measurement_becomes_tables() -> None:
    record = updated({}, kernels())
    (label, part), *_ = sets(record)
    assert label == "AVX2"
    assert part["machine"] == {"CPU": "Some CPU", "cores": 2, "memory": "24 GiB", "instruction set": "AVX2"}
    text = tables.SECTIONS["verdicts"](record)
    assert "| integer hash × 32 | ≤ 1 | ≤ 1.3 | 1.00 ms | 0.50 ✓ | 2.00 ✗ |" in text
    assert "| **geometric mean** | ≤ 0.67 | ≤ 1 |  | 0.50 ✓ | 2.00 ✗ |" in text
    assert "| anyzero's time ÷ another's | AVX2 |" in tables.SECTIONS["summary"](record)
    launches = [each.title for each in PROGRAMS if each.limit == LAUNCH]
    assert all(title in tables.SECTIONS["launches"](record) for title in launches)
    assert not any(title in text for title in launches)


def test_instruction_sets_stand_beside_each_other() -> None:
    wide = kernels()
    wide["machine"] |= {"instruction set": "AVX-512"}
    wide["programs"][0]["ours_divided_by"]["best OpenCL"] = 2.0
    record = updated(updated({}, kernels()), wide)
    assert [label for label, _ in sets(record)] == ["AVX-512", "AVX2"]
    summary = tables.SECTIONS["summary"](record)
    assert "| anyzero's time ÷ another's | AVX-512 | AVX2 |" in summary
    assert "| slower than the best OpenCL | 1 of 25 | 0 of 25 |" in summary
    assert "| saxpy | ≤ 1 | ≤ 1.3 | 1.00 ms | 2.00 ✗ | 2.00 ✗ | 1.00 ms | 0.50 ✓ | 2.00 ✗ |" in tables.SECTIONS[
        "verdicts"
    ](record)
    assert {path.name for path in document.rendered(record, {})} == {
        f"{name}-{label}.svg" for name in ("opencl", "native") for label in ("avx-512", "avx2")
    }
    assert "opencl-avx2.svg" in tables.SECTIONS["overview"](record)


def test_shapes_and_the_held_out_suite_become_tables() -> None:
    measured = kernels(shapes=shapes(), published=published())
    del measured["programs"]
    record = updated(updated({}, kernels()), measured)
    row = "| matmul | 1.10 ✓ | – | 4.00 | – | 1.25 | 1.50 | 0.10 | 0.05 | 0.75 (1021, no group) |"
    assert row in tables.SECTIONS["shapes"](record)
    assert "| smooth | 1.90 | 1.15 ✓ | – |" in tables.SECTIONS["shapes"](record)
    assert "2.50 times as long as BLAS (goal ≤ 2 ✗)" in tables.SECTIONS["shapes"](record)
    text = tables.SECTIONS["published"](record)
    assert "| best OpenCL, AVX2 | **1.00** | 1 of 3 | 0.25, 1.00, 4.00 |" in text
    assert "| held-out programs slower than the best OpenCL | 1 of 3 |" in tables.SECTIONS["summary"](record)
    for part, of in (("shapes", {"families": [], "shapes": []}), ("published", published() | {"titles": []})):
        with pytest.raises(Incomplete):
            updated({}, kernels(**{part: of}))


def test_a_part_keeps_its_figures_and_its_date_when_others_are_measured() -> None:
    first = updated({}, kernels())
    assert "held-out" not in tables.SECTIONS["summary"](first)
    measured = kernels(published=published())
    del measured["programs"]
    measured["machine"] |= {"date": "2026-03-04"}
    record = updated(first, measured)
    text = tables.SECTIONS["summary"](record)
    assert "Some CPU, 2026-01-02." in tables.SECTIONS["summary"](first)
    assert "Some CPU; programs: 2026-01-02; held-out programs: 2026-03-04." in text
    assert "| held-out programs slower than the best OpenCL | 1 of 3 |" in text
    assert "| slower than the best OpenCL | 0 of 25 |" in text


def test_a_failure_is_shown() -> None:
    measured = kernels()
    measured["programs"][0]["found"]["Intel"] |= {"best": None, "trouble": "wrong"}
    record = updated({}, measured)
    assert "| saxpy | 1.00 ms | failed | 4.00 ms |" in tables.SECTIONS["times"](record)


@pytest.mark.parametrize("changes", [{"size": "quick"}, {"programs": []}, {"quick": True}])
def test_half_a_measurement_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(Incomplete):
        updated({}, kernels(**changes))


def test_machines_stand_beside_each_other() -> None:
    record = updated(updated(updated({}, scaled(16, 12.0)), scaled(2, 1.5)), scaled(2, 1.95))
    assert [each["threads"] for each in record["scale"]] == [2, 16]
    text = tables.SECTIONS["scale"](record)
    assert "| integer hash × 32 | 8.00 ms | 1.95 | ≥ 1.8 ✓ | 1.90 |" in text
    assert "≥ 14.4 ✗" in text
    assert set(document.rendered(record | updated({}, kernels()), {})) == {
        document.FOLDER / name for name in ("opencl-avx2.svg", "native-avx2.svg", "scale-2.svg", "scale-16.svg")
    }


def test_files_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(document, "ROOT", tmp_path)
    (tmp_path / document.FOLDER).mkdir(parents=True)
    for path in document.PAGES:
        (tmp_path / path).write_text("# Title\n<!-- begin: summary -->\nold\n<!-- end: summary -->\nkept\n")
    (tmp_path / "measured.json").write_text(json.dumps(kernels()))
    (tmp_path / "other.json").write_text(json.dumps(scaled(2, 1.9)))
    assert document.main([str(tmp_path / "measured.json"), str(tmp_path / "other.json")]) == 0
    page = (tmp_path / document.PAGES[0]).read_text()
    assert "old" not in page
    assert page.startswith("# Title\n<!-- begin: summary -->\nanyzero's time divided by")
    assert page.endswith("<!-- end: summary -->\nkept\n")
    first = {path: path.read_text() for path in tmp_path.rglob("*.*")}
    assert document.main([str(tmp_path / document.RECORD)]) == 0
    assert {path: path.read_text() for path in tmp_path.rglob("*.*")} == first
    assert document.main([str(tmp_path / "none.json")]) == 1
    assert "error: " in capsys.readouterr().err


def texts(svg: str) -> list[str]:
    root = ElementTree.fromstring(svg)
    return ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]


def test_bars_lie_on_their_side_of_the_line() -> None:
    bars = [Bar("fast & small", 0.25, "Intel", mark=0.3), Bar("slow", 4.0), Bar("equal", 1.0)]
    svg = chart("A title", "more", bars, Log((0.25, 4.0)))
    assert {"A title", "more", "fast & small", "0.25 Intel", "4.00", "1"} <= set(texts(svg))
    root = ElementTree.fromstring(svg)
    rows = [each for each in root.iter("{http://www.w3.org/2000/svg}rect") if each.get("class") != "paper"]
    line = next(each for each in root.iter("{http://www.w3.org/2000/svg}line") if each.get("class") == "line")
    one = float(line.get("x1", ""))
    ends = [(float(row.get("x", "")), float(row.get("x", "")) + float(row.get("width", ""))) for row in rows]
    assert [row.get("class") for row in rows] == ["good", "bad", "good"]
    assert ends[0][1] == pytest.approx(one, abs=0.2)
    assert ends[1][0] == pytest.approx(one, abs=0.2)
    # On a logarithmic axis a quarter is as far from one as four is.
    assert one - ends[0][0] == pytest.approx(ends[1][1] - one, abs=0.3)
    assert all(left >= 0 and right <= 760 for left, right in ends)


def test_an_axis_from_zero() -> None:
    svg = chart("Gains", "", [Bar("a", 15.0, mark=14.0), Bar("b", 3.0)], Linear((15.0, 14.0, 3.0), 12.0))
    assert {"0", "4", "8", "12", "16"} <= set(texts(svg))


def test_both_kinds_of_pages_can_be_read() -> None:
    svg = chart("A", "b", [Bar("c", 2.0)], Log((2.0,)))
    assert "prefers-color-scheme: dark" in svg
    assert 'class="paper"' in svg


def test_marks() -> None:
    assert goals.mark(0.3, 0.3) == "≤ 0.3 ✓"
    assert goals.mark(0.31, 0.3) == "≤ 0.3 ✗"
