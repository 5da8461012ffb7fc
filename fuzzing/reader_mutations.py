"""Damage done to files: bytes, numbers, lines and what is inside archives. Everything follows from the generator."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
INTEGERS = (0, 1, 2, 7, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 10**9, 10**12, 2**53 + 1, 2**62,
            2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
TOKENS = (b"-1", b"0", b"1000000000", b"4294967296", b"9223372036854775807", b"1" + b"0" * 30, b"nan", b"inf", b"-inf",
          b"1e400", b"1e-400", b"1_0", b"=1+1", b"+1", b"@x", b"", b" ", b"x", b"NA", b"\x00", b"\xff\xfe", b"\xc3\x28",
          b'"', b'"a,b"', b"'", b"#", b"%", b"0x10", b"1,5", b"1;5", b"9" * 5000, b"a" * 3000, b"9007199254740993",
          b"-9007199254740993", b"\xe2\x80\xae", b"</script>", b"0.5", b"1.5e3", b"true", b"null", b"{}",
          b"[]")  # fmt: skip
ENDS = (b"\n", b"\r\n", b"\r", b"\n\n", b"\n\r", b"\x0b", b"\x0c", b"\xe2\x80\xa8")


def _place(data: bytes, rng: Rng) -> int:
    """Beginnings and ends of files say most about them."""
    edge = min(len(data), 64)
    if edge and rng.random() < 0.4:
        return int(rng.integers(edge)) if rng.random() < 0.5 else len(data) - 1 - int(rng.integers(edge))
    return int(rng.integers(len(data) + 1))


def truncate(data: bytes, rng: Rng) -> bytes:
    return data[: _place(data, rng)]


def flip(data: bytes, rng: Rng) -> bytes:
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        if out:
            out[min(_place(data, rng), len(out) - 1)] ^= 1 << int(rng.integers(8))
    return bytes(out)


def overwrite_integer(data: bytes, rng: Rng) -> bytes:
    at = _place(data, rng)
    form = str(rng.choice(["<B", "<H", "<I", "<Q", ">I", ">Q"]))
    width = struct.calcsize(form)
    value = int(INTEGERS[int(rng.integers(len(INTEGERS)))]) % (1 << 8 * width)
    if rng.random() < 0.3:
        value = (1 << 8 * width) - 1 - value
    return data[:at] + struct.pack(form, value) + data[at + width :]


def remove(data: bytes, rng: Rng) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + int(rng.integers(1, 40)) :]


def repeat(data: bytes, rng: Rng) -> bytes:
    at, length = _place(data, rng), int(rng.integers(1, 200))
    return data[:at] + data[at : at + length] * int(rng.integers(2, 5)) + data[at + length :]


def noise(data: bytes, rng: Rng) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.bytes(int(rng.integers(1, 64))) + data[at + int(rng.integers(64)) :]


def zeros(data: bytes, rng: Rng) -> bytes:
    at, length = _place(data, rng), int(rng.integers(1, 100))
    return data[:at] + b"\x00" * len(data[at : at + length]) + data[at + length :]


def replace_token(data: bytes, rng: Rng) -> bytes:
    found = list(re.finditer(rb"[^\s,;:=(){}<>\[\]\"']+", data[:200_000]))
    if not found:
        return data + TOKENS[int(rng.integers(len(TOKENS)))]
    match = found[int(rng.integers(len(found)))]
    return data[: match.start()] + TOKENS[int(rng.integers(len(TOKENS)))] + data[match.end() :]


def line_ends(data: bytes, rng: Rng) -> bytes:
    parts = data.split(b"\n")
    ends = [b"\n" if rng.random() < 0.7 else ENDS[int(rng.integers(len(ENDS)))] for _ in parts[:-1]]
    return b"".join(part + end for part, end in zip(parts, [*ends, b""], strict=True))


def byte_order_mark(data: bytes, rng: Rng) -> bytes:
    mark = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")[int(rng.integers(3))]
    return mark + (data if rng.random() < 0.5 else data.decode("latin-1").encode("utf-16-le"))


def shuffle_lines(data: bytes, rng: Rng) -> bytes:
    lines = data.split(b"\n")
    first, second = (int(rng.integers(len(lines))) for _ in range(2))
    lines[first], lines[second] = lines[second], lines[first]
    if rng.random() < 0.3:
        del lines[int(rng.integers(len(lines)))]
    return b"\n".join(lines)


def long_line(data: bytes, rng: Rng) -> bytes:
    cell = TOKENS[int(rng.integers(len(TOKENS)))][:8]
    mark = (b",", b"\t", b" ", b";", b"")[int(rng.integers(5))]
    at = _place(data, rng)
    return data[:at] + (cell + mark) * int(rng.integers(1, 100_000)) + data[at:]


BYTES = (truncate, flip, overwrite_integer, remove, repeat, noise, zeros)
TEXT = (truncate, flip, remove, repeat, replace_token, replace_token, replace_token, line_ends, byte_order_mark,
        shuffle_lines, long_line)  # fmt: skip


def damaged_bytes(data: bytes, rng: Rng, ways: tuple[Callable[[bytes, Rng], bytes], ...] = BYTES) -> bytes:
    for _ in range(int(rng.integers(1, 4))):
        data = ways[int(rng.integers(len(ways)))](data, rng)
    return data


def damaged_text(data: bytes, rng: Rng) -> bytes:
    return damaged_bytes(data, rng, TEXT)


def damaged_gzip(data: bytes, rng: Rng) -> bytes:
    if rng.random() < 0.3:
        return damaged_bytes(data, rng)
    return gzip.compress(damaged_text(gzip.decompress(data), rng), 1, mtime=0)


def damaged_zip(data: bytes, rng: Rng) -> bytes:
    """One member damaged and the archive made good again: its checksums would notice anything else."""
    if rng.random() < 0.2:
        return damaged_bytes(data, rng)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    names = sorted(members)
    chosen = names[int(rng.integers(len(names)))]
    fate = rng.random()
    if fate < 0.1:
        del members[chosen]
    elif fate < 0.2:
        members[chosen] = members[names[int(rng.integers(len(names)))]]
    elif fate < 0.6:
        members[chosen] = damaged_npy(members[chosen], rng)
    else:
        members[chosen] = damaged_bytes(members[chosen], rng)
    return zipped(members, int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])))


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return out.getvalue()


DESCRIPTIONS = ("<f8", ">f8", "<f4", "<f2", "|b1", "<i8", "<u8", "<i4", "|O", "<c16", "<U5", "|S0", "<U0", "|S9",
                "<M8[ns]",
                "|V8", "f8", "x", "", "<f16", "<f999999999999", "[('a', '<f8')]", "<i2", "|u1", "\\x00")  # fmt: skip
SHAPES = ("(2, 1000000000)", "(1000000000, 1000000000)", "(-2, 3)", "(0, 5)", "(5, 0)", "()", "(3,)", "(2, 3, 4)",
          "(3, 4)",
          "(4, 3)", "(18446744073709551616, 1)", "(2L, 3L)", "2, 3", "(1e3, 2)", "(((((((2,)))))))", "(2, 'x')",
          "(9223372036854775807, 9223372036854775807)", "(0, 4611686018427387905)", "(1,) * 9")  # fmt: skip


def damaged_npy(data: bytes, rng: Rng) -> bytes:
    """A header that declares something else."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        return damaged_bytes(data, rng)
    length = struct.unpack("<H", data[8:10])[0]
    header, body = data[10 : 10 + length].decode("latin-1"), data[10 + length :]
    if rng.random() < 0.5:
        description = DESCRIPTIONS[int(rng.integers(len(DESCRIPTIONS)))]
        quoted = description if description.startswith("[") else f"'{description}'"
        header = re.sub(r"'descr': '[^']*'", lambda _: f"'descr': {quoted}", header)
    if rng.random() < 0.5:
        header = re.sub(r"\([^)]*\)", lambda _: SHAPES[int(rng.integers(len(SHAPES)))], header)
    if rng.random() < 0.2:
        header = header.replace("False", "True")
    if rng.random() < 0.2:
        header = damaged_text(header.encode("latin-1"), rng)[:60_000].decode("latin-1")
    version = int(rng.choice([1, 1, 1, 2, 3, 9]))
    packed = header.encode("utf-8" if version == 3 else "latin-1", "replace")
    start = b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(packed))
    return start + packed + body


def damaged_json(data: bytes, rng: Rng) -> bytes:
    """One value of a document replaced by another kind of value."""
    document = json.loads(data)
    holder, key = document, None
    while isinstance(holder, dict | list) and holder:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = keys[int(rng.integers(len(keys)))]
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < 0.3:
            break
        holder = holder[key]
    values = [None, -1, 0, 10**9, 2**63, 10**30, 1.5, "", "x", "pickle", [], {}, [-1, 2], [0, 0], [10**9, 10**9],
              True, "<f4",
              "|O", [[[[]]]], "../../x", "\x00"]  # fmt: skip
    if key is not None:
        holder[key] = values[int(rng.integers(len(values)))]
    return json.dumps(document).encode()


def with_digest(text: bytes) -> bytes:
    """A checkpoint's index whose checksum fits, whatever it says."""
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text + b"\n"
