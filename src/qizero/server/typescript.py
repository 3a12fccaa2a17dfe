"""The page's TypeScript types, made from the models: `python -m qizero.server.typescript > web/src/lib/messages.ts`."""

from __future__ import annotations

import sys
from typing import Any

from pydantic import TypeAdapter

from qizero.server import messages

HEADER = (
    "// Made from src/qizero/server/messages.py by `python -m qizero.server.typescript`; a test keeps the two equal.\n"
)
ROOTS: dict[str, Any] = {
    "FromPage": messages.FromPage,
    "FromServer": messages.FromServer,
    "CatalogAnswer": messages.CatalogAnswer,
    "OpponentsAnswer": messages.OpponentsAnswer,
    "HealthAnswer": messages.HealthAnswer,
}


def generate() -> str:
    """The text of the TypeScript file."""
    definitions: dict[str, Any] = {}
    aliases = []
    for name, model in ROOTS.items():
        schema = TypeAdapter(model).json_schema(mode="serialization" if name != "FromPage" else "validation")
        definitions.update(schema.get("$defs", {}))
        if schema.get("type") == "object":
            definitions[name] = {key: value for key, value in schema.items() if key != "$defs"}
        else:
            aliases.append(f"export type {name} = {_type(schema)};\n")
    parts = [_interface(name, schema) for name, schema in sorted(definitions.items())]
    return "\n".join([HEADER, *parts, *aliases])


def _interface(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    comment = " ".join(schema.get("description", "").split())
    lines = [f"/** {comment} */"] if comment else []
    lines.append(f"export interface {name} {{")
    for field, field_schema in schema.get("properties", {}).items():
        optional = "" if field in required else "?"
        lines.append(f"  {field}{optional}: {_type(field_schema)};")
    return "\n".join([*lines, "}\n"])


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[-1]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(_type(part) for part in schema[key]))
    if "const" in schema:
        return _literal(schema["const"])
    if "enum" in schema:
        return " | ".join(_literal(value) for value in schema["enum"])
    kind = schema["type"]
    if kind == "array" and "prefixItems" in schema:
        return "[" + ", ".join(_type(item) for item in schema["prefixItems"]) + "]"
    if kind == "array":
        inner = _type(schema["items"])
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if kind == "object":
        return f"Record<string, {_type(schema['additionalProperties'])}>"
    return {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}[kind]


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


if __name__ == "__main__":
    sys.stdout.write(generate())
