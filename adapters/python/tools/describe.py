#!/usr/bin/env python3
"""Describe the C API as JSON, from the public headers.

usage: describe.py HEADER... > api.json

The description has every constant, enumeration, structure and function of the headers, with types
and the first sentence of each comment. It has no sizes and no offsets: they depend on the platform
and follow from the types by the rules of its C compiler. docs/python.md describes the format.

The headers are read without a C compiler. The reader knows the C that they use: declarations,
macros, `#if` with `defined`. Any other construct is an error that names the file and line.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field, replace
from typing import Any

FORMAT = 1  # of the description; grows when a reader must change

# What a C compiler for user space defines.
PREDEFINED = {"__GNUC__": "4"}

TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<continued>\\\n)
      | (?P<newline>\n)
      | (?P<space>[ \t\f\v\r]+)
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|[0-9]+[uUlL]*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<mark>\.\.\.|\#\#|<<|>>|&&|\|\||==|!=|<=|>=|.)""",
    re.VERBOSE | re.DOTALL,
)

INTEGERS = {
    "char",
    "int",
    "int8_t",
    "int16_t",
    "int32_t",
    "int64_t",
    "uint8_t",
    "uint16_t",
    "uint32_t",
    "uint64_t",
    "size_t",
    "bool",
}
UNSIGNED_32, UNSIGNED_64 = "uint32_t", "uint64_t"
LIMITS = {"UINT16_MAX": 0xFFFF, "UINT32_MAX": 0xFFFFFFFF, "UINT64_MAX": 0xFFFFFFFFFFFFFFFF}


class HeaderError(Exception):
    """A header that this reader does not understand; the text names the place."""


@dataclass(frozen=True)
class Token:
    """A token of C; `line` is that of the text, or of the macro call that produced the token."""

    kind: str
    text: str
    line: int
    ends: int  # line on which the token ends


@dataclass
class Macro:
    """A macro; `parameters` is None if it takes none, as in `#define A 1`."""

    parameters: list[str] | None
    body: list[Token]


@dataclass
class Header:
    """What one header declares."""

    name: str
    library: str
    includes: list[str] = field(default_factory=list)
    constants: list[dict[str, Any]] = field(default_factory=list)
    typedefs: list[dict[str, Any]] = field(default_factory=list)
    enums: list[dict[str, Any]] = field(default_factory=list)
    structs: list[dict[str, Any]] = field(default_factory=list)
    functions: list[dict[str, Any]] = field(default_factory=list)
    summary: str = ""


def tokens_of(text: str) -> list[Token]:
    """Cut the text into tokens; blanks and continued lines are left out."""
    found, line = [], 1
    for match in TOKEN.finditer(text):
        ends = line + match.group().count("\n")
        if match.lastgroup not in ("space", "continued"):
            found.append(Token(str(match.lastgroup), match.group(), line, ends))
        line = ends
    return found


def plain(comment: str) -> str:
    """Return the first paragraph of a comment in one line, without the marks of the comment."""
    kept: list[str] = []
    for line in (
        comment.strip().removeprefix("/*").removeprefix("//").removesuffix("*/").split("\n")
    ):
        line = re.sub(r"^\s*\*( |$)", "", line).rstrip()
        if not kept and not line.strip():
            continue
        if not line.strip():
            break
        kept.append(line.strip())
    return re.sub(r"\s+", " ", " ".join(kept)).strip()


def first_sentence(comment: str | None) -> str:
    """Return the first sentence of a comment, without a final dot, colon or comma.

    Headings of sections (`-- name --`) and lists of errors are no sentences.
    """
    text = plain(comment or "")
    if text.startswith(("--", "UVMP_ERR_")):
        return ""
    end = re.search(r"(?<!e\.g)(?<!i\.e)(?<! al)(?<!\.)[.?!](?=\s+(?:[A-Z`*\[(0-9]|\w+_)|$)", text)
    text = text[: end.end()] if end else text
    return re.sub(r"(?<!\.)[.:;,]$", "", text).strip()


class Preprocessor:
    """Expands macros, follows conditionals, and collects the macros that are constants."""

    def __init__(self, known: dict[str, Macro]) -> None:
        self.macros = known
        self.own: list[tuple[str, Macro, str]] = []  # macros of this header, with their comments
        self.includes: list[str] = []

    def condition(self, tokens: list[Token]) -> bool:
        """Evaluate the expression of an #if: `defined`, !, && and ||."""
        words, position = [token.text for token in tokens if token.kind != "comment"], 0
        result = []
        while position < len(words):
            if words[position] == "defined":
                position += 2 if words[position + 1] == "(" else 1
                result.append(str(words[position] in self.macros or words[position] in PREDEFINED))
                position += 1 if words[position - 1] == "(" else 0
            else:
                result.append(
                    {"&&": " and ", "||": " or ", "!": " not "}.get(
                        words[position], words[position]
                    )
                )
            position += 1
        expression = "".join(result)
        if not re.fullmatch(r"(True|False|and|or|not|[() 0-9])*", expression):
            raise HeaderError(f"line {tokens[0].line}: #if is not understood")
        return bool(eval(expression, {"__builtins__": {}}))  # only the words above

    def define(self, tokens: list[Token], text_before: str) -> None:
        """Take a #define."""
        name, rest = tokens[0], tokens[1:]
        parameters = None
        trailing = [token.text for token in rest if token.kind == "comment"]
        if text_before == "(":
            close = next(i for i, token in enumerate(rest) if token.text == ")")
            parameters = [token.text for token in rest[1:close] if token.kind == "name"]
            rest = rest[close + 1 :]
        self.macros[name.text] = Macro(parameters, rest)
        self.own.append((name.text, self.macros[name.text], trailing[-1] if trailing else ""))

    def run(self, text: str) -> list[Token]:
        """Return the tokens of a header, macros expanded and directives performed."""
        tokens, position = tokens_of(text), 0
        output: list[Token] = []
        between: list[Token] = []  # since the last directive, which may change macros
        active = [True]
        at_start = True
        while position < len(tokens):
            token = tokens[position]
            if token.text == "#" and at_start:
                output += self.expand(between)
                between.clear()
                position = self.directive(text, tokens, position + 1, active)
                continue
            at_start = token.kind == "newline" or (at_start and token.kind == "comment")
            if all(active):
                between.append(token)
            position += 1
        return [token for token in output + self.expand(between) if token.kind != "newline"]

    def directive(self, text: str, tokens: list[Token], position: int, active: list[bool]) -> int:
        """Perform the directive with its name at `position`; return the position behind it."""
        end = position
        while end < len(tokens) and tokens[end].kind != "newline":
            end += 1
        name, words = tokens[position].text, tokens[position + 1 : end]
        if name in ("if", "ifdef", "ifndef"):
            if name == "if":
                active.append(self.condition(words))
            else:
                known = words[0].text in self.macros or words[0].text in PREDEFINED
                active.append(known == (name == "ifdef"))
        elif name == "else":
            active[-1] = not active[-1]
        elif name == "endif":
            active.pop()
        elif not all(active):
            pass
        elif name == "define":
            # `#define A(` has parameters, `#define A (` has none.
            line = text.split("\n")[words[0].line - 1]
            behind = re.search(r"\b" + re.escape(words[0].text) + r"(\(?)", line)
            self.define(words, behind.group(1) if behind else "")
        elif name == "undef":
            self.macros.pop(words[0].text, None)
        elif name == "include":
            if words[0].kind == "string":
                self.includes.append(words[0].text.strip('"'))
        else:
            raise HeaderError(f"line {tokens[position].line}: #{name} is not understood")
        return end

    def expand(self, tokens: list[Token], hidden: frozenset[str] = frozenset()) -> list[Token]:
        """Expand the macros in a list of tokens."""
        output: list[Token] = []
        position = 0
        while position < len(tokens):
            token = tokens[position]
            position += 1
            macro = (
                self.macros.get(token.text)
                if token.kind == "name" and token.text not in hidden
                else None
            )
            if macro is None or (
                macro.parameters is not None and not self.is_call(tokens, position)
            ):
                output.append(token)
                continue
            body = list(macro.body)
            if macro.parameters is not None:
                arguments, position = self.arguments(tokens, position)
                body = self.substitute(body, dict(zip(macro.parameters, arguments)))
            if (
                len({part.line for part in body}) == 1
            ):  # of a macro of one line: where it is called
                body = [replace(part, line=token.line, ends=token.line) for part in body]
            output += self.expand(body, hidden | {token.text})
        return output

    @staticmethod
    def is_call(tokens: list[Token], position: int) -> bool:
        """Tell whether a parenthesis follows the name of a macro."""
        return position < len(tokens) and tokens[position].text == "("

    @staticmethod
    def arguments(tokens: list[Token], position: int) -> tuple[list[list[Token]], int]:
        """Return the arguments of a macro call and the position behind it."""
        depth, found = 0, [[]]  # type: int, list[list[Token]]
        while position < len(tokens):
            token = tokens[position]
            position += 1
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth == 0:
                return found, position
            if depth == 1 and token.text == "(":
                continue
            if depth == 1 and token.text == ",":
                found.append([])
            else:
                found[-1].append(token)
        raise HeaderError("a macro call has no end")

    @staticmethod
    def substitute(body: list[Token], values: dict[str, list[Token]]) -> list[Token]:
        """Put the arguments into the body of a macro, and paste tokens at ##."""
        output: list[Token] = []
        paste = False
        for token in body:
            if token.text == "##":
                paste = True
                continue
            parts = [token]
            if token.kind == "name" and token.text in values:
                parts = [
                    replace(part, line=token.line, ends=token.ends) for part in values[token.text]
                ]
            if paste and output and parts:
                joined = output[-1].text + parts[0].text
                output[-1] = replace(output[-1], kind="name", text=joined)
                parts = parts[1:]
            paste = False
            output += parts
        return output


class Evaluator:
    """Computes constant expressions, with the type that C gives them."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[int | str, str]] = {
            name: (v, f"uint{len(bin(v)) - 2}_t") for name, v in LIMITS.items()
        }

    def value(self, tokens: list[Token]) -> tuple[int | str, str] | None:
        """Return value and type of an expression; None if it is not constant."""
        words = [token for token in tokens if token.kind not in ("comment", "newline")]
        if len(words) == 1 and words[0].kind == "string":
            return json.loads(words[0].text), "string"
        bits, parts, position = 31, [], 0
        while position < len(words):
            token = words[position]
            cast = [word.text for word in words[position : position + 3]]
            if len(cast) == 3 and cast[0] == "(" and cast[1] in INTEGERS and cast[2] == ")":
                bits = max(bits, 64 if cast[1] in ("uint64_t", "size_t") else 32)
                position += 3
                continue
            if token.kind == "number":
                digits = token.text.rstrip("uUlL")
                suffix = token.text[len(digits) :].lower()
                bits = max(
                    bits,
                    64
                    if "ll" in suffix or int(digits, 0) > 0xFFFFFFFF
                    else 32
                    if "u" in suffix
                    else 31,
                )
                parts.append(str(int(digits, 0)))
            elif token.kind == "name":
                if token.text not in self.values or isinstance(self.values[token.text][0], str):
                    return None
                number, kind = self.values[token.text]
                bits = max(
                    bits, {"int": 31, UNSIGNED_32: 32}.get(kind, 64 if kind == UNSIGNED_64 else 32)
                )
                parts.append(f"({number})")
            elif token.text in "()+-*~|&<<>>%":
                parts.append(token.text)
            else:
                return None
            position += 1
        if not parts:
            return None
        try:
            number = int(
                eval(" ".join(parts), {"__builtins__": {}})
            )  # numbers and operators alone
        except (SyntaxError, TypeError, ValueError):
            return None
        if bits == 31:
            return number, "int"
        return number & ((1 << bits) - 1), UNSIGNED_32 if bits == 32 else UNSIGNED_64


class Parser:
    """Reads the declarations of one header."""

    def __init__(self, header: Header, tokens: list[Token], evaluator: Evaluator) -> None:
        self.header, self.evaluator = header, evaluator
        self.tokens, self.position = tokens, 0
        self.typedefs: set[str] = set()

    # -- tokens -----------------------------------------------------------------------------------

    def fail(self, token: Token | None, wanted: str) -> HeaderError:
        """Return the error of a token that does not fit."""
        where = f"{self.header.name}:{token.line}" if token else f"{self.header.name}: end"
        return HeaderError(
            f"{where}: {wanted} is wanted, not {token.text if token else 'the end'}"
        )

    def peek(self) -> Token | None:
        """Return the next token that is no comment, without taking it."""
        position = self.position
        while position < len(self.tokens) and self.tokens[position].kind == "comment":
            position += 1
        return self.tokens[position] if position < len(self.tokens) else None

    def take(self, text: str | None = None, kind: str | None = None) -> Token:
        """Take the next token that is no comment."""
        token = self.peek()
        if (
            token is None
            or (text is not None and token.text != text)
            or (kind is not None and token.kind != kind)
        ):
            raise self.fail(token, text or kind or "a token")
        while self.tokens[self.position] is not token:
            self.position += 1
        self.position += 1
        return token

    def accept(self, *texts: str) -> Token | None:
        """Take the next token if it is one of these."""
        token = self.peek()
        return self.take() if token is not None and token.text in texts else None

    def comment_before(self) -> str | None:
        """Return the comment that ends on the line before the next token."""
        token = self.peek()
        if token is None:
            return None
        last = None
        for other in self.tokens[self.position :]:
            if other is token:
                break
            last = other
        return (
            last.text if last is not None and token.line - 1 <= last.ends <= token.line else None
        )

    def comment_behind(self, line: int) -> str | None:
        """Return the comment that begins on this line, behind the token that was taken last."""
        if self.position < len(self.tokens):
            token = self.tokens[self.position]
            if token.kind == "comment" and token.line == line:
                self.position += 1
                return token.text
        return None

    # -- types ------------------------------------------------------------------------------------

    def base_type(self) -> dict[str, Any]:
        """Read a type without its declarator: `const struct uvmp_tree`."""
        is_const = self.accept("const") is not None
        token = self.take(kind="name")
        if token.text in ("struct", "enum"):
            kind = {"kind": token.text, "name": self.take(kind="name").text}
        elif token.text == "void":
            kind = {"kind": "void"}
        elif token.text in INTEGERS:
            kind = {"kind": "scalar", "name": token.text}
        elif token.text.startswith("uvmp_"):
            kind = {"kind": "typedef", "name": token.text}
        else:
            raise self.fail(token, "a type")
        is_const = self.accept("const") is not None or is_const
        return {**kind, "const": True} if is_const else kind

    def constant(self, end: str) -> int:
        """Read a constant expression up to a mark, which is taken."""
        words: list[Token] = []
        while (token := self.take()).text != end:
            words.append(token)
        value = self.evaluator.value(words)
        if value is None or isinstance(value[0], str):
            raise self.fail(words[0] if words else None, "a constant")
        return value[0]

    def declarator(
        self, base: dict[str, Any], is_parameter: bool = False
    ) -> tuple[str, dict[str, Any]]:
        """Read pointers, name, arrays, or a pointer to a function; return name and type."""
        kind = dict(base)
        while self.accept("*"):
            kind = {"kind": "pointer", "to": kind}
            if self.accept("const"):
                kind["const"] = True
        if self.accept("("):
            self.take("*")
            name = self.take(kind="name").text
            self.take(")")
            arguments = self.parameters()
            return name, {
                "kind": "pointer",
                "to": {"kind": "function", "returns": kind, "arguments": arguments},
            }
        token = self.peek()
        name = self.take().text if token is not None and token.kind == "name" else ""
        lengths = []
        while self.accept("["):
            lengths.append(0 if self.accept("]") else self.constant("]"))
        for length in reversed(lengths):
            kind = {"kind": "array", "of": kind, "length": length}
        if is_parameter and lengths:  # an array argument is a pointer to its elements
            kind = {
                "kind": "pointer",
                "to": kind["of"],
                **({"length": lengths[0]} if lengths[0] else {}),
            }
        return name, kind

    def parameters(self) -> list[dict[str, Any]]:
        """Read the parameters of a function, from `(` to `)`."""
        self.take("(")
        found = []
        while True:
            name, kind = self.declarator(self.base_type(), True)
            if not (kind == {"kind": "void"} and not name):
                found.append({"name": name, "type": kind})
            if self.accept(")"):
                return found
            self.take(",")

    # -- declarations -----------------------------------------------------------------------------

    def fields(self) -> list[dict[str, Any]]:
        """Read the members of a structure or union, from `{` to `}`."""
        self.take("{")
        found: list[dict[str, Any]] = []
        while not self.accept("}"):
            before = self.comment_before()
            if self.accept("union"):
                members = self.fields()
                found.append(
                    {"name": "", "type": {"kind": "union", "fields": members}, "comment": ""}
                )
                self.take(";")
                continue
            base = self.base_type()
            declared = [self.declarator(base)]
            while self.accept(","):
                behind = self.comment_behind(self.tokens[self.position - 1].line)
                before = before or behind
                declared.append(self.declarator(base))
            line = self.take(";").line
            comment = first_sentence(self.comment_behind(line) or before)
            found += [{"name": name, "type": kind, "comment": comment} for name, kind in declared]
        return found

    def struct(self, comment: str | None) -> None:
        """Read a structure behind the word `struct`, or its declaration without members."""
        name = self.take(kind="name").text
        if self.accept(";"):
            self.header.structs.append(
                {"name": name, "comment": first_sentence(comment), "fields": None}
            )
            return
        self.header.structs.append(
            {"name": name, "comment": first_sentence(comment), "fields": self.fields()}
        )
        self.take(";")

    def enum(self, comment: str | None) -> None:
        """Read an enumeration behind the word `enum`."""
        name = self.take(kind="name").text
        self.take("{")
        values: list[dict[str, Any]] = []
        following = 0
        while not self.accept("}"):
            before = self.comment_before()
            token = self.take(kind="name")
            words: list[Token] = []
            if self.accept("="):
                while (word := self.peek()) is not None and word.text not in (",", "}"):
                    words.append(self.take())
                value = self.evaluator.value(words)
                if value is None or isinstance(value[0], str):
                    raise self.fail(token, "a constant")
                following = value[0]
            line = words[-1].line if words else token.line
            if (comma := self.accept(",")) is not None:
                line = comma.line
            behind = self.comment_behind(line)
            self.evaluator.values[token.text] = (following, "int")
            values.append(
                {
                    "name": token.text,
                    "value": following,
                    "comment": first_sentence(behind or before),
                }
            )
            following += 1
        self.take(";")
        self.header.enums.append(
            {"name": name, "comment": first_sentence(comment), "values": values}
        )

    def typedef(self, comment: str | None) -> None:
        """Read a typedef: of a scalar, or of a structure with its members."""
        if self.accept("struct"):
            tag = self.take(kind="name").text
            members = self.fields()
            name = self.take(kind="name").text
            self.header.structs.append(
                {"name": tag, "comment": first_sentence(comment), "fields": members}
            )
            kind: dict[str, Any] = {"kind": "struct", "name": tag}
        else:
            name, kind = self.declarator(self.base_type())
        self.take(";")
        self.header.typedefs.append(
            {"name": name, "type": kind, "comment": first_sentence(comment)}
        )

    def function(self, comment: str | None, is_inline: bool) -> None:
        """Read a prototype, or an inline function with its body."""
        base = self.base_type()
        while self.accept("*"):
            base = {"kind": "pointer", "to": base}
        name = self.take(kind="name").text
        arguments = self.parameters()
        if is_inline:
            depth = 0
            while True:
                token = self.take()
                depth += {"{": 1, "}": -1}.get(token.text, 0)
                if depth == 0 and token.text == "}":
                    break
        else:
            self.take(";")
        self.header.functions.append(
            {
                "name": name,
                "returns": base,
                "arguments": arguments,
                "inline": is_inline,
                "comment": first_sentence(comment),
            }
        )

    def run(self) -> None:
        """Read all declarations."""
        first = next((token.text for token in self.tokens if token.kind == "comment"), "")
        self.header.summary = re.sub(r"^[\w.]+: ", "", first_sentence(first))
        while (token := self.peek()) is not None:
            comment = self.comment_before()
            following = [
                other.text for other in self.tokens[self.position :] if other.kind != "comment"
            ][1:3]
            if token.text == "typedef":
                self.take()
                self.typedef(comment)
            elif token.text in ("struct", "enum") and following[1:] in (["{"], [";"]):
                self.take()
                (self.struct if token.text == "struct" else self.enum)(comment)
            elif token.text == "static":
                self.take()
                self.take("inline")
                self.function(comment, True)
            elif token.text == "extern":
                raise self.fail(token, "a declaration")
            else:
                self.function(comment, False)


def read(path: str, library: str, macros: dict[str, Macro], evaluator: Evaluator) -> Header:
    """Read one header."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    header = Header(os.path.basename(path), library)
    preprocessor = Preprocessor(macros)
    try:
        # UVMP_API marks exported functions; the marks of a compiler are left out.
        tokens = preprocessor.run(re.sub(r"(?m)^#define UVMP_API .*", "#define UVMP_API", text))
        parser = Parser(header, tokens, evaluator)
        # Array lengths use constants, and constants may use enumerators: first all that can be
        # computed now, later the others.
        pending = []
        for name, macro, comment in preprocessor.own:
            pending.append((name, macro, comment, evaluate(evaluator, name, macro)))
        parser.run()
    except HeaderError as error:
        text = str(error)
        raise HeaderError(
            text if text.startswith(header.name) else f"{header.name}: {text}"
        ) from None
    header.includes = preprocessor.includes
    for name, macro, comment, value in pending:
        value = value or evaluate(evaluator, name, macro)
        if value is not None:
            header.constants.append(
                {
                    "name": name,
                    "type": value[1],
                    "value": value[0],
                    "comment": first_sentence(comment or None),
                }
            )
    return header


def evaluate(evaluator: Evaluator, name: str, macro: Macro) -> tuple[int | str, str] | None:
    """Return the value of a macro that is a public constant."""
    if macro.parameters is not None or not name.startswith("UVMP_"):
        return None
    value = evaluator.value(macro.body)
    if value is not None:
        evaluator.values[name] = value
    return value


def in_order(paths: list[str]) -> list[str]:
    """Sort headers so that each stands behind those that it includes."""
    by_name = {os.path.basename(path): path for path in paths}
    placed: list[str] = []

    def place(name: str) -> None:
        if name not in by_name or by_name[name] in placed:
            return
        with open(by_name[name], encoding="utf-8") as file:
            for included in re.findall(
                r'(?m)^#include ["<](?:uvmpolicy/)?(\w+\.h)[">]', file.read()
            ):
                place(included)
        placed.append(by_name[name])

    for name in sorted(by_name):
        place(name)
    return placed


def describe(paths: list[str]) -> dict[str, Any]:
    """Return the description of the headers."""
    macros = {name: Macro(None, tokens_of(text)) for name, text in PREDEFINED.items()}
    evaluator = Evaluator()
    headers = []
    for path in in_order(paths):
        library = "libuvmpolicy" if "/include/" in "/" + path else "libuvmpolicy-host"
        headers.append(read(path, library, macros, evaluator))
    opaque = {
        struct["name"]
        for header in headers
        for struct in header.structs
        if struct["fields"] is None
    }
    whole = {
        struct["name"]
        for header in headers
        for struct in header.structs
        if struct["fields"] is not None
    }
    merged: dict[str, Any] = {
        "format": FORMAT,
        "version": evaluator.values.get("UVMP_VERSION_STRING", ("", ""))[0],
        "headers": [
            {
                "name": header.name,
                "library": header.library,
                "comment": header.summary,
                "includes": header.includes,
            }
            for header in headers
        ],
    }
    for kind in ("typedefs", "constants", "enums", "structs", "functions"):
        rows = []
        for header in headers:
            for row in getattr(header, kind):
                if (
                    kind == "structs"
                    and row["fields"] is None
                    and (row["name"] in whole or row["name"] not in opaque)
                ):
                    continue
                if kind == "structs":
                    opaque.discard(row["name"])
                rows.append({"name": row["name"], "header": header.name, **row})
        merged[kind] = rows
    return merged


def dump(description: dict[str, Any]) -> str:
    """Return the description as JSON: a line for each member, enumerator, constant, function."""

    def short(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)

    def rows(values: list[dict[str, Any]], indent: str) -> str:
        lines = []
        for row in values:
            nested = next((key for key in ("fields", "values") if row.get(key)), None)
            if nested is None:
                lines.append(indent + short(row))
                continue
            head = short({key: value for key, value in row.items() if key != nested})[:-1]
            lines.append(
                f'{indent}{head}, "{nested}": [\n{rows(row[nested], indent + "  ")}\n{indent}]}}'
            )
        return ",\n".join(lines)

    parts = []
    for key, value in description.items():
        if isinstance(value, list):
            parts.append(f'  "{key}": [\n{rows(value, "    ")}\n  ]')
        else:
            parts.append(f'  "{key}": {short(value)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main() -> int:
    """Print the description of the headers that the command line names."""
    if len(sys.argv) < 2:
        print("usage: describe.py HEADER... > api.json", file=sys.stderr)
        return 2
    try:
        text = dump(describe(sys.argv[1:]))
    except (HeaderError, OSError) as error:
        print(f"describe.py: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
