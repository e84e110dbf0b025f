"""pytest leaves the package alone: it would rewrite all its modules, because a plugin is among them."""

from __future__ import annotations

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from anyzero.testing import plugin


def test_the_package_is_not_rewritten(pytestconfig: pytest.Config) -> None:
    manager = pytest.PytestPluginManager()
    hook = AssertionRewritingHook(pytestconfig)
    hook.mark_rewrite("anyzero.other", "theirs")
    hook._must_rewrite.add("anyzero")
    manager.rewrite_hook = hook
    plugin.pytest_addoption(pytest.Parser(_ispytest=True), manager)
    assert "anyzero" not in hook._must_rewrite
    assert "theirs" in hook._must_rewrite
