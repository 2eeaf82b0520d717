"""Formulas of the docstrings, which are plain text there (``sqrt(2 ln t / N)``), as LaTeX for the pages.

A slash becomes a fraction bar: all factors up to the last sign stand above it; below it stands one factor, or all
factors up to the next sign where the slash has blanks on both sides.
"""

from __future__ import annotations

import re

TOKEN = re.compile(r"\s+|\d[\d.,]*\d|\d|[A-Za-z]+(?:-[A-Za-z]+)+|[A-Za-z]+|\+=|.")
NAMES = (
    "alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon varphi chi "
    "psi omega Gamma Delta Theta Lambda Xi prod sum Upsilon Phi Psi Omega ell"
)
GREEK = dict(zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩℓ", NAMES.split(" "), strict=True))
FUNCTIONS = {"ln": r"\ln", "exp": r"\exp", "max": r"\max", "min": r"\min", "sup": r"\sup", "inf": r"\inf"}
UPRIGHT = {"argmax", "Beta", "kl"}
SYMBOLS = {
    "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "∈": r"\in", "∋": r"\ni", "·": r"\cdot", "−": "-", "←": r"\leftarrow",
    "→": r"\to", "±": r"\pm", "∞": r"\infty", "∫": r"\int", "…": r"\ldots", "‖": r"\Vert", "~": r"\sim", "#": r"\#",
    ":": ":", "=": "=", "+": "+", ",": ",", ";": r";\;", "<": "<", ">": ">", "+=": r"\mathrel{+}=", "%": r"\%",
    "*": "*", "-": "-", "∅": r"\emptyset",
}  # fmt: skip
RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
BARRED = {"ȳ": "y", "x̄": "x"}
CLOSING = {"(": ")", "[": "]", "{": "}", "⌊": "⌋", "⌈": "⌉", "|": "|"}
FENCES = {
    "(": "(", ")": ")", "[": "[", "]": "]", "{": r"\{", "}": r"\}", "⌊": r"\lfloor", "⌋": r"\rfloor",
    "⌈": r"\lceil", "⌉": r"\rceil", "|": r"\vert",
}  # fmt: skip
BREAKS = set("=≤≥≠∈∋←→±:,;<>+−~-·%…") | {"+="}
#: What makes plain text a formula rather than code.
SIGN = re.compile(
    r"[α-ωΑ-Ωℓ≤≥≠∈−√∞∫⌊⌈²³±←]|\b[A-Za-z]['*]?_(?:[a-z0-9+]\b|max\b|min\b|\{)|\bsqrt\(|\)_\+|\^|\b[A-Z]\([a-z0-9]\)|^[A-Z]/[A-Z]$"
)
WORDS = UPRIGHT | set(FUNCTIONS) | {"sqrt", "score", "best", "plays", "dx", "Opt-F", "Opt-NF", "top-m", "critical"}
WORDS |= {"non-critical", "scale", "inside", "and", "over", "the", "of", "for", "with", "inner", "given", "or"}


CODE = re.compile(r"(?<![`}:])(`{1,2})(?!`)([^`]+)\1(?!`)")


BARE = re.compile(r"(?<![\w`/.(])([A-Za-zα-ωΑ-Ω]_[a-z0-9])(?![\w`(])")


def is_formula(text: str) -> bool:
    """Whether text set as code is a formula: it has a sign of one and no word of a program."""
    if re.search(
        r"[\"'`@#\\]{2}|[\"`@\\]|\w_\w\w\w|[a-z]\.\w|=\w*=|[a-z]=|\w\w\(\)", re.sub(r"_(max|min|tol)\b", "", text)
    ):
        return False
    words = re.findall(r"(?<![\w_])[A-Za-z]{2,}(?:-[A-Za-z]+)*", re.sub(r"_\{[^}]*\}|_[a-z]+", " ", text))
    return bool(SIGN.search(text)) and all(word in WORDS or len(set(word)) < 2 for word in words)


def latex(text: str) -> str:
    """A formula as LaTeX.

    >>> latex("S/N + sqrt(2 ln t / N)")
    '\\\\frac{S}{N} + \\\\sqrt{\\\\frac{2 \\\\ln t}{N}}'
    """
    return _Reader(text).sum("")


def typeset(text: str, every: bool = False, role: str = "{{math}}`{}`") -> str:
    """Text with the formulas in it, which are set as code, as roles of MyST; with ``every`` all code is formulas."""

    def one(found: re.Match[str]) -> str:
        content = " ".join(found[2].split())
        return role.format(latex(content)) if every or is_formula(content) else found[0]

    return CODE.sub(one, text)


def typeset_bare(text: str, role: str = "{{math}}`{}`") -> str:
    """Text with ``r_i`` and the like typeset, where it does not stand in code."""
    pieces = re.split(r"(`+[^`]*`+)", text)
    pieces[::2] = [BARE.sub(lambda found: role.format(latex(found[1])), piece) for piece in pieces[::2]]
    return "".join(pieces)


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, text: str) -> None:
        self.tokens = TOKEN.findall(text)
        self.place = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.place + ahead
        return self.tokens[place] if place < len(self.tokens) else ""

    def take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def blank(self) -> bool:
        """Passes over blanks; whether there were any."""
        found = False
        while self.peek().isspace():
            found = bool(self.take())
        return found

    def sum(self, closing: str) -> str:
        """Terms and the signs between them, up to a closing bracket."""
        pieces: list[str] = []
        while self.peek():
            self.blank()
            token = self.peek()
            if not token or token == closing or token in (")", "]", "}", "⌋", "⌉"):
                break
            if token == ":" and self.tokens[self.place - 1] == " ":
                pieces.append(rf"\;{self.take()}\;")
            elif token in BREAKS:
                pieces.append(SYMBOLS[self.take()])
            else:
                pieces.append(self.term(closing))
        return _joined(pieces)

    def term(self, closing: str) -> str:
        """Factors side by side, and what they are divided by."""
        before: list[str] = []  # big operators, which no fraction takes in
        factors: list[str] = []
        while self.peek():
            spaced = self.blank()
            token = self.peek()
            if not token or token == closing or token in BREAKS or token in (")", "]", "}", "⌋", "⌉"):
                break
            if token == "/":
                self.take()
                wide = spaced and self.blank()
                if wide and self.peek() == "Σ":  # a sum over a sum
                    above = [one for one in before if one.startswith(r"\sum")]
                    before, factors = [one for one in before if one not in above], above + factors
                below = self.product(closing) if wide else self.divisor()
                factors = [rf"\frac{{{_bare(_joined(factors))}}}{{{_bare(below)}}}"]
            elif token in ("Σ", "Π", "∫") or (token in (*FUNCTIONS, "argmax") and token not in ("ln", "exp")):
                one = self.factor()
                if one.endswith(")"):  # applied to something, such as max(x, 0)
                    factors.append(one)
                else:
                    before, factors = [*before, *factors, one], []
            else:
                factors.append(self.factor())
        return _joined(before + factors)

    def divisor(self) -> str:
        """One factor, or a sum sign and what it sums."""
        summed = self.peek() == "Σ"
        one = self.factor()
        self.blank() if summed else None
        return f"{one} {self.factor()}" if summed else one

    def product(self, closing: str) -> str:
        """What stands below a fraction bar: the factors up to the next sign."""
        factors = []
        while self.peek():
            self.blank()
            token = self.peek()
            if not token or token == closing or token in BREAKS or token in (")", "]", "}", "⌋", "⌉", "/"):
                break
            factors.append(self.factor())
        return _joined(factors)

    def factor(self) -> str:
        """One factor, with its indices, exponents and arguments."""
        token = self.take()
        if token == "sqrt" and self.peek() == "(":
            self.take()
            inside = self.sum(")")
            self.close(")")
            return self.scripts(rf"\sqrt{{{inside}}}")
        if token in CLOSING:
            inside = self.sum(CLOSING[token])
            self.close(CLOSING[token])
            return self.scripts(_fenced(inside, token))
        if token == "ln":
            return self.logarithm()
        one = self.scripts(self.symbol(token))
        if self.peek() == "(" and (token in (*FUNCTIONS, *UPRIGHT) or token.isalpha() or token == "1"):
            one = one if token != "1" else "𝟏"
            one += self.bracket()
        elif token in (*UPRIGHT, *FUNCTIONS):
            one += r"\,"
        return one

    def logarithm(self) -> str:
        r"""``ln`` with what it is taken of."""
        if self.peek() == "(":
            return r"\ln" + self.bracket()
        self.blank()
        return r"\ln\," + (self.factor() if self.peek() else "")

    def bracket(self) -> str:
        """Arguments in brackets."""
        self.take()
        inside = self.sum(")")
        self.close(")")
        return self.scripts(_fenced(inside, "("))

    def symbol(self, token: str) -> str:
        """A letter, number, sign or word."""
        if token in GREEK:
            return "\\" + GREEK[token]
        if token in FUNCTIONS:
            return FUNCTIONS[token]
        if token in UPRIGHT:
            return rf"\mathrm{{{token}}}"
        if token in BARRED:
            return rf"\bar{{{BARRED[token]}}}"
        if token == "dx":
            return r"\,dx"
        if token == "E" and self.peek() in (" ", "["):
            return r"\mathbb{E}"
        if len(token) > 1 and token[0].isalpha():
            return rf"\text{{{self.apart(token)}}}"
        return SYMBOLS.get(token, token)

    def apart(self, word: str) -> str:
        """A word with blanks towards the letters and words beside it."""
        before, after = self.tokens[: self.place - 1], self.tokens[self.place :]
        left = len(before) > 1 and before[-1] == " " and before[-2] not in BREAKS | set(CLOSING)
        right = len(after) > 1 and after[0] == " " and after[1][0].isalpha() and after[1] not in WORDS - UPRIGHT
        return " " * left + word + " " * right

    def scripts(self, one: str) -> str:
        """Indices and exponents behind a factor."""
        below, above = "", ""
        while self.peek():
            token = self.peek()
            if token == "_":
                self.take()
                below += self.script()
            elif token == "^":
                self.take()
                above += self.script()
            elif token == "'":
                above += self.take().replace("'", r"\prime ")
            elif token == "*" and not self.peek(1).isalnum():
                self.take()
                above += r"\ast "
            elif token == "~":
                self.take()
                one = rf"\tilde{{{one}}}"
            elif token in "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺":
                above += self.take().translate(RAISED)
            elif token in "₀₁₂₃₄₅₆₇₈₉":
                below += self.take().translate(LOWERED)
            else:
                break
        return one + (f"_{{{below}}}" if below else "") + (f"^{{{above}}}" if above else "")

    def script(self) -> str:
        """One index or exponent."""
        token = self.take()
        if token in ("{", "("):
            closing = CLOSING[token]
            inside = self.sum(closing)
            self.close(closing)
            return inside
        if token in ("−", "-"):
            return "-" + self.symbol(self.take())
        if len(token) > 1 and token.isalpha():
            return rf"\text{{{token}}}"
        return self.symbol(token) if token != "+" else "+"

    def close(self, closing: str) -> None:
        """A closing bracket must follow."""
        self.blank()
        if self.peek() != closing:
            raise ValueError(f"{''.join(self.tokens)!r}: {closing} is missing at {self.place}")
        self.take()


def _joined(pieces: list[str]) -> str:
    return " ".join(piece for piece in pieces if piece)


def _fenced(inside: str, opening: str) -> str:
    """In brackets, which are tall only around fractions."""
    left, right = FENCES[opening], FENCES[CLOSING[opening]]
    return rf"\left{left} {inside} \right{right}" if r"\frac" in inside else rf"{left} {inside} {right}"


def _bare(text: str) -> str:
    """Without brackets around the whole."""
    for left, right in ((r"\left( ", r" \right)"), ("( ", " )")):
        if text.startswith(left) and text.endswith(right):
            inside = text[len(left) : -len(right)]
            depths = [inside[:end].count("(") - inside[:end].count(")") for end in range(len(inside))]
            return inside if min(depths, default=0) >= 0 else text
    return text
