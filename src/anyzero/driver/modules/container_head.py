"""The head of a container, for callers that pass containers on without decoding them."""

from __future__ import annotations

from anyzero.layouts.container_head import CONTAINER_HEAD_BYTES, CONTAINER_MAGIC, ContainerHead, KernelFlag

__all__ = ["fits_groups", "looks_whole"]


def looks_whole(data: bytes) -> bool:
    """Whether it has the magic number of a container and the length it states. The contents are not checked."""
    if len(data) < CONTAINER_HEAD_BYTES:
        return False
    head = ContainerHead.unpack(data)
    return head.magic == CONTAINER_MAGIC and head.total_bytes == len(data)


def fits_groups(data: bytes) -> bool:
    """Whether code for groups of one size may be faster than that of this container, which is whole."""
    return bool(ContainerHead.unpack(data).flags & KernelFlag.FITS_GROUPS)
