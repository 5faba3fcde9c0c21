"""Looks addresses and hosts up in umbel's filters of prefixes, written from FORMAT.md, section 23, on top of reader.py.

    prefixes.py manifest.json          checks the golden files
    prefixes.py F.umbel QUESTION...    prints the longest prefix of each that may be in the filter
"""

import ipaddress, json, pathlib, sys

from reader import may_contain, read_filter, require

GROUPS = {"ip-prefix": {"ipv4": (0, 32), "ipv6": (0, 128)}, "domain-suffix": {"labels": (1, 127)}}


def read_lengths(h):
    """The type of the keys, and the lengths of each group."""
    types = [value for name, value in h["description"] if name == "type"]
    require(len(types) == 1 and types[0] in GROUPS, "type")
    groups = GROUPS[types[0]]
    lengths = {}
    for name, value in h["description"]:
        if name != "lengths":
            continue
        group, *words = value.split(" ")
        require(group in groups and group not in lengths and all(word.isdecimal() for word in words), "lengths")
        numbers = [int(word) for word in words]
        least, most = groups[group]
        require(numbers == sorted(set(numbers)) and all(least <= n <= most for n in numbers), "lengths")
        lengths[group] = numbers
    return types[0], lengths


def prefixes(kind, lengths, question):
    """The prefixes that a look-up asks for, with their keys, the longest first."""
    if kind == "domain-suffix":
        labels = question.split(".")
        for n in reversed(lengths.get("labels", [])):
            if n <= len(labels):
                name = ".".join(labels[-n:])
                yield name, name.encode()
        return
    address = ipaddress.ip_address(question)
    address = getattr(address, "ipv4_mapped", None) or address
    for n in reversed(lengths.get(f"ipv{address.version}", [])):
        network = ipaddress.ip_network((address, n), strict=False)
        yield str(network), network.network_address.packed + bytes([n])


def longest(h, payloads, question):
    kind, lengths = read_lengths(h)
    asked = prefixes(kind, lengths, question)
    return next((prefix for prefix, key in asked if may_contain(h, payloads, key, None)), None)


def check_manifest(path):
    count = 0
    for case in json.loads(path.read_text()):
        h, payloads = read_filter((path.parent / case["file"]).read_bytes())
        _, lengths = read_lengths(h)
        questions = max(map(len, lengths.values()))
        require(questions == case["questions"], "lengths")
        require(abs(h["planned_fpp"] - (1 - (1 - 0.01) ** (1 / questions))) < 1e-15, "planned_fpp")
        answers = {member.removesuffix("/32").split("/")[0]: member for member in case["members"]} | case["answers"]
        for question, expected in answers.items():
            found = longest(h, payloads, question)
            require(found == expected, f"{question}: {found}, not {expected}")
            count += 1
    require(count > 0, "no case")
    print(f"{count} look-ups of prefixes passed")


def main():
    path, *questions = sys.argv[1:]
    path = pathlib.Path(path)
    try:
        if path.suffix == ".json":
            return check_manifest(path)
        h, payloads = read_filter(path.read_bytes())
        print(*(longest(h, payloads, question) or "-" for question in questions), sep="\n")
    except (ValueError, OSError) as error:
        sys.exit(f"{path}: refused: {error!r}")


if __name__ == "__main__":
    main()
