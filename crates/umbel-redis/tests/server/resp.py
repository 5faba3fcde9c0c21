"""A client that shows replies as they are on the wire: their types, and errors as values."""

import socket


class Simple(str):
    """+text"""


class Refused(str):
    """-text"""


class Pairs(list):
    """A map of RESP3: pairs in the order they came."""


class Client:
    def __init__(self, port, protocol=2):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb", buffering=1 << 16)
        if protocol == 3:
            self("HELLO", "3")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def __call__(self, *arguments):
        self.send(arguments)
        return self.read()

    def pipeline(self, commands):
        """Replies to many commands that are sent before the first reply is read; not so many that buffers fill."""
        for command in commands:
            self.send(command)
        return [self.read() for _ in commands]

    def send(self, arguments):
        parts = [b"*%d\r\n" % len(arguments)]
        for argument in arguments:
            if not isinstance(argument, bytes):
                argument = str(argument).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(argument), argument))
        self.socket.sendall(b"".join(parts))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server hung up")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return Simple(rest.decode())
        if kind == b"-":
            return Refused(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"#":
            return rest == b"t"
        if kind == b"_":
            return None
        if kind == b",":
            return float(rest)
        if kind in b"$=":
            length = int(rest)
            if length < 0:
                return None
            text = self.file.read(length + 2)
            if len(text) != length + 2:
                raise ConnectionError("the server hung up")
            return text[:-2]
        if kind in b"*~>":
            length = int(rest)
            return None if length < 0 else [self.read() for _ in range(length)]
        if kind == b"%":
            return Pairs((self.read(), self.read()) for _ in range(int(rest)))
        raise AssertionError(f"{line!r} is no reply")


def same(left, right):
    """Whether two replies are the same on the wire; Python takes 1 for True."""
    if type(left) is not type(right):
        return False
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right
