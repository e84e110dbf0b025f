"""The head of a container, for those who pass containers on without a look inside."""

from __future__ import annotations

from anyzero.layouts.container_head import CONTAINER_HEAD_BYTES, CONTAINER_MAGIC, ContainerHead, KernelFlag

__all__ = ["fits_groups", "looks_whole"]


def looks_whole(data: bytes) -> bool:
    """Has it the magic number of a container and the length it states? The contents are not checked."""
    if len(data) < CONTAINER_HEAD_BYTES:
        return False
    head = ContainerHead.unpack(data)
    return head.magic == CONTAINER_MAGIC and head.total_bytes == len(data)


def fits_groups(data: bytes) -> bool:
    """May code for groups of one size be faster than that of this container, which is whole?"""
    return bool(ContainerHead.unpack(data).flags & KernelFlag.FITS_GROUPS)
