"""``python -m anyzero.driver > file`` writes the description of this machine, for C programs that run without Python.

``--anywhere FILE`` writes one that is true on any machine; the build puts it beside the library.
``--show`` prints it for people, ``--docs`` prints ``docs/environment.md``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from anyzero import config
from anyzero.driver import docs
from anyzero.driver.devices import boot, show


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m anyzero.driver", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="print the description as text")
    what.add_argument("--anywhere", metavar="FILE", type=Path, help="write a description that fits any machine")
    what.add_argument("--docs", action="store_true", help="print the page about environment variables")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.docs:
            sys.stdout.write(docs.environment())
        elif chosen.anywhere:
            chosen.anywhere.write_bytes(boot.anywhere())
        elif chosen.show:
            sys.stdout.write(show.text(boot.current()))
        elif sys.stdout.isatty():
            parser.error("the description is binary: send it to a file (> file), or read it with --show")
        else:
            sys.stdout.buffer.write(boot.describe())
    except config.ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
