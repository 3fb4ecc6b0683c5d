#!/usr/bin/env python3
"""No message contains itself (protobuf-c unpacks without a limit of depth), nothing is optional
(protoc-c refuses it), no number is used twice, every frame has its message."""
import re

from source import Tap, bare, files, text

MESSAGE = re.compile(r"\bmessage\s+(\w+)\s*\{([^{}]*)\}")
FIELD = re.compile(r"(?:^|[;{])\s*(repeated\s+|optional\s+)?([\w.]+)\s+(\w+)\s*=\s*(\d+)")
FRAME = re.compile(r"^FRAME\(\s*(\w+)\s*,\s*(\d+)\s*,\s*(\w+)\s*,\s*([PSB])\s*,\s*(\d+)\s*\)", re.M)
DEPTH_MAX = 8  # of lib/wire/frame.c

messages, faults_fields = {}, []
for path in files(".proto"):
    for name, body in MESSAGE.findall(bare(text(path))):
        numbers = set()
        if name in messages:
            faults_fields.append(f"{path}: two messages {name}")
        messages[name] = set()
        for label, kind, field, number in FIELD.findall(body):
            messages[name].add(kind)
            if number in numbers:
                faults_fields.append(f"{path}: {name}.{field}: number {number} is taken")
            if label.startswith("optional"):
                faults_fields.append(f"{path}: {name}.{field} is optional")
            numbers.add(number)


def depth(name, above=()):
    """Levels below and with this message; a loop counts as far too deep."""
    if name in above:
        return 1000
    return 1 + max((depth(kind, (*above, name)) for kind in messages[name] if kind in messages),
                   default=0)


tap = Tap()
tap.check("fields of messages have one number each and are not optional", faults_fields)
tap.check("no message contains itself or goes too deep",
          [f"{name}: {depth(name)} levels" for name in messages if depth(name) > DEPTH_MAX])

numbers, names, faults = set(), set(), []
snake = {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in messages}
for name, number, message, _, most in FRAME.findall(bare(text("schema/tbl/frame.def"))):
    if number in numbers or name in names:
        faults.append(f"{name} {number}: taken")
    if message not in snake:
        faults.append(f"{name}: no message {message}")
    if not 0 < int(most) <= 4194304:
        faults.append(f"{name}: limit {most}")
    numbers.add(number)
    names.add(name)
tap.check(f"{len(names)} frames have a number, a message and a limit", faults or ([] if names else ["none"]))
tap.end()
