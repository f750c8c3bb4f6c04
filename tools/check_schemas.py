#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For developers: random texts of the grammars that JSON schemas become, against Python's jsonschema.

    make build/tools/gbnf && python3 tools/check_schemas.py build/tools/gbnf [texts for each schema] [seed]

Reads tests/data/schemas.txt: "ok SCHEMA" lines are sampled and every text must validate; "no SCHEMA" lines, with the
error behind a tab, must be refused with it. Skips, and says so, where jsonschema is not installed."""
import json
import random
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skip schemas: jsonschema is not installed")
    sys.exit(0)

sys.setrecursionlimit(100000)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
DIGITS = {"x": 2, "u": 4, "U": 8}


class Grammar:
    """GBNF as tl_lang_print writes it. Nodes: ("set", ranges), ("ref", name), ("seq", parts), ("alt", ways),
    ("rep", part, least, most or None). cost: fewest rules on the way to a complete text."""

    def __init__(self, text):
        self.rules = {}
        for line in text.splitlines():
            name, self.text = line.split(" ::= ", 1)
            self.at = 0
            self.rules[name] = self.alternatives()
        self.cost = {name: None for name in self.rules}
        news = True
        while news:
            news = False
            for name, node in self.rules.items():
                c = self.price(node)
                if c is not None and (self.cost[name] is None or c + 1 < self.cost[name]):
                    self.cost[name], news = c + 1, True

    def char(self):
        c = self.text[self.at]
        self.at += 1
        if c != "\\":
            return c
        c = self.text[self.at]
        self.at += 1
        n = DIGITS.get(c, 0)
        self.at += n
        return chr(int(self.text[self.at - n:self.at], 16)) if n else ESCAPES.get(c, c)

    def atom(self):
        c = self.text[self.at]
        if c == "(":
            self.at += 1
            node = self.alternatives()
            self.at += 1
            return node
        if c == '"':
            self.at += 1
            parts = []
            while self.text[self.at] != '"':
                v = self.char()
                parts.append(("set", [(ord(v), ord(v))]))
            self.at += 1
            return ("seq", parts)
        if c == "[":
            self.at += 1
            ranges = []
            while self.text[self.at] != "]":
                lo = hi = ord(self.char())
                if self.text[self.at] == "-":
                    self.at += 1
                    hi = ord(self.char())
                ranges.append((lo, hi))
            self.at += 1
            return ("set", ranges)
        start = self.at
        while self.at < len(self.text) and self.text[self.at].isalnum():
            self.at += 1
        assert self.at > start, self.text[self.at:self.at + 40]
        return ("ref", self.text[start:self.at])

    def part(self):
        node = self.atom()
        while self.at < len(self.text) and self.text[self.at] in "*+?{":
            c = self.text[self.at]
            self.at += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(c, (0, 0))
            if c == "{":
                end = self.text.index("}", self.at)
                bounds = self.text[self.at:end].split(",")
                least = int(bounds[0])
                most = (int(bounds[-1]) if bounds[-1] else None)
                self.at = end + 1
            node = ("rep", node, least, most)
        return node

    def alternatives(self):
        ways, parts = [], []
        while self.at < len(self.text) and self.text[self.at] != ")":
            if self.text[self.at] == " ":
                self.at += 1
            elif self.text[self.at] == "|":
                self.at += 1
                ways.append(("seq", parts))
                parts = []
            else:
                parts.append(self.part())
        ways.append(("seq", parts))
        return ways[0] if len(ways) == 1 else ("alt", ways)

    def price(self, node):
        kind = node[0]
        if kind == "set":
            return 0
        if kind == "ref":
            return self.cost[node[1]]
        if kind == "rep":
            return 0 if node[2] == 0 else self.price(node[1])
        prices = [self.price(n) for n in node[1]]
        if kind == "seq":
            return None if None in prices else max(prices, default=0)
        return min((p for p in prices if p is not None), default=None)

    def text_of(self, rng, node, fuel, out):
        """fuel: choices still free; without any, the cheapest way is taken. Returns what is left."""
        kind = node[0]
        if kind == "set":
            lo, hi = rng.choice(node[1])
            if hi - lo > 500 and rng.random() < 0.9:
                hi = lo + 90
            out.append(chr(rng.randint(lo, hi)))
        elif kind == "ref":
            return self.text_of(rng, self.rules[node[1]], fuel - 1, out)
        elif kind == "seq":
            for n in node[1]:
                fuel = self.text_of(rng, n, fuel, out)
        elif kind == "alt":
            prices = [(self.price(n), i) for i, n in enumerate(node[1])]
            possible = [i for p, i in prices if p is not None]
            pick = rng.choice(possible) if fuel > 0 else min((p, i) for p, i in prices if p is not None)[1]
            return self.text_of(rng, node[1][pick], fuel - 1, out)
        else:
            least, most = node[2], node[3]
            n = least
            if fuel > 0 and self.price(node[1]) is not None:
                n = rng.choice([least, least + 1, least + rng.randint(0, 5), most if most and most < 70 else least])
                n = n if most is None else min(n, most)
            for _ in range(n):
                fuel = self.text_of(rng, node[1], fuel - 1, out)
        return fuel

    def sample(self, rng):
        out = []
        self.text_of(rng, self.rules["root"], rng.choice([0, 5, 60, 300]), out)
        return "".join(out)


def main():
    tool, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    cases = []
    for line in open("tests/data/schemas.txt", encoding="utf-8"):
        if line.startswith(("ok ", "no ")):
            schema, _, error = line.rstrip("\n")[3:].partition("\t")
            cases.append((line[:2], schema, error))
    done = subprocess.run([tool], input="".join(c[1] + "\n" for c in cases), capture_output=True, text=True, check=True)
    answers = done.stdout.split("\n\n")
    bad = texts = 0
    for (kind, schema, error), answer in zip(cases, answers):
        refused = answer.startswith("error: ")
        if refused != (kind == "no") or (refused and error not in answer):
            print("FAIL %s: %s" % (schema[:200], answer[:200]))
            bad += 1
            continue
        if refused:
            continue
        loaded = json.loads(schema)
        cls = jsonschema.validators.validator_for(loaded, default=jsonschema.Draft202012Validator)
        validator = cls(loaded, format_checker=cls.FORMAT_CHECKER)
        grammar = Grammar(answer)
        for _ in range(count):
            text = grammar.sample(rng)
            texts += 1
            try:
                fault = next(validator.iter_errors(json.loads(text)), None)
            except ValueError as e:
                fault = e
            if fault is not None:
                print("FAIL %s\n  %s\n  %s" % (schema[:300], text[:300], str(fault).splitlines()[0][:200]))
                bad += 1
                break
    print("%d schemas, %d texts, %d failed" % (len(cases), texts, bad))
    sys.exit(bad != 0)


main()
