"""The README as package indexes show it: nothing in it leads nowhere."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest

from anyzero.tools import pages
from tests.shape.tree import ROOT


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)]*)\)", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def package_page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package_page", ROOT / "wheel" / "package_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_name_pages_of_the_package(package_page: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROJECT_URL", raising=False)
    text = package_page.dynamic_metadata("readme", {})["text"]
    assert links(text) == []
    assert "<!-- " not in text
    named = set(re.findall(r"`anyzero docs ([a-z-]+)`", text))
    assert {"ten-minutes", "limits"} <= named <= pages.topics().keys()
    assert package_page.dynamic_metadata("urls", {}) == {}


def test_links_lead_to_the_repository(package_page: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROJECT_URL", "https://host.example/owner/anyzero/")
    text = package_page.dynamic_metadata("readme", {})["text"]
    found = links(text)
    assert len(found) > 20
    assert all(link.startswith("https://host.example/owner/anyzero/") for link in found)
    paths = [re.sub(r".*/(?:blob|raw)/main/|#.*", "", link) for link in found]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert package_page.dynamic_metadata("urls", {})["Repository"] == "https://host.example/owner/anyzero"
