"""The code of a documentation page, and what the page says that it prints.

`python -m tests.examples.pages --python PYTHON` runs the code of all pages with another Python, one into which the
package was installed, each in an empty folder.
"""

from __future__ import annotations

import argparse
import doctest
import json
import re
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.examples.running import ROOT, account, run

PAGES = sorted([ROOT / "README.md", ROOT / "examples" / "README.md", *(ROOT / "docs").rglob("*.md")])

NEEDS = {"npu.md": "openvino", "ci.md": "pytest"}
"""Pages whose code needs another package, by its name."""
_BLOCK = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# Runs blocks one after another in one namespace, as a reader would, and tells what each printed.
_RUNNER = """
import contextlib, io, json, linecache, sys, traceback
space = {"__name__": "page"}
told = []
given = json.load(sys.stdin)
# Kernels in Python are compiled from their source, which is looked for where tracebacks look for it.
lines = [""] * max((line + text.count("\\n") for line, text in given), default=0)
for line, text in given:
    lines[line:line + text.count("\\n")] = text.splitlines(keepends=True)
linecache.cache[sys.argv[1]] = (sum(map(len, lines)), None, [each or "\\n" for each in lines], sys.argv[1])
for line, text in given:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile("\\n" * line + text, sys.argv[1], "exec"), space)
        except BaseException:
            traceback.print_exc()
            sys.exit(1)
    told.append(out.getvalue())
sys.stdout.write(json.dumps(told))
"""


@dataclass(frozen=True)
class Block:
    line: int
    language: str
    variables: dict[str, str]
    text: str
    expected: str | None


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page. A `text` block right behind a block of code is what that code prints."""
    source = page.read_text()
    found: list[Block] = []
    end = -1
    for match in _BLOCK.finditer(source):
        language, *words = shlex.split(match["info"]) or [""]
        if language == "text" and found and source[end : match.start()].strip() == "":
            before = found[-1]
            found[-1] = Block(before.line, before.language, before.variables, before.text, match["text"])
        else:
            line = source.count("\n", 0, match.start()) + 1
            found.append(Block(line, language, dict(word.split("=", 1) for word in words), match["text"], None))
        end = match.end()
    return found


def sessions(page: Path) -> list[list[Block]]:
    """The page's Python, cut where a block names environment variables: that one starts a process of its own."""
    cut: list[list[Block]] = [[]]
    for block in blocks(page):
        if block.language == "python":
            if block.variables:
                cut.append([])
            cut[-1].append(block)
    return [session for session in cut if session]


def failures(page: Path, session: list[Block], python: str = sys.executable) -> str:
    """What is wrong with a session; empty when it runs, in an empty folder, and prints what the page says."""
    # By its whole path, so that Python finds the lines of a kernel in the page.
    command = [python, "-W", "error", "-c", _RUNNER, str(page)]
    given = json.dumps([(block.line, block.text) for block in session])
    with tempfile.TemporaryDirectory() as folder:
        result = run(command, session[0].variables, given=given, folder=Path(folder))
    if result.returncode != 0:
        return account(result)
    wrong = []
    for block, printed in zip(session, json.loads(result.stdout), strict=True):
        if block.expected is not None and not doctest.OutputChecker().check_output(block.expected, printed, _OPTIONS):
            wrong.append(f"{page.name}:{block.line} prints\n{printed}\nbut the page says\n{block.expected}")
    return "\n".join(wrong)


def missing(page: Path, python: str = sys.executable) -> str | None:
    """The package that a page needs and that Python lacks."""
    needed = NEEDS.get(page.name)
    return needed if needed and run([python, "-c", f"import {needed}"]).returncode else None


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.examples.pages", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python to run the code with")
    python = shutil.which(parser.parse_args().python) or sys.exit("error: there is no such Python")
    # Not resolved: the link is what makes a virtual environment.
    python = str(Path(python).absolute())
    found = run([python, "-c", "import anyzero; print(anyzero.__file__)"], folder=Path(tempfile.gettempdir()))
    if found.returncode != 0:
        print(f"error: {python} has no anyzero:\n{found.stderr}", file=sys.stderr)
        return 1
    print(f"the package: {found.stdout.strip()}")
    wrong = 0
    for page in PAGES:
        if lacking := missing(page, python):
            print(f"NOT TESTED: {page.relative_to(ROOT)}, which needs {lacking}")
            continue
        reports = [report for session in sessions(page) if (report := failures(page, session, python))]
        if reports:
            print(f"FAILED {page.relative_to(ROOT)}", *reports, sep="\n")
        wrong += len(reports)
    print(f"{sum(len(sessions(page)) for page in PAGES)} sessions of {len(PAGES)} pages, {wrong} failed")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
