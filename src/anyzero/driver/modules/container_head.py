"""The head of a container, for those who pass containers on without a look inside."""

from __future__ import annotations

from anyzero.layouts.container import CONTAINER_HEAD_BYTES, CONTAINER_MAGIC, ContainerHead

__all__ = ["looks_whole"]


def looks_whole(data: bytes) -> bool:
    """Has it the magic number of a container and the length it states? The contents are not checked."""
    if len(data) < CONTAINER_HEAD_BYTES:
        return False
    head = ContainerHead.unpack(data)
    return head.magic == CONTAINER_MAGIC and head.total_bytes == len(data)
