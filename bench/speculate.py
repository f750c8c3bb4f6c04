#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares texts with and without drafts, and how long they take: python3 bench/speculate.py TINYLLM MODEL... [options].
Prompts are made of this repository's own files: summaries, changes of code, quotes, and tasks that quote nothing. Every
text must be the same; the table shows how much sooner it came (medians of tokens per second with and without)."""
import argparse, glob, json, os, statistics, subprocess, sys

SETTINGS = {"greedy": ["--temp", "0"], "default": [], "hot": ["--temp", "1.3", "--repeat-penalty", "1.2", "--frequency-penalty", "0.3"]}
TASKS = {   # what is asked, and whether it is asked about code, prose, or nothing
    "quote": ("Repeat this text word for word:\n\n", "docs/*.md"),
    "summary": ("Summarise this text in a few sentences:\n\n", "docs/*.md"),
    "code": ("Rename one variable in this code and print the whole code again:\n\n", "src/*/*.c"),
    "free": ("Write a short story about: ", None),
}
TOPICS = "a lighthouse;a lost key;the first snow;two rivers;a clock;an old bridge;bread;a night train".split(";")

def pieces(pattern, n):
    """n pieces of about 1200 bytes, spread over the files in turn."""
    texts = [open(f, encoding="utf-8").read() for f in sorted(glob.glob(pattern))]
    return [texts[i % len(texts)][1200 * (i // len(texts)) % max(1, len(texts[i % len(texts)]) - 1200):][:1200] for i in range(n)]

def prompts(n):
    for i, (task, (words, pattern)) in enumerate(TASKS.items()):
        count = n // len(TASKS) + (i < n % len(TASKS))
        for text in pieces(pattern, count) if pattern else [TOPICS[j % len(TOPICS)] + f", part {j}" for j in range(count)]:
            yield task, words + text

def ask(args, model, prompt, seed, setting, more):
    command = [args.tinyllm, "run", model] + ([] if args.raw else ["--chat"]) + ["-f", "-", "-n", str(args.n), "--seed", str(seed), "-q", "--json"]
    done = subprocess.run(command + setting + more, input=prompt.encode(), stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)

def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tinyllm")
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--prompts", type=int, default=200)
    parser.add_argument("--raw", action="store_true", help="without --chat, for models that have no chat template")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("-n", type=int, default=128, help="tokens of a text")
    parser.add_argument("--with", dest="more", default="--speculate lookup", help="options that draft (--with='--draft FILE')")
    args = parser.parse_args()
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))) if not os.path.isdir("src") else ".")
    different = 0
    print("| model | task | setting | texts | different | drafted | right | faster |\n|---|---|---|---|---|---|---|---|")
    for model in args.models:
        rows = {}
        for task, prompt in prompts(args.prompts):
            for seed in range(args.seeds):
                for name, setting in SETTINGS.items():
                    a = ask(args, model, prompt, seed, setting, [])
                    b = ask(args, model, prompt, seed, setting, args.more.split())
                    rows.setdefault((task, name), []).append((a, b))
        for (task, name), pairs in rows.items():
            bad = sum(any(a[k] != b[k] for k in ("text", "tokens", "finish")) for a, b in pairs)
            gain = [b["decode_tok_s"] / a["decode_tok_s"] for a, b in pairs if a["tokens"] > 1 and a["decode_tok_s"]]
            drafted, right = (sum(b[k] for _, b in pairs) for k in ("drafted", "accepted"))
            print(f"| {os.path.basename(model)} | {task} | {name} | {len(pairs)} | {bad} | {drafted} | {right} | "
                  f"{statistics.median(gain) if gain else 0:.2f} |", flush=True)
            different += bad
    sys.exit(different > 0)

main()
