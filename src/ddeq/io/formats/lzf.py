"""LZF decompression, the compression of PCD's ``binary_compressed`` data."""

from __future__ import annotations


def decompress(data: bytes, size: int) -> bytes:
    """Undo LZF.

    The stream is a chain of two kinds of step: a control byte c < 32 copies the next c + 1
    bytes; any other c repeats earlier output, of length (c >> 5) + 2 (when c >> 5 is 7 the next
    byte is added to it), found ((c & 31) << 8) + next byte + 1 bytes back.

    Args:
        data: the compressed bytes.
        size: how many bytes must come out.

    Raises:
        ValueError: the stream is damaged or gives another size.
    """
    out = bytearray()
    at, end = 0, len(data)
    try:
        while at < end and len(out) <= size:
            control = data[at]
            at += 1
            if control < 32:
                out += data[at : at + control + 1]
                at += control + 1
                continue
            length = control >> 5
            if length == 7:
                length += data[at]
                at += 1
            back = ((control & 31) << 8) + data[at] + 1
            at += 1
            _repeat(out, back, length + 2)
    except IndexError:
        raise ValueError("the compressed data stops in the middle") from None
    if at > end or len(out) != size:
        raise ValueError("the compressed data does not give the promised number of bytes")
    return bytes(out)


def _repeat(out: bytearray, back: int, length: int) -> None:
    """Append `length` bytes from `back` bytes ago; the copy may run into itself."""
    if back > len(out):
        raise ValueError("the compressed data refers to bytes before its start")
    start = len(out) - back
    if back >= length:
        out += out[start : start + length]
    else:
        pattern = bytes(out[start:])
        out += (pattern * (length // back + 1))[:length]
