"""The reference from docstrings: read from the source, so that nothing has to be built to make it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
PUBLIC = ("anyzero/api/public.py", "anyzero/language/public.py")

THEMES = {
    "devices": ("Devices", ("selection", "driver", "device", "properties", "headers", "openvino", "sycl")),
    "contexts": ("Contexts and memory", ("context", "buffer", "local", "virtual_memory")),
    "commands": (
        "Lists, queues and events",
        ("command_list", "immediate", "queue", "fence", "event", "event_pool", "completion", "command_graph"),
    ),
    "modules": ("Modules and kernels", ("module", "kernel")),
    "images": ("Images and samplers", ("image", "image_format", "sampler")),
    "graphs": ("Graphs", ("graph", "graph_argument", "graph_command", "graph_profiler")),
    "errors": ("Errors", ("errors", "config")),
    "language": ("Language", ()),
}
"""Pages by the modules whose public names they hold. The last one takes all others."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def reference_pages() -> dict[str, tuple[str, str]]:
    """Title and text of each page, by its name in the site."""
    homes: dict[str, list[tuple[str, str]]] = {theme: [] for theme in THEMES}
    for module, name in public_names():
        last = module.rpartition(".")[2]
        inside = [theme for theme, (_, modules) in THEMES.items() if last in modules and ".language" not in module]
        homes[(inside or ["language"])[0]].append((module, name))
    pages = {}
    for theme, names in homes.items():
        title = THEMES[theme][0]
        entries = [text for module, name in names if (text := entry(module, name))]
        pages[f"reference/{theme}.md"] = (
            title,
            f"# {title}\n\nGenerated from the docstrings; all names are attributes of `anyzero`.\n\n"
            + "\n".join(entries),
        )
    return pages


def public_names() -> list[tuple[str, str]]:
    """The modules and the public names that they define."""
    text = "".join((SOURCE / part).read_text() for part in PUBLIC)
    return [(module, name) for module, name in re.findall(r"^from (\S+) import (\w+) as", text, re.MULTILINE)]


def entry(module: str, name: str) -> str:
    """What the page says of a name; nothing for one that has no definition of its own with a docstring."""
    found = definition(module, name)
    if found is None:
        return ""
    _, node = found
    if isinstance(node, ast.ClassDef):
        parts = [f"## {name}\n", prose(node)]
        parts += [member(each) for each in members(module, node)]
        return "\n".join(parts)
    return f"## {name}\n\n{signature(node)}\n\n{prose(node)}"


@cache
def tree(module: str) -> ast.Module:
    path = SOURCE / module.replace(".", "/")
    return ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())


def definition(module: str, name: str) -> tuple[str, ast.ClassDef | Function] | None:
    """Where a class or function is defined, through imports of the package."""
    for node in tree(module).body:
        if isinstance(node, ast.ClassDef | Function) and node.name == name:
            return module, node
    for node in tree(module).body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("anyzero"):
            for alias in node.names:
                if (alias.asname or alias.name) == name and node.module.count("."):
                    return definition(node.module, alias.name)
    return None


def members(module: str, node: ast.ClassDef) -> Iterator[Function]:
    """Public methods and properties with a docstring, its own and those of its bases; a name comes once."""
    seen: set[str] = set()
    classes = [(module, node)]
    while classes:
        home, current = classes.pop(0)
        for each in current.body:
            if not isinstance(each, Function) or each.name.startswith("_") or each.name in seen:
                continue
            if ast.get_docstring(each):
                seen.add(each.name)
                yield each
        for base in current.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base  # of a generic class
            found = definition(home, plain.id) if isinstance(plain, ast.Name) else None
            if found and isinstance(found[1], ast.ClassDef):
                classes.append((found[0], found[1]))


def member(node: Function) -> str:
    kinds = {ast.unparse(each) for each in node.decorator_list}
    if "property" in kinds or any(kind.endswith("cached_property") for kind in kinds):
        returned = f": {ast.unparse(node.returns)}" if node.returns else ""
        head = f"### `{node.name}{returned}`"
    else:
        head = f"### `{node.name}()`\n\n{signature(node)}"
    return f"{head}\n\n{prose(node)}"


def signature(node: Function) -> str:
    arguments = ast.unparse(node.args)
    parts = [part for part in split(arguments) if part not in ("self", "cls", "/")]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{node.name}({', '.join(parts)}){returned}"
    if len(line) > 88:
        line = f"{node.name}(\n    " + ",\n    ".join(parts) + f",\n){returned}"
    return f"```python\n{line}\n```"


def split(arguments: str) -> list[str]:
    """The arguments one by one: a comma inside of brackets separates none."""
    parts, depth = [""], 0
    for character in arguments:
        depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def prose(node: ast.ClassDef | Function) -> str:
    """A docstring as Markdown: examples become blocks of code."""
    lines, inside = [], False
    for line in inspect.cleandoc(ast.get_docstring(node) or "").splitlines():
        if line.startswith(">>> ") and not inside:
            lines += ["", "```pycon"]
            inside = True
        elif not line and inside:
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines) + "\n"
