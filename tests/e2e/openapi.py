"""schema/openapi.yaml read with the standard library: the part of YAML it is written in (maps by indentation, lists, flow
maps and lists, quoted texts, folded texts), and a validator for the part of JSON Schema it uses."""
import re


def scalar(text):
    if text[:1] == '"':
        import json
        return json.loads(text)
    if text in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[text]
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def flow(text, at):
    """A value that begins at `at`. -> value, where it ended"""
    while text[at] == " ":
        at += 1
    if text[at] in "{[":
        is_map, end, value = text[at] == "{", "}]"[text[at] == "["], {} if text[at] == "{" else []
        at += 1
        while True:
            while text[at] in " ,":
                at += 1
            if text[at] == end:
                return value, at + 1
            if is_map:
                key = re.compile(r'("(?:[^"\\]|\\.)*"|[^:{}\[\],]+):\s*').match(text, at)
                value[scalar(key.group(1).strip())], at = flow(text, key.end())
            else:
                item, at = flow(text, at)
                value.append(item)
    found = re.compile(r'"(?:[^"\\]|\\.)*"|[^,{}\[\]]+').match(text, at)
    return scalar(found.group(0).strip()), found.end()


def value_of(text):
    return flow(text, 0)[0] if text[0] in "{[" else scalar(text)


def block(lines, at, indent):
    """The map or list whose lines are indented by `indent`. -> value, the line after it"""
    value = [] if lines[at].lstrip().startswith("- ") else {}
    while at < len(lines):
        line = lines[at]
        here = len(line) - len(line.lstrip())
        if here < indent:
            break
        assert here == indent, line
        if isinstance(value, list):
            value.append(value_of(line[indent + 2:].strip()))
            at += 1
            continue
        key, rest = re.match(r'\s*("[^"]*"|[^:\s]+):\s*(.*)', line).groups()
        at += 1
        if rest == ">":
            while at < len(lines) and len(lines[at]) - len(lines[at].lstrip()) > indent:
                at += 1
            value[scalar(key)] = ""
        elif rest:
            value[scalar(key)] = value_of(rest)
        else:
            deeper = len(lines[at]) - len(lines[at].lstrip())
            value[scalar(key)], at = block(lines, at, deeper)
    return value, at


def load(path):
    lines = [l for l in path.read_text().splitlines() if l.strip() and not l.lstrip().startswith("#")]
    return block(lines, 0, 0)[0]


TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


def merged(spec, schema):
    """Without $ref and allOf."""
    while "$ref" in schema:
        node = spec
        for word in schema["$ref"][2:].split("/"):
            node = node[word]
        schema = node
    if "allOf" in schema:
        whole = {"type": "object", "properties": {}, "required": []}
        for part in schema["allOf"]:
            part = merged(spec, part)
            whole["properties"].update(part.get("properties", {}))
            whole["required"] += part.get("required", [])
        return whole
    return schema


def wrong(spec, schema, value, closed=False, place="$"):
    """Everything in the value that the schema does not allow, as texts."""
    schema = merged(spec, schema)
    if value is None:
        return [] if schema.get("nullable") or "type" not in schema else [f"{place} is null"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{place} is {value!r}, want one of {schema['enum']}"]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or (kind in ("integer", "number") and isinstance(value, bool))):
        return [f"{place} is {type(value).__name__}, want {kind}"]
    if schema.get("format") == "date-time" and not re.fullmatch(r"\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", value):
        return [f"{place} is {value!r}, want an instant"]
    bad = []
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        bad.append(f"{place} is {value}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            bad += wrong(spec, schema["items"], item, closed, f"{place}[{i}]")
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties")
        bad += [f"{place}.{k} is missing" for k in schema.get("required", []) if k not in value]
        for key, item in value.items():
            if key in known:
                bad += wrong(spec, known[key], item, closed, f"{place}.{key}")
            elif isinstance(others, dict):
                bad += wrong(spec, others, item, closed, f"{place}.{key}")
            elif others is False or (closed and known):
                bad.append(f"{place}.{key} is not described")
    return bad
