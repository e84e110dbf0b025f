"""Translates the conditions of the specification, such as `0 == desc->count`, to C++."""

from __future__ import annotations

import re

from codegen.model import Function, Rule

_TOKEN = re.compile(r"->\s*\w+|\b[A-Za-z_]\w*\b")
_DEREFERENCE = re.compile(r"\b(\w+)\s*->|\*\s*(\w+)\b")
_MODULO = re.compile(r"%\s*(\w+)")


def condition(function: Function, rule: Rule) -> str | None:
    """The C++ condition under which `rule` fails, or None for prose and for what is about more than the parameters."""
    match = re.fullmatch(r"`([^`]+)`", rule.text.strip())
    if match is None or not re.fullmatch(r"ZE_RESULT_\w*ERROR_\w+", rule.result):
        return None
    text = match[1]
    params = {param.name: param for param in function.params}
    names = {token for token in _TOKEN.findall(text) if not token.startswith("->")}
    if not names <= {*params, "nullptr"} or not re.search(r"[=<>!]", text):
        return None
    for divisor in _MODULO.findall(text):
        text = f"{divisor} == 0 || {text}"
    for pointer in sorted({arrow or star for arrow, star in _DEREFERENCE.findall(text)} & set(params)):
        if params[pointer].optional and params[pointer].pointer:
            text = f"{pointer} && ({text})"
    return text
