"""engine/check/gen/rules.h and src/anyzero/checking/rules.py: the rules of check mode."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

from codegen.outputs import Output, hashes, slashes

_HEADER = """
#pragma once

#include <cstdint>

namespace anyzero {

enum class CheckKind : uint32_t {
%s
};

enum class Rule : uint32_t {
%s
};

struct RuleText {
  const char* name;
  CheckKind kind;
  const char* says;
  const char* fix;
};

inline constexpr RuleText kRules[] = {
%s
};

inline const RuleText& text_of(Rule rule) { return kRules[static_cast<uint32_t>(rule)]; }

}  // namespace anyzero
"""

_PYTHON = '''
"""The rules of check mode."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["KINDS", "RULES", "Rule"]


class Rule(NamedTuple):
    """The rule that a report is about, and the fix."""

    name: str
    kind: str
    says: str
    fix: str


KINDS: Final = {
%s
}
"""The checks, and the bit of each in the engine."""

RULES: Final = {
    rule.name: rule
    for rule in (
%s
    )
}
'''
KINDS = ("memory", "sync", "strict", "races", "init")


def outputs(path: Path) -> Iterator[Output]:
    rules = tomllib.loads(path.read_text())["rule"]
    for rule in rules:
        if rule["kind"] not in KINDS:
            raise ValueError(f"{path}: {rule['name']} is of no kind: {rule['kind']}")
    kinds = "\n".join(f"  {_camel(kind)} = {1 << index}," for index, kind in enumerate(KINDS))
    names = "\n".join(f"  {_camel(rule['name'])}," for rule in rules)
    texts = "\n".join(
        f'    {{"{rule["name"]}", CheckKind::{_camel(rule["kind"])}, {json.dumps(rule["says"])}, '
        f"{json.dumps(rule['fix'])}}},"
        for rule in rules
    )
    yield Output("engine/check/gen/rules.h", slashes() + _HEADER % (kinds, names, texts))
    bits = "\n".join(f'    "{kind}": {1 << index},' for index, kind in enumerate(KINDS))
    rows = "\n".join(_row(rule) for rule in rules)
    yield Output("src/anyzero/checking/rules.py", hashes() + _PYTHON % (bits, rows))


def _row(rule: dict[str, str]) -> str:
    fields = ",\n".join(f"            {json.dumps(rule[field])}" for field in ("name", "kind", "says", "fix"))
    return f"        Rule(\n{fields},\n        ),"


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("-"))
