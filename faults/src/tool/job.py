import os, sys, umbel, umbel.parquet
program, out, error = compile(sys.argv[1], 'job', 'exec'), [], None
lists = {name: open(name).read().split() for name in ('a', 'b')}
os.getpriority(os.PRIO_PROCESS, 0)
try:
    exec(program, {'umbel': umbel, 'out': out, **lists})
except Exception as found:
    error = found
os.getpriority(os.PRIO_PROCESS, 0)
sys.stdout.write('\n'.join(out))
if error is not None:
    sys.exit([print(type(error).__name__, error, sep=': ', file=sys.stderr), 2][1])
