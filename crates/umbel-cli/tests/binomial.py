"""Whether so many hits are what a rate explains: `binomial.py TRIALS RATE HITS`.

Prints `within` if HITS are within the exact bounds at 1e-9: that as few, and that as many, have a chance of more than 0.5e-9 each.
"""

import sys
from math import exp, fsum, lgamma, log, log1p

TRIALS, RATE, HITS = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


def chance(hits):
    ways = lgamma(TRIALS + 1) - lgamma(hits + 1) - lgamma(TRIALS - hits + 1)
    return exp(ways + hits * log(RATE) + (TRIALS - hits) * log1p(-RATE))


fewer, more = (fsum(map(chance, hits)) for hits in (range(HITS + 1), range(HITS, TRIALS + 1)))
print("within" if min(fewer, more) > 0.5e-9 else f"{HITS} hits: as few {fewer:.3g}, as many {more:.3g}")
