"""`az.check`: check mode for a part of a Python program."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from anyzero import errors
from anyzero.api.library import LIBRARY_PATH
from anyzero.checking import finding, formats
from anyzero.checking.finding import Finding
from anyzero.checking.rules import KINDS
from anyzero.own_folder import OwnFolder
from anyzero.ze import source_lines

__all__ = ["USUAL", "CheckError", "check"]

USUAL: Final = ("memory", "sync", "strict")
"""The checks where none is named."""
_STOP: Final = 1 << 16
_BUSY: Final = 16


class CheckError(errors.Error, AssertionError):
    """The mistakes that `az.check` found, in `findings`."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(formats.as_text(findings).rstrip())
        self.findings = findings


class check:  # noqa: N801
    """Check kernels and calls while the block runs, and raise `az.CheckError` at its end if there are mistakes.

        >>> import anyzero as az, numpy as np
        >>> with az.check(), az.device().context() as ctx:
        ...     x = ctx.to_device(np.ones(1000, np.float32))

    `kinds` are some of "memory", "sync", "strict", "races" and "init", or "all"; without any, the first three. Kernels
    are checked if their modules are created in the block. With `stop`, a kernel ends at its first mistake. With
    `raises=False`, see `findings` after the block.
    """

    def __init__(self, *kinds: str, stop: bool = False, raises: bool = True) -> None:
        unknown = [kind for kind in kinds if kind not in (*KINDS, "all")]
        if unknown:
            raise ValueError(f"az.check: there is no check {unknown[0]!r}; there are {', '.join(KINDS)}, and all")
        chosen = KINDS if "all" in kinds else set(kinds or USUAL)
        self._bits = sum(KINDS[kind] for kind in chosen) | (_STOP if stop else 0)
        self._raises = raises
        self._folder: OwnFolder | None = None
        self.findings: list[Finding] = []
        """The mistakes, once the block has ended."""

    def __enter__(self) -> Self:
        self._folder = OwnFolder("anyzero-check-")
        library = _library()
        source_lines.tell(library)
        begin = library.zexCheckStart
        begin.argtypes = ctypes.c_uint32, ctypes.c_char_p
        number = begin(self._bits, os.fsencode(self._file))
        if number:
            self._folder.remove()
            busy = "checks are on already, by another az.check or by `anyzero check`"
            raise errors.Unavailable(
                f"az.check: {busy if number == _BUSY else os.strerror(number)}",
                remedy="End the other one first." if number == _BUSY else "Look at TMPDIR, where findings are kept.",
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trail: TracebackType | None
    ) -> None:
        assert self._folder is not None
        _library().zexCheckStop()
        if not self._folder.own:
            return  # a forked child: the findings are its parent's
        self.findings = list(finding.read(self._file))
        complete = finding.is_complete(self._file)
        self._folder.remove()
        if not complete and error is None:
            raise errors.Unavailable(
                "az.check: there was no room for some of the mistakes", remedy="Look at TMPDIR, where they are kept."
            )
        if not self.findings or not self._raises:
            return
        if error is None:
            raise CheckError(self.findings)
        # The error in the block may be a consequence of the findings.
        error.add_note(formats.as_text(self.findings).rstrip())

    @property
    def _file(self) -> Path:
        assert self._folder is not None
        return self._folder.path / "findings.jsonl"


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(LIBRARY_PATH))
