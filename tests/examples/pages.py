"""The code of a documentation page runs, in an empty folder, and prints what the page says.

`python -m tests.examples.pages --python PYTHON` runs the code of all pages with another Python, one into which the
package was installed.
"""

from __future__ import annotations

import argparse
import doctest
import functools
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from tests.examples.blocks import FILES, PAGES, PYTHON, SHELL, Block, blocks
from tests.examples.running import ROOT, account, run

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


def has_code(page: Path) -> bool:
    return any(block.runs and block.language in PYTHON | SHELL for block in blocks(page))


def sessions(page: Path) -> list[list[Block]]:
    """The page's Python, cut where a block names environment variables: that one starts a process of its own.

    So do the blocks that need the same module: they follow one another, whatever is between them.
    """
    code = [block for block in blocks(page) if block.language in PYTHON and block.runs and not block.title]
    cut: list[list[Block]] = []
    for needed in sorted({block.needs for block in code}):
        cut.append([])
        for block in code:
            if block.needs == needed:
                if block.variables:
                    cut.append([])
                cut[-1].append(block)
    return [session for session in cut if session]


def failures(page: Path, python: str = sys.executable) -> list[str]:
    """What is wrong with the code of a page; empty when it runs, in an empty folder, and prints what the page says."""
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for block in blocks(page):
            if block.title and block.runs:
                (folder / block.title).write_text(block.text)
        for session in sessions(page):
            if not lacking(session[0], python):
                wrong += python_failures(page, session, python, folder)
        for block in blocks(page):
            if block.language in SHELL and block.runs and not lacking(block, python):
                wrong += _shell_failures(page, block, python, folder)
    return wrong


def not_tested(page: Path, python: str = sys.executable) -> list[str]:
    """The blocks of a page that do not run with this Python, and why."""
    told = []
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if not block.runs:
            told.append(f"{where} {' '.join(block.marker)}")
        elif block.language in PYTHON | SHELL and (missing := lacking(block, python)):
            told.append(f"{where} needs {missing}")
    return told


def lacking(block: Block, python: str) -> str:
    """What a block needs and this machine lacks."""
    if block.needs and not _importable(block.needs, python):
        return block.needs
    words = set(re.findall(r"\b(cc|cmake|pkg-config) ", block.setup + block.text)) if block.language in SHELL else set()
    if "$PROGRAM" in block.setup:
        words.add("cc")
    return ", ".join(sorted(word for word in words if not shutil.which(word, path=_path(python))))


@functools.cache
def _importable(module: str, python: str) -> bool:
    return run([python, "-c", f"import {module}"]).returncode == 0


def python_failures(page: Path, session: list[Block], python: str, folder: Path) -> list[str]:
    # By its whole path, so that Python finds the lines of a kernel in the page.
    # Dask warns of a slow disk, by the clock.
    slow = "ignore:Creating scratch directories is taking:UserWarning"
    command = [python, "-W", "error", "-W", slow, "-c", _RUNNER, str(page)]
    given = json.dumps([(block.line, block.text) for block in session])
    result = run(command, session[0].variables, given=given, folder=folder)
    if result.returncode != 0:
        return [f"{page.name}:{session[0].line} fails: {account(result)}"]
    told = zip(session, json.loads(result.stdout), strict=True)
    return [wrong for block, printed in told if (wrong := _difference(page, block, printed))]


def _difference(page: Path, block: Block, printed: str) -> str:
    if block.expected is None or doctest.OutputChecker().check_output(block.expected, printed, _OPTIONS):
        return ""
    return f"{page.name}:{block.line} prints\n{printed}\nbut the page says\n{block.expected}"


def _shell_failures(page: Path, block: Block, python: str, folder: Path) -> list[str]:
    commands, sample = block.text, []
    if block.language == "console":
        lines = block.text.splitlines()
        commands = "\n".join(line[2:] for line in lines if line.startswith("$ "))
        sample = [line for line in lines if not line.startswith("$ ")]
    if block.setup:
        variables = {"PROGRAM": str(_program(python))} if "$PROGRAM" in block.setup else {}
        made = run(["sh", "-e", "-c", block.setup], {**variables, "PATH": _path(python)}, folder=folder)
        if made.returncode != 0:
            return [f"the setup of {page.name}:{block.line} fails: {account(made)}"]
    variables = {"PATH": _path(python), "GITHUB_ENV": str(folder / "github-env"), **block.variables}
    result = run(["sh", "-e", "-c", commands], variables, folder=folder)
    if result.returncode != 0:
        return [f"{page.name}:{block.line} fails: {account(result)}"]
    printed = set(map(_label, result.stdout.splitlines()))
    absent = [line for line in sample if _label(line) not in printed]
    if absent:
        return [f"{page.name}:{block.line} prints\n{result.stdout}\nwithout lines like\n" + "\n".join(absent)]
    wrong = _difference(page, block, result.stdout)
    return [wrong] if wrong else []


def _label(line: str) -> str:
    """The first column of a line. The rest of a sample differs between machines; numbers do everywhere."""
    if line.startswith(" " * 10):  # continues the line before
        return ""
    return re.sub(r"[\d.]+", "0", re.split(r"\s{2,}", line.lstrip(" ✓–!✗"))[0])


def _path(python: str) -> str:
    return f"{Path(python).parent}:{os.environ['PATH']}"


@functools.cache
def _program(python: str) -> Path:
    """The program of docs/c-programs.md, for commands that need any program; it does not know where the loader is."""
    folder = Path(tempfile.mkdtemp(prefix="anyzero-program-"))
    (block,) = (block for block in blocks(ROOT / "docs" / "c-programs.md") if block.title == "program.c")
    (folder / "program.c").write_text(block.text)
    compiled = run(
        ["sh", "-e", "-c", "cc program.c $(anyzero config --cflags --libs) -o program"],
        {"PATH": _path(python)},
        folder=folder,
    )
    assert compiled.returncode == 0, account(compiled)
    return folder / "program"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.examples.pages", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the Python to run the code with")
    parser.add_argument("pages", nargs="*", type=Path, help="only these")
    options = parser.parse_args()
    python = shutil.which(options.python) or sys.exit("error: there is no such Python")
    # Not resolved: the link is what makes a virtual environment.
    python = str(Path(python).absolute())
    # Several pages run pytest, whose plugin is part of the package.
    asked = [python, "-c", "import anyzero, pytest; print(anyzero.__file__)"]
    found = run(asked, folder=Path(tempfile.gettempdir()))
    if found.returncode != 0:
        print(f"error: {python} needs anyzero and pytest:\n{found.stderr}", file=sys.stderr)
        return 1
    print(f"the package: {found.stdout.strip()}")
    wrong = 0
    pages = [path.resolve() for path in options.pages] or PAGES
    for page in pages:
        for line in not_tested(page, python):
            print(f"NOT TESTED: {line}")
        reports = failures(page, python)
        if reports:
            print(f"FAILED {page.relative_to(ROOT)}", *reports, sep="\n")
        wrong += len(reports)
    code = [block for page in pages for block in blocks(page) if block.language in PYTHON | SHELL | FILES]
    print(f"{len(code)} blocks of code on {len(pages)} pages, {sum(block.runs for block in code)} run, {wrong} failed")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
