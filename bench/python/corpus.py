"""The corpus recipe of docs/python.md on text made here, with umbel's filter, rbloom's and a Python set.

Documents are lines of words drawn by Zipf's law; some are copies of earlier ones, whole or with words changed. Each package
runs in a process of its own, and reports the documents kept, seconds of processor time, and its greatest resident memory. A
set gives the exact answer, as far as it gets within the memory limit.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time

WORDS = 100_000
NEAR, WHOLE = 0.15, 0.05


def make(path, size):
    """Writes documents until the file has that many bytes; returns their number."""
    import numpy as np

    random_words = np.random.default_rng(1)
    choose = random.Random(1)
    weights = 1 / np.arange(1, WORDS + 1)
    weights = np.cumsum(weights / weights.sum())
    vocabulary = [f"{number:x}"[::-1] + "aeiou"[number % 5] for number in range(WORDS)]
    recent, written, documents = [], 0, 0
    with open(path, "w") as out:
        while written < size:
            drawn = choose.random()
            if recent and drawn < NEAR + WHOLE:
                words = choose.choice(recent)[:]
                if drawn < NEAR:
                    for _ in range(choose.randint(1, 3)):
                        words[choose.randrange(len(words))] = "changed"
            else:
                ranks = np.searchsorted(weights, random_words.random(choose.randint(50, 600)))
                words = [vocabulary[rank] for rank in ranks]
                recent.append(words)
                if len(recent) > 20_000:
                    recent[choose.randrange(len(recent))] = recent.pop()
            text = " ".join(words)
            out.write(f"{text}\n")
            written += len(text) + 1
            documents += 1
    return documents


def ngrams(text, n=5):
    words = text.split()
    return [" ".join(words[i : i + n]) for i in range(max(1, len(words) - n + 1))]


def umbel_filter(keys):
    import umbel

    seen = umbel.Bloom(keys, 0.001)
    return (lambda grams: sum(seen.contains_many(grams))), seen.update


def rbloom_filter(keys):
    import rbloom

    seen = rbloom.Bloom(keys, 0.001)
    return (lambda grams: sum(gram in seen for gram in grams)), seen.update


def python_set(_):
    seen = set()
    return (lambda grams: sum(gram in seen for gram in grams)), seen.update


MAKERS = {"umbel": umbel_filter, "rbloom": rbloom_filter, "set": python_set, "n-grams alone": None}


def run(name, path, keys, threshold=0.8):
    known, update = MAKERS[name](keys) if MAKERS[name] else (lambda _: 0, lambda _: None)
    start, kept, documents = time.process_time(), 0, 0
    with open(path) as lines:
        try:
            for text in lines:
                grams = ngrams(text)
                if known(grams) <= threshold * len(grams):
                    update(grams)
                    kept += 1
                documents += 1
        except MemoryError:
            known = update = None
    seconds = time.process_time() - start
    with open("/proc/self/status") as status:
        peak = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))
    return {"documents": documents, "kept": kept, "seconds": seconds, "peak": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bytes", type=float, default=1e9, help="size of the text")
    parser.add_argument("--limit", type=float, default=14e9, help="bytes of memory that each may have")
    parser.add_argument("--package", choices=MAKERS, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    # A word has some five letters and a space, and begins an n-gram.
    keys = int(arguments.bytes / 5)
    if arguments.package:
        limit = int(arguments.limit)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        print(json.dumps(run(arguments.package, arguments.path, keys)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "corpus")
        documents = make(path, arguments.bytes)
        print(f"{arguments.bytes / 1e9:g} GB, {documents:,} documents\n")
        print("| n-grams in | kept | seconds | without making n-grams | peak memory |\n|---|---|---|---|---|")
        alone = None
        for name in ["n-grams alone", *(name for name in MAKERS if MAKERS[name])]:
            command = [sys.executable, __file__, "--package", name, "--path", path]
            limits = ["--bytes", str(arguments.bytes), "--limit", str(arguments.limit)]
            done = subprocess.run([*command, *limits], check=True, stdout=subprocess.PIPE)
            found = json.loads(done.stdout)
            alone = alone or found["seconds"]
            seconds, peak = found["seconds"], f"{found['peak'] / 1e6:,.0f} MB"
            if found["documents"] < documents:
                print(f"| {name} | out of memory after {found['documents']:,} documents | {seconds:.0f} | | {peak} |")
            else:
                print(f"| {name} | {found['kept']:,} | {seconds:.0f} | {seconds - alone:.0f} | {peak} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
