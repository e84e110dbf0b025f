"""All clients, in the order of the table."""

from __future__ import annotations

from typing import Final

from clients.client import Client
from clients.sycl import DPCTL, DPNP

__all__ = ["CLIENTS"]

CLIENTS: Final[tuple[Client, ...]] = (DPCTL, DPNP)
