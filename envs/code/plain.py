"""Plain values as JSON, for the programs inside of grading sandboxes: this text is put before theirs.

The host has its own reading of the same encoding (`values`), which builds nothing but built-in types. Standard library only.
"""

PLAIN = (bool, int, str)


def encode(value, depth=0):
    kind = type(value)
    if depth > 60:
        return {"type": "opaque", "value": "deep nesting"}
    if value is None or kind in PLAIN:
        return value
    if kind is float:
        return value if value - value == 0 else {"type": "float", "value": float.__repr__(value)}
    if kind is list:
        return [encode(item, depth + 1) for item in value]
    if kind is bytes or kind is bytearray:
        return {"type": "bytes", "value": bytes(value).hex()}
    if kind is complex:
        return {"type": "complex", "value": [encode(value.real), encode(value.imag)]}
    if kind is tuple:
        return {"type": "tuple", "value": [encode(item, depth + 1) for item in value]}
    if kind is dict or (kind.__module__ == "collections" and issubclass(kind, dict)):
        pairs = dict.items(value)
        return {
            "type": "dict",
            "value": [[encode(key, depth + 1), encode(item, depth + 1)] for key, item in pairs],
        }
    if kind is set or kind is frozenset:
        return {"type": "set", "value": [encode(item, depth + 1) for item in value]}
    if kind.__module__ == "collections" and kind.__name__ == "deque":
        return [encode(item, depth + 1) for item in value]
    return {"type": "opaque", "value": kind.__name__}


def decode(value):
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind, inner = value["type"], value["value"]
    if kind == "float":
        return float(inner)
    if kind == "bytes":
        return bytes.fromhex(inner)
    if kind == "complex":
        return complex(decode(inner[0]), decode(inner[1]))
    items = [decode(item) for item in inner]
    return {"tuple": tuple, "dict": dict, "set": set}[kind](items)
