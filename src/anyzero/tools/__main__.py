"""``python -m anyzero.tools`` is the `anyzero` command, where no script of that name is installed."""

from __future__ import annotations

import sys

from anyzero.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
