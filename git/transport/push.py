"""What a push asks for, read from the start of its body, and what became of it, read from git's answer.

Source of the rules: git's gitprotocol-pack(5), sections "Reference update request" and "Report status".
"""

import unicodedata
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Final

from domain.errors import Invalid, TooLarge
from domain.projects.ref_names import HEADS, TAGS, short_name
from git.names import is_sha
from git.repository import Repository
from git.transport.pkt_line import FLUSH, HEADER, MAX_PAYLOAD, length_of, packet, packets

COMMAND_LIMIT: Final = 10_000
"""Ref updates of one push: enough to bring a large repository with all its tags at once."""
HEAD_LIMIT: Final = 4 * 1024 * 1024
"""Bytes before the pack: `COMMAND_LIMIT` updates of usual length, and the push options."""
OPTION_LIMIT: Final = 100
"""Push options of one push."""
_BANDS: Final = frozenset({1, 2, 3})
"""First byte of a packet on the side band: data, progress, fatal error."""
_REPORTS: Final = frozenset({"report-status", "report-status-v2"})
_BAND_ROOM: Final = {"side-band-64k": MAX_PAYLOAD - 1, "side-band": 995 - 1}
"""Bytes of data that one packet of a side band holds, by capability."""
_REASON_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class RefUpdate:
    """One line of a push: set `ref` from `old` to `new`; a sha of zeros stands for "none"."""

    old: str
    new: str
    ref: str

    @property
    def is_branch(self) -> bool:
        """Whether the ref is a branch."""
        return self.ref.startswith(HEADS)

    @property
    def is_tag(self) -> bool:
        """Whether the ref is a tag."""
        return self.ref.startswith(TAGS)

    @property
    def is_create(self) -> bool:
        """Whether the pusher believes that the ref does not exist yet."""
        return not self.old.strip("0")

    @property
    def is_delete(self) -> bool:
        """Whether the ref is to go away."""
        return not self.new.strip("0")

    @property
    def short_name(self) -> str:
        """Name of the branch or tag; the full name of any other ref."""
        return short_name(self.ref)


@dataclass(frozen=True, slots=True)
class Push:
    """The head of a push. `body` gives every byte of the request, those that were read to get here included."""

    commands: tuple[RefUpdate, ...]
    options: tuple[str, ...]
    body: AsyncIterator[bytes]
    capabilities: frozenset[str] = frozenset()


async def read_push(body: AsyncIterator[bytes]) -> Push:
    """Read the commands and push options at the start of a `git-receive-pack` body (already unpacked).

    A body of one flush packet, git's probe before a large push, has no commands. Raises Invalid for what is no git
    protocol and for signed pushes, TooLarge above `COMMAND_LIMIT`, `OPTION_LIMIT` or `HEAD_LIMIT`.
    """
    reader = _Reader(body)
    commands: list[RefUpdate] = []
    capabilities: frozenset[str] = frozenset()
    while (line := await reader.packet()) is not None:
        text, _, agreed = line.partition(b"\0")
        if agreed and not commands:
            capabilities = frozenset(agreed.decode("utf-8", "replace").split())
        if text.startswith(b"shallow "):
            continue
        commands.append(_update(text))
        if len(commands) > COMMAND_LIMIT:
            raise TooLarge(f"The push changes more than {COMMAND_LIMIT} refs; push them in parts.")
    options: list[str] = []
    while commands and "push-options" in capabilities and (line := await reader.packet()) is not None:
        options.append(line.decode("utf-8", "replace").rstrip("\n"))
        if len(options) > OPTION_LIMIT:
            raise TooLarge(f"The push has more than {OPTION_LIMIT} push options.")
    return Push(tuple(commands), tuple(options), reader.replay(), capabilities)


def reported(answer: bytes) -> dict[str, str] | None:
    """What git's whole answer says of each ref: its full name to "" (done) or the reason why not.

    None when the client asked for no report, or the answer is cut. Prefer this to looking at the refs afterwards: by
    then the next push may have moved them.
    """
    try:
        lines = list(packets(answer))
        if any(line and line[0] in _BANDS for line in lines):
            lines = list(packets(b"".join(line[1:] for line in lines if line and line[0] == 1)))
    except Invalid:
        return None
    words = [line.decode("utf-8", "replace").rstrip("\n").split(" ", 2) for line in lines if line]
    if not words or words[0][0] != "unpack":
        return None
    return {
        word[1]: "" if word[0] == "ok" else " ".join(word[2:]) or "refused"
        for word in words[1:]
        if word[0] in {"ok", "ng"} and len(word) > 1
    }


async def applied(repository: Repository, updates: Iterable[RefUpdate], answer: bytes = b"") -> tuple[RefUpdate, ...]:
    """Those updates that were carried out: by git's answer if it has a report, else by how the refs stand now."""
    report = reported(answer)
    if report is not None:
        return tuple(update for update in updates if report.get(update.ref) == "")
    now = {ref.name: ref.object for ref in await repository.refs()}
    return tuple(update for update in updates if now.get(update.ref) == (None if update.is_delete else update.new))


def with_message(answer: bytes, text: str) -> bytes:
    """The answer to a push with lines that git prints to the pusher as `remote: ...`.

    Unchanged when the client has not agreed on a side band. Control characters are left out: they would reach the
    pusher's terminal.
    """
    try:
        lines = list(packets(answer))
    except Invalid:
        return answer
    if len(lines) < 2 or lines[-1] is not None or any(not line or line[0] not in _BANDS for line in lines[:-1]):
        return answer
    clean = "".join(sign for sign in text if sign == "\n" or unicodedata.category(sign) != "Cc")
    message = clean.encode("utf-8", "replace").rstrip(b"\n") + b"\n"
    room = MAX_PAYLOAD - 1
    parts = [message[start : start + room] for start in range(0, len(message), room)]
    return answer[: -len(FLUSH)] + b"".join(packet(b"\x02" + part) for part in parts) + FLUSH


def refused(push: Push, reason: str) -> bytes:
    """What git would answer if it took none of the updates: each is reported as `ng` with this reason, of one line.

    Empty when the client has not asked for a report.
    """
    clean = _one_line(reason)
    lines = [b"unpack ok\n"]
    lines += [f"ng {update.ref} {clean}\n".encode("utf-8", "replace") for update in push.commands]
    report = b"".join(map(packet, lines)) + FLUSH if push.capabilities & _REPORTS else b""
    room = next((size for name, size in _BAND_ROOM.items() if name in push.capabilities), 0)
    if not room:
        return report
    parts = (report[start : start + room] for start in range(0, len(report), room))
    return b"".join(packet(b"\x01" + part) for part in parts) + FLUSH


def unpack_failed(reason: str) -> bytes:
    """What git would answer if it could not even read the push; its client prints the reason, of one line.

    For clients that ask for a report on a side band, as all do that one meets: what this one asks for is not known.
    """
    report = packet(f"unpack {_one_line(reason)}\n".encode("utf-8", "replace")) + FLUSH
    return packet(b"\x01" + report) + FLUSH


def _one_line(reason: str) -> str:
    clean = " ".join("".join(sign if sign.isprintable() else " " for sign in reason).split())
    return clean[:_REASON_LIMIT] or "refused"


def _update(line: bytes) -> RefUpdate:
    try:
        text = line.decode("utf-8").rstrip("\n")
    except UnicodeDecodeError as error:
        raise Invalid("A ref of the push has a name that is not UTF-8; rename it.") from error
    if text.startswith("push-cert"):
        raise Invalid("Signed pushes are not supported; push without --signed.")
    old, _, rest = text.partition(" ")
    new, _, ref = rest.partition(" ")
    if not (is_sha(old) and is_sha(new) and ref):
        raise Invalid(f"The push has a line that is no ref update: {text[:80]!r}.")
    return RefUpdate(old, new, ref)


@dataclass(slots=True)
class _Reader:
    """Takes packets off a stream of chunks and remembers every chunk for the replay."""

    body: AsyncIterator[bytes]
    _read: bytearray = field(default_factory=bytearray)
    _position: int = 0

    async def packet(self) -> bytes | None:
        """The next payload, None for a flush or at the end of an empty body."""
        header = await self._take(HEADER)
        if not header:
            return None
        length = length_of(header)
        return None if length < 0 else await self._take(length)

    async def _take(self, size: int) -> bytes:
        end = self._position + size
        if end > HEAD_LIMIT:
            raise TooLarge(f"The list of refs of the push has more than {HEAD_LIMIT} bytes; push them in parts.")
        while len(self._read) < end:
            try:
                self._read += await anext(self.body)
            except StopAsyncIteration:
                if not self._read:
                    return b""
                raise Invalid("The push ends in the middle of its list of refs; push again.") from None
        taken = bytes(self._read[self._position : end])
        self._position = end
        return taken

    async def replay(self) -> AsyncIterator[bytes]:
        """Every byte of the body from its start."""
        if self._read:
            yield bytes(self._read)
            self._read.clear()
        async for chunk in self.body:
            yield chunk
