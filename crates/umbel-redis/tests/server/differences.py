"""Known differences from the replies of the live RedisBloom, with reasons. Everything else must be the same on the wire.

The live one is 2.8.2, the last one distributed separately. The one in Redis 8 checks more and has other error messages;
clients see that one today, so we use its messages.
"""

import re
from dataclasses import dataclass
from typing import Callable

from resp import Refused


@dataclass
class Difference:
    name: str
    why: str
    # Called with the words of the command, their reply and our reply.
    applies: Callable

    seen: int = 0


def words(theirs, ours):
    """The same refusal with another message."""
    theirs, ours = re.compile(theirs), re.compile(ours)
    return lambda command, left, right: (
        isinstance(left, Refused) and isinstance(right, Refused)
        and theirs.fullmatch(left) is not None and ours.fullmatch(right) is not None
    )


def refused(ours, command_is):
    """Refused here, accepted there."""
    ours = re.compile(ours)
    return lambda command, left, right: (
        command_is(command) and isinstance(right, Refused) and ours.fullmatch(right) is not None
    )


def name_is(*names):
    return lambda command: command[0].upper() in names


def number_above(limit):
    def found(command):
        for word in command:
            try:
                if float(word) > limit:
                    return True
            except ValueError:
                pass
        return False
    return found


DIFFERENCES = [
    Difference(
        "ranges of BF.RESERVE",
        "the words of Redis 8",
        words(
            r"ERR \(0 < error rate range < 1\) ?|ERR \(capacity should be larger than 0\) ?|ERR expansion should be .*",
            r"ERR (error rate|capacity|expansion) must be in the range .*",
        ),
    ),
    Difference(
        "ranges of BF.INSERT",
        "the words of Redis 8",
        words(r"Bad argument received", r"ERR (error rate|capacity|expansion) must be in the range .*"),
    ),
    Difference(
        "ranges of CF",
        "the words of Redis 8",
        words(
            r"Capacity must be at least \(BucketSize \* 2\)|\w+: value must be an integer between .*",
            r"Capacity must be in the range .*|\w+: value must be in the range .*",
        ),
    ),
    Difference(
        "capacities above 2^30 and expansions above 32768",
        "refused, as by Redis 8; some of these were gigabytes that no server had",
        refused(r".*must be in the range.*", number_above(32768)),
    ),
    Difference(
        "EXPANSION 0",
        "as NONSCALING, as by Redis 8; 2.8.2 refuses it",
        lambda command, left, right: (
            isinstance(left, Refused) and "expan" in left and command[0] == "BF.RESERVE"
            and any(pair == ("EXPANSION", "0") for pair in zip(command, command[1:]))
        ),
    ),
    Difference(
        "error rates above 0.25",
        "cut to 0.25, as by Redis 8: sizes, dumps and the answers of such filters differ",
        lambda command, left, right: command[1] == "rate-above" if len(command) > 1 else False,
    ),
    Difference(
        "words of BF.INSERT that are not its options",
        "refused; the original looks at a letter or two and takes them for an option",
        refused(
            r"Unknown argument received|ERR wrong number of arguments.*",
            lambda command: command[0].upper() in ("BF.INSERT", "CF.INSERT", "CF.INSERTNX"),
        ),
    ),
    Difference(
        "a key called NONSCALING or EXPANSION",
        "is a key; the original takes it for an option",
        lambda command, left, right: command[1].upper() in ("NONSCALING", "EXPANSION"),
    ),
    Difference(
        "CF.COUNT of an item whose two buckets are one",
        "counted once; the original looks at the bucket twice and answers double",
        lambda command, left, right: (
            command[0].upper() == "CF.COUNT" and isinstance(left, int) and left == 2 * right
        ),
    ),
    Difference(
        "CF.SCANDUMP and CF.LOADCHUNK from a place within a sub-filter",
        "bytes from that place; the original goes back to the start of a small sub-filter",
        lambda command, left, right: (
            command[0].upper() in ("CF.SCANDUMP", "CF.LOADCHUNK") and command[2] not in ("0", "1")
        ),
    ),
    Difference(
        "what cannot fit into memory",
        "refused before it is made; the original makes it, and the server is ended when it is used",
        refused(r"ERR Insufficient memory to create filter: it needs .*", name_is("BF.RESERVE", "CF.RESERVE")),
    ),
    Difference(
        "sub-filters past cf-max-expansions",
        "the limit holds within a command, too; the original looks at it once, and one CF.INSERT goes past it",
        lambda command, left, right: command[1] == "many-copies",
    ),
    Difference(
        "COPY",
        "copies; the original has no such function",
        lambda command, left, right: command[0].upper() == "COPY",
    ),
    Difference(
        "COMMAND INFO and ACL",
        "arities, key specifications and categories as in Redis 8; 2.8.2 has none",
        name_is("COMMAND", "ACL"),
    ),
]
for difference in DIFFERENCES:
    inner = difference.applies
    if inner.__code__.co_argcount == 1:
        difference.applies = lambda command, left, right, inner=inner: inner(command)
