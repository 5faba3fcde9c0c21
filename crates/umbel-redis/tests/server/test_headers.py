"""The declarations of `src/server/api.rs` next to the servers' own headers: a C compiler compares types, sizes, offsets and values."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from servers import TARGET

API = Path(__file__).parents[2] / "src/server/api.rs"
# The headers are in the crates that call the servers' functions through them; Redis's of version 8 and, in Valkey's crate, of 7.2.
CRATES = {"redis-module": "2.0.8", "valkey-module": "0.1.15"}
HEADERS = [("redis-module", "redismodule.h", "Redis"), ("valkey-module", "redismodule.h", "Redis"), ("valkey-module", "valkeymodule.h", "Valkey")]
# Only in Redis 8.
LATER = {"CONFIG_UNPREFIXED"}

TYPES = {
    "c_char": "char", "c_uchar": "unsigned char", "c_int": "int", "c_uint": "unsigned int", "c_long": "long", "c_longlong": "long long", "c_ulonglong": "unsigned long long",
    "c_double": "double", "c_void": "void", "u64": "uint64_t", "usize": "size_t", "Ctx": "MODULECtx", "Str": "MODULEString", "KeyHandle": "MODULEKey",
    "ModuleType": "MODULEType", "Io": "MODULEIO", "DigestHandle": "MODULEDigest", "DefragCtx": "MODULEDefragCtx", "CommandHandle": "MODULECommand",
    "ServerInfo": "MODULEServerInfoData", "BlockedClient": "MODULEBlockedClient", "TypeMethods": "MODULETypeMethods", "CommandInfo": "MODULECommandInfo",
    "Command": "MODULECmdFunc", "GetString": "MODULEConfigGetStringFunc", "SetString": "MODULEConfigSetStringFunc",
    "GetNumber": "MODULEConfigGetNumericFunc", "SetNumber": "MODULEConfigSetNumericFunc", "Apply": "MODULEConfigApplyFunc",
    "FreeData": "__typeof__(void (*)(MODULECtx *, void *))", "Gone": "MODULEDisconnectFunc",
}
CONSTANTS = {
    "KEY_EMPTY": "KEYTYPE_EMPTY", "KEY_MODULE": "KEYTYPE_MODULE", "HANDLE_IO_ERRORS": "OPTIONS_HANDLE_IO_ERRORS", "CONTEXT_REPLICA": "CTX_FLAGS_SLAVE",
    "SEARCH_INDEX": "KSPEC_BS_INDEX", "FIND_RANGE": "KSPEC_FK_RANGE", "METHODS_VERSION": "TYPE_METHOD_VERSION",
    **{f"KEY_{flag}": f"CMD_KEY_{flag}" for flag in ("RO", "RW", "ACCESS", "UPDATE", "INSERT", "DELETE")},
}
STRUCTS = {
    "TypeMethods": "TypeMethods", "InfoVersion": "CommandInfoVersion", "KeySpec": "CommandKeySpec", "CommandInfo": "CommandInfo", "CommandArgument": "CommandArg",
}


@pytest.fixture(scope="module")
def crates():
    """The folders of the crates, which cargo downloads."""
    folder = TARGET / "headers"
    (folder / "src").mkdir(parents=True, exist_ok=True)
    (folder / "src/lib.rs").touch()
    dependencies = "".join(f'{name} = {{ version = "={version}", default-features = false }}\n' for name, version in CRATES.items())
    manifest = f'[workspace]\n[package]\nname = "headers"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\n{dependencies}'
    (folder / "Cargo.toml").write_text(manifest)
    metadata = subprocess.check_output(["cargo", "metadata", "--quiet", "--format-version", "1", "--manifest-path", folder / "Cargo.toml"])
    packages = json.loads(metadata)["packages"]
    return {package["name"]: Path(package["manifest_path"]).parent for package in packages if package["name"] in CRATES}


def c_type(rust):
    rust = rust.strip()
    for start, qualifier in [("*mut ", ""), ("*const ", "const ")]:
        if rust.startswith(start):
            inner = c_type(rust.removeprefix(start))
            return f"{inner} *" if inner.endswith("*") else f"{qualifier}{inner} *"
    if rust.startswith("Option<"):
        return c_type(rust.removeprefix("Option<").removesuffix(">"))
    return TYPES[rust]


def assertions(source):
    """Conditions that the compiler must find true. MODULE stands for a server's prefix."""
    functions = re.search(r"functions! \{\n    needed \{(.*?)\n    \}\n    later \{(.*?)\n    \}", source, re.DOTALL)
    declared = re.findall(r"fn (\w+)\((.*?)\)(?: -> (.*?))?;\n", "".join(functions.groups()) + "\n")
    assert len(declared) > 65
    for name, arguments, result in declared:
        types = [c_type(argument) for argument in arguments.replace("; ...", "").split(",") if argument.strip()]
        if arguments.endswith("..."):
            types.append("...")
        signature = f"{c_type(result) if result else 'void'} (*)({', '.join(types) or 'void'})"
        yield f"__builtin_types_compatible_p(__typeof__(MODULE_{name}), {signature})", name
    for name, value in re.findall(r"pub\(crate\) const (\w+): \w+ = (.*?);", source):
        value = value.replace("1 <<", "1LL <<")
        yield f"MODULE_DEFINE_{CONSTANTS.get(name) or name.replace('CONTEXT_', 'CTX_FLAGS_')} == {value}", name


def structs(source):
    """Our structures in C, and their sizes and offsets next to the server's."""
    declared = {
        name: [(field, kind.strip()) for field, kind in re.findall(r"^    (?:pub\(crate\) )?(\w+):(.*?),\n", body + "\n", re.DOTALL | re.MULTILINE)]
        for name, body in re.findall(r"#\[repr\(C\)\]\n(?:#\[[^\n]*\]\n)*(?:pub\(crate\) )?struct (\w+) \{\n(.*?)\n\}", source, re.DOTALL)
    }
    plain = {"u64": "uint64_t {}", "c_int": "int {}", "usize": "size_t {}", "BeginSearch": "union {{ int index; struct {{ void *keyword; int start; }} at; }} {}"}
    for name in STRUCTS:
        lines = []
        for field, kind in declared[name]:
            count = re.fullmatch(r"\[(.*); (\d+)\]", kind)
            inner, array = (count[1], f"[{count[2]}]") if count else (kind, "")
            lines.append(plain.get(inner, "void *{}").format(f"own_{field}{array}") + ";")
        yield name, "\n".join(lines), [field for field, _ in declared[name]]


def fields(header, struct):
    """The names of a structure's fields in a header, in order; a field that is a structure counts as one name."""
    body = re.search(rf"typedef struct(?: \w+)? \{{((?:(?!\ntypedef)[\s\S])*?)\n\}} {struct};", header)[1]
    body = re.sub(r"/\*.*?\*/|//[^\n]*", "", body, flags=re.DOTALL)
    while "{" in body:
        body = re.sub(r"\{[^{}]*\}", "", body)
    return [re.search(r"(\w+)\s*(?:\[\w*\])?\s*$", line)[1] for line in body.split(";") if line.strip()]


@pytest.mark.parametrize("crate, file, server", HEADERS)
def test_declarations_are_those_of_the_headers(crates, tmp_path, crate, file, server):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    source = API.read_text()
    header = crates[crate] / "src/include" / file
    text = header.read_text().replace("CTX_FLAGS_REPLICA (", "CTX_FLAGS_SLAVE (")
    module, upper = f"{server}Module", f"{server}MODULE".upper()
    lines = [f'#include <stddef.h>\n#include "{header}"', "#define VALKEYMODULE_CTX_FLAGS_SLAVE VALKEYMODULE_CTX_FLAGS_REPLICA"]
    for assertion, what in assertions(source):
        missing = (upper + "_" + assertion.split(" ")[0].removeprefix("MODULE_DEFINE_") not in text) if "MODULE_DEFINE_" in assertion else f"*{module}_{what})" not in text
        if missing:
            known = what in LATER or what in ("OK", "ERR") or f"fn {what}(" in source.split("later {")[-1]
            # Versions of methods differ: an older server reads only the first fields.
            assert known, f"{what} is not in {file}"
            continue
        if what == "METHODS_VERSION":
            continue
        assertion = assertion.replace("MODULE_DEFINE_", f"{upper}_")
        assertion = re.sub(r"(?<![A-Z])MODULE_?(?=[A-Za-z])", lambda found: module + ("_" if found[0].endswith("_") else ""), assertion)
        lines.append(f'_Static_assert({assertion}, "{what}");')
    for name, own, ours in structs(source):
        theirs = fields(text, module + STRUCTS[name])
        lines.append(f"struct Own{name} {{\n{own}\n}};")
        whole = name not in ("TypeMethods", "CommandArgument")
        assert len(theirs) == len(ours) if whole else len(theirs) <= len(ours) or name == "CommandArgument", (name, ours, theirs)
        if name != "TypeMethods":
            lines.append(f'_Static_assert(sizeof(struct Own{name}) == sizeof({module}{STRUCTS[name]}), "size of {name}");')
        if name == "CommandArgument":
            continue
        for left, right in zip(ours, theirs):
            lines.append(f'_Static_assert(offsetof(struct Own{name}, own_{left}) == offsetof({module}{STRUCTS[name]}, {right}), "{name}.{left}");')
            lines.append(f'_Static_assert(sizeof(((struct Own{name} *)0)->own_{left}) == sizeof((({module}{STRUCTS[name]} *)0)->{right}), "{name}.{left}");')
    program = tmp_path / "headers.c"
    program.write_text("\n".join(lines) + "\n")
    compiled = subprocess.run([compiler, "-std=gnu11", "-fsyntax-only", "-w", program], capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, "\n".join(line for line in compiled.stderr.splitlines() if "error" in line)
