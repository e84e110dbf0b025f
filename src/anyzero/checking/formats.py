"""Findings for people and for programs: text, JSON, and SARIF, which GitHub shows beside the line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from anyzero.checking.finding import Finding, Frame
from anyzero.checking.rules import RULES

__all__ = ["FORMATS", "as_json", "as_sarif", "as_text", "summary"]


def summary(findings: Sequence[Finding]) -> str:
    """The numbers of findings by kind, in one line."""
    if not findings:
        return "no mistakes found"
    kinds: dict[str, int] = {}
    for each in findings:
        kinds[each.rule.name] = kinds.get(each.rule.name, 0) + 1
    listed = ", ".join(f"{count} {name}" for name, count in sorted(kinds.items()))
    return f"{len(findings)} mistake{'s' if len(findings) > 1 else ''}: {listed}"


def as_text(findings: Sequence[Finding]) -> str:
    """All findings as text."""
    return "\n\n".join([*map(str, findings), summary(findings)]) + "\n"


def as_json(findings: Sequence[Finding]) -> str:
    """All findings as a JSON list of objects."""
    return json.dumps([_object(each) for each in findings], indent=2) + "\n"


def _object(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule.name,
        "kind": finding.rule.kind,
        "message": finding.message,
        "count": finding.count,
        "kernel": finding.kernel,
        "work_item": finding.work_item,
        "stack": [vars(frame) for frame in finding.stack],
        "memory": finding.memory,
        "other": finding.other,
        "call": finding.call,
        "caller": finding.caller,
        "says": finding.rule.says,
        "fix": finding.rule.fix,
    }


def as_sarif(findings: Sequence[Finding]) -> str:
    """SARIF 2.1.0, the format of code scanning."""
    rules = [
        {
            "id": rule.name,
            "shortDescription": {"text": rule.says},
            "help": {"text": rule.fix},
            "properties": {"kind": rule.kind},
        }
        for rule in RULES.values()
    ]
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "anyzero check", "rules": rules}},
                "results": [_result(each) for each in findings],
            }
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def _result(finding: Finding) -> dict[str, Any]:
    parts = (finding.message, finding.work_item and f"work-item {finding.work_item}", finding.memory, finding.other)
    result: dict[str, Any] = {
        "ruleId": finding.rule.name,
        "level": "warning" if finding.rule.kind == "strict" else "error",
        "message": {"text": "; ".join(filter(None, parts)) + f". {finding.rule.fix}"},
        "occurrenceCount": finding.count,
    }
    if finding.place is not None:
        result["locations"] = [_location(finding.place)]
    if finding.stack:
        result["stacks"] = [
            {
                "message": {"text": f"in kernel {finding.kernel}"},
                "frames": [{"location": _location(frame)} for frame in reversed(finding.stack)],
            }
        ]
    return result


def _location(frame: Frame) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(frame.line, 1)}
    if frame.text:
        region["snippet"] = {"text": frame.text}
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(frame.file)}, "region": region},
        "logicalLocations": [{"name": frame.function}],
    }


def _uri(file: str) -> str:
    """The path from the root of the repository, as code scanning requires it, if the file lies there; else a URI."""
    path, root = Path.cwd() / file, _root()
    if ".." in path.parts:
        path = path.resolve()
    return quote(path.relative_to(root).as_posix()) if path.is_relative_to(root) else path.as_uri()


def _root() -> Path:
    """The root of the repository that the working directory is in; the working directory itself where it is in none."""
    own = Path.cwd()
    return next((each for each in (own, *own.parents) if (each / ".git").exists()), own)


FORMATS = {"text": as_text, "json": as_json, "sarif": as_sarif}
