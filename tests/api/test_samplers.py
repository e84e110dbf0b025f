"""Samplers as objects; what kernels see through them is a matter of tests/kernels."""

from __future__ import annotations

import pytest

import anyzero as az


def test_a_sampler_remembers_what_it_is(ctx: az.Context) -> None:
    with ctx.sampler(address="mirror", filter="linear", normalized=True) as sampler:
        assert (sampler.address, sampler.filter, sampler.normalized) == ("mirror", "linear", True)
        assert sampler.context is ctx
        assert repr(sampler) == "<Sampler mirror linear normalized>"
    assert sampler.closed
    assert "closed" in repr(sampler)


def test_unknown_words_are_refused(ctx: az.Context) -> None:
    with pytest.raises(ValueError, match="address='wrap'"):
        ctx.sampler(address="wrap")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="filter='cubic'"):
        ctx.sampler(filter="cubic")  # type: ignore[arg-type]
