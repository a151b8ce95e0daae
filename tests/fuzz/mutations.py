"""Ways to damage a file."""

import io
import json
import zipfile

import numpy as np

TOKENS = (
    b"\0", b"\r\n", b"\r", b"\n\n", b",", b"\t", b";", b'"', b'""', b"'", b"=cmd|' /C calc'!A0",
    b"@SUM(1)", b"\xff\xfe", b"\xef\xbb\xbf", b"\x85", b"\x0c", b"\xe2\x80\xa8", b"\x1c",
    "²".encode(), "१२".encode(), b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"1_000", b"0x10",
    b"NA", b"1,5", b"9" * 5000, b"-", b"../../x", b"\x1b[2J", b"{", b"[" * 50,
    b"\xf0\x9f\x98\x80", b"PK\x01\x02", b"PK\x03\x04", b"\x93NUMPY", b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x80", b"\x7f\xff\xff\xff", b"#1.3", b"#1.2", b"999999999", b" " * 300,
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-7", "cp037")
VALUES = (
    None, True, -1, 0, 1, 2**63, 10**400, -0.5, 1e308, "", "x", "inf", [], {}, [[]],
    {"array": "array_0"}, {"float": "nan"}, {"tuple": []}, {"dict": {}}, {"names": ["a"]},
    {"sparse": {}}, {"Subspace": {}},
)  # fmt: skip


def mutate(content: bytes, random: np.random.Generator) -> bytes:
    """The file with one to four kinds of damage."""
    for _ in range(int(random.integers(1, 5))):
        content = WAYS[random.integers(len(WAYS))](content, random)
    return content


def _place(content, random):
    return int(random.integers(len(content) + 1))


def _span(content, random):
    first = _place(content, random)
    return first, min(first + int(random.integers(1, 2 ** random.integers(1, 10))), len(content))


def _flip(content, random):
    damaged = bytearray(content)
    for _ in range(int(random.integers(1, 9))):
        if damaged:
            damaged[random.integers(len(damaged))] ^= int(random.integers(1, 256))
    return bytes(damaged)


def _cut(content, random):
    return content[: _place(content, random)]


def _drop(content, random):
    first, last = _span(content, random)
    return content[:first] + content[last:]


def _repeat(content, random):
    first, last = _span(content, random)
    return content[:last] + content[first:last] * int(random.integers(1, 20)) + content[last:]


def _move(content, random):
    first, last = _span(content, random)
    place = _place(content, random)
    return content[:place] + content[first:last] + content[place:]


def _insert(content, random):
    place = _place(content, random)
    return content[:place] + TOKENS[random.integers(len(TOKENS))] + content[place:]


def _overwrite(content, random):
    token = TOKENS[random.integers(len(TOKENS))]
    place = _place(content, random)
    return content[:place] + token + content[place + len(token) :]


def _recode(content, random):
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return _flip(content, random)
    return text.encode(ENCODINGS[random.integers(len(ENCODINGS))], errors="replace")


def _new_lines(content, random):
    return content.replace(b"\n", (b"\r\n", b"\r", b"\n\n", b"\x0b")[random.integers(4)])


def _repack(content, random):
    """A member of a zip file damaged, and its checksum made right again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except Exception:
        return _insert(content, random)
    if not members:
        return content
    name = sorted(members)[random.integers(len(members))]
    members[name] = _damaged_member(name, members[name], random)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(zipfile.ZipInfo(name), member)
    return buffer.getvalue()


def _damaged_member(name, member, random):
    if name == "header.npy" and random.random() < 0.7:
        try:
            header = json.loads(member[128:])
        except ValueError:
            return _flip(member, random)
        text = json.dumps(_edited(header, random)).encode()
        buffer = io.BytesIO()
        np.save(buffer, np.frombuffer(text, np.uint8))
        return buffer.getvalue()
    way = (_flip, _cut, _drop, _repeat, _insert, _overwrite)[random.integers(6)]
    return way(member, random)


def _edited(value, random):
    """JSON with one value exchanged, removed or swapped for another."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = list(value)[random.integers(len(value))]
        rest = {name: entry for name, entry in value.items() if name != key}
        return rest if random.random() < 0.1 else {**value, key: _edited(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.8:
        place = int(random.integers(len(value)))
        return [*value[:place], _edited(value[place], random), *value[place + 1 :]]
    return VALUES[random.integers(len(VALUES))]


WAYS = (
    _flip, _flip, _cut, _drop, _repeat, _move, _insert, _insert, _overwrite, _recode, _new_lines,
    _repack, _repack,
)  # fmt: skip
