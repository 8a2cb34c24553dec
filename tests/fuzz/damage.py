"""What happens to bytes: by accident, or on purpose."""

from .rounds import pick

#: What JSON and headers are made of.
WORDS = [b"0", b"9", b"-", b"1e3", b'"', b"[", b"}", b"null", b",", b"\\u0000", b"\\ud800", b"\xff", b"../"]


def flipped(rng, raw):
    """Return the bytes with one bit changed."""
    raw = bytearray(raw)
    raw[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
    return bytes(raw)


def cut(rng, raw):
    """Return the bytes without their end."""
    return raw[: int(rng.integers(len(raw)))]


def overwritten(rng, raw):
    """Return the bytes with a stretch of them replaced by zeros or noise."""
    at, size = int(rng.integers(len(raw))), int(rng.integers(1, 1 + len(raw) // 2))
    size = min(size, len(raw) - at)
    return raw[:at] + pick(rng, [bytes(size), rng.bytes(size)]) + raw[at + size :]


def mutated(rng, raw):
    """Return the bytes with a few of them changed, taken out, doubled, moved, or replaced by words."""
    raw = bytearray(raw)
    for _ in range(rng.integers(1, 4)):
        at, size = int(rng.integers(len(raw) or 1)), int(rng.integers(1, 30))
        kind = rng.integers(6)
        if kind == 0:
            del raw[at:]
        elif kind == 1:
            del raw[at : at + size]
        elif kind == 2:
            raw[at:at] = raw[at : at + size]
        elif kind == 3:
            raw[at:at] = rng.bytes(size)
        elif kind == 4:
            raw[at : at + 1] = pick(rng, WORDS)
        elif raw:
            raw[at] ^= 1 << int(rng.integers(8))
    return bytes(raw)
