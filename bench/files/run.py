"""Starting other commands: measured, and unmeasured."""

import os
import shutil
import subprocess
import sys
import time


class Failure(Exception):
    """An error that ends the bench, with a message for the user."""


def note(words):
    print(f"bench files: {words}", file=sys.stderr, flush=True)


# Measured


def measure(argv, stdin=os.devnull, stdout=os.devnull):
    """Runs one command to its end: wall time from outside, CPU time and peak memory from the system's account of it."""
    argv = [str(word) for word in argv]
    stderr = os.environ["TMPDIR"] + "/stderr"
    # What an earlier command wrote must not be written back during this one.
    os.sync()
    with open(stdin, "rb") as source, open(stdout, "wb") as out, open(stderr, "w+b") as err:
        busy = busy_seconds()
        begin = time.perf_counter()
        child = subprocess.Popen(argv, stdin=source, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - begin
        busy = busy_seconds() - busy
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        words = err.read().decode(errors="replace").strip()
    os.unlink(stderr)
    return {
        "wall_s": wall,
        "user_s": usage.ru_utime,
        "sys_s": usage.ru_stime,
        # To a few hundredths: the system counts the whole machine in ticks.
        "others_cpu_s": max(0.0, busy - usage.ru_utime - usage.ru_stime),
        "peak_kib": usage.ru_maxrss,
        "read_bytes": usage.ru_inblock * 512,
        "written_bytes": usage.ru_oublock * 512,
        "exit": child.returncode,
        "stderr": words[-2000:],
    }


def busy_seconds():
    """CPU time that the whole machine has spent on anything, other guests of its host included ("steal")."""
    with open("/proc/stat") as file:
        user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def why(sample):
    last = sample["stderr"].splitlines()[-1:] or ["no message"]
    return f"exit {sample['exit']}: {last[0]}"


def clear(folder):
    """Empties the folder for temporary files; gives the number of entries a command left in it."""
    left = 0
    for entry in folder.iterdir():
        left += 1
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    return left


# Unmeasured


def run_or_fail(argv):
    argv = [str(word) for word in argv]
    try:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise Failure(f"{argv[0]}: no such program; install it") from error
    except subprocess.CalledProcessError as error:
        raise Failure(f"{' '.join(argv[:4])} …: exit {error.returncode}") from error


def shell(script, *arguments):
    """A bash script, its arguments as $1 and so on; a command that fails ends it, in a pipe too."""
    run_or_fail(["bash", "-c", f"set -e -o pipefail; {script}", "-", *arguments])


def output_of(argv):
    """The output of a command, or None if it fails."""
    try:
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
