"""Pixels inside a drawing: a PNG that is written by hand, so that the same pixels are the same bytes everywhere.

A library compresses, and each version of it in its own way. The pixels here are stored as they are: a picture has few.
"""

from __future__ import annotations

import base64
import struct
import zlib

from .svg import number
from .values import Values

_GREY, _RGB = 0, 2  # PNG's types of colour
_LONGEST = 0xFFFF  # bytes of a stored block


def png(pixels: Values) -> bytes:
    """A PNG of bytes of shape (rows, columns) for grey, or (rows, columns, 3) for red, green and blue."""
    rows, columns = pixels.shape[:2]
    lines = b"".join(b"\0" + pixels[row].tobytes() for row in range(rows))  # the 0 says: no filter
    header = struct.pack(">IIBBBBB", columns, rows, 8, _GREY if pixels.ndim == 2 else _RGB, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", _stored(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def _stored(content: bytes) -> bytes:
    """In the format of zlib, without compression."""
    starts = range(0, len(content), _LONGEST)
    blocks = [content[start : start + _LONGEST] for start in starts]
    stored = [
        struct.pack("<BHH", at == len(blocks) - 1, len(block), len(block) ^ 0xFFFF) + block
        for at, block in enumerate(blocks)
    ]
    return b"\x78\x01" + b"".join(stored) + struct.pack(">I", zlib.adler32(content))


def image(x: float, y: float, size: tuple[float, float], pixels: Values) -> str:
    """Pixels as squares with sharp edges, in a rectangle by its top left corner."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(size[0])}" height="{number(size[1])}"'
    data = base64.b64encode(png(pixels)).decode()
    style = 'preserveAspectRatio="none" style="image-rendering:pixelated"'
    return f'<image {place} {style} href="data:image/png;base64,{data}"/>'
