"""docs/clients.md, from the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from clients import place
from clients.client import Client, Known, Side
from clients.results import Results

__all__ = ["render", "write"]

PAGE = place.ROOT / "docs" / "clients.md"
Found = Callable[[Client, Side], Results]

OPENING = """# Clients

Third-party programs on this driver. `make clients` fetches them from PyPI, runs their tests here and on a peer, and
writes this page. A difference is a test that passes on the peer and fails here; each has a reason below, or
`make clients` fails.

| client | versions | tests | peer | passed | failed | skipped | peer: passed | failed | skipped | differences |
|---|---|---|---|---|---|---|---|---|---|---|
"""


def write(clients: Sequence[Client], found: Found) -> None:
    PAGE.write_text(render(clients, found))
    print(f"written: {PAGE.relative_to(place.ROOT)}")


def render(clients: Sequence[Client], found: Found) -> str:
    rows, notes = [], []
    for client in clients:
        ours = found(client, client.ours)
        peer = found(client, client.peer) if client.peer else None
        name = client.peer.name if client.peer else "–"
        if not ours.complete or (peer and not peer.complete):
            rows.append(f"| {client.name} | | {client.title} | {name} | not run | | | | | | |")
            continue
        if not peer:
            rows.append(f"| {client.name} | {_versions(client)} | {client.title} | – | {_cells(ours)} | | | | |")
            continue
        differences = client.differences(ours, peer)
        rows.append(
            f"| {client.name} | {_versions(client)} | {client.title} | {name} "
            f"| {_cells(ours)} | {_cells(peer)} | {len(differences)} |"
        )
        notes.extend(_notes(client, differences))
    text = OPENING + "\n".join(rows) + "\n"
    if notes:
        text += "\n## Differences\n\n| client | tests | why |\n|---|---|---|\n" + "\n".join(notes) + "\n"
    return text


def _versions(client: Client) -> str:
    python = place.BUILD / client.environment / "bin" / "python"
    return ", ".join(f"{package} {place.version(python, package)}" for package in client.version_of)


def _cells(results: Results) -> str:
    counts = results.counts
    return f"{counts['passed']} | {counts['failed'] + counts['crashed']} | {counts['skipped']}"


def _notes(client: Client, differences: dict[str, Known | None]) -> list[str]:
    counted = Counter(differences.values())
    return [
        f"| {client.name} | {number} | {known.why if known else '**unknown**'} |"
        for known, number in counted.most_common()
    ]
