"""Tables, goals and the record."""

import datetime
import json
import os
import platform
import resource
import statistics

import growth
from data import BENCH, CRATES, LINE_BYTES, SEED, engine_versions
from jobs import ALLOWANCE_MIB
from run import output_of

ROOT = BENCH.parent


def describe(options, cpus):
    """The context of a figure: machine, versions, commit, time."""
    commit = output_of(["git", "-C", ROOT, "rev-parse", "--short=12", "HEAD"])
    if commit and output_of(["git", "-C", ROOT, "status", "--porcelain"]):
        commit += " and changes not committed"
    peers = {name.replace("chdb", "clickhouse"): f"{name} {version}" for name, version in engine_versions().items()}
    peers |= {name: f"{name} {CRATES[name]}" for name in CRATES}
    if "qsv" in options.cases:
        peers["qsv"] = " ".join((output_of([options.qsv, "--version"]) or "qsv").split("-")[0].split()[:2])
    return {
        "type": "about",
        "bench": "files",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "cpu": cpu_name(),
        "cpus": len(cpus),
        "cpus_of_machine": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "commit": commit,
        "rustc": output_of(["rustc", "--version"]),
        "umbel": output_of([options.umbel, "--version"]) if "umbel" in options.cases else None,
        "wc": (output_of(["wc", "--version"]) or "wc").splitlines()[0],
        "peers": [words for kind, words in peers.items() if kind in options.cases],
        "python": platform.python_version(),
        "jobs": options.jobs,
        "scale": options.scale,
        "line_bytes": LINE_BYTES,
        "seed": SEED,
        "rounds": options.runs,
        "checked": not options.no_check,
    }


def heading(about):
    versions = [about["umbel"], about["commit"] and f"commit {about['commit']}", about["rustc"], about["wc"], *about["peers"]]
    return "\n".join([
        f"{about['cpu']}, {about['cpus']} of {about['cpus_of_machine']} CPUs, {about['memory_bytes'] / 2**30:.0f} GiB; "
        f"{about['kernel']}; {about['date']}.",
        ", ".join(filter(None, versions)) + ".",
        f"{about['rounds']} rounds, files in the page cache; answers {'checked' if about['checked'] else 'not checked'}.",
        "",
    ])


def table(job, about):
    """One job: a row for each command, then the goals."""
    left_out = any(case.left_out is not None for case in job.cases)
    rivals = [kind for kind in job.rivals if any(case.kind == kind for case in job.cases)]
    columns = ["command", "median s", "min", "max", "CPU s", "÷ wc", "÷ floor", *(f"{job.rivals[kind]} ÷ this" for kind in rivals),
               *(["left out"] if left_out else []), "peak MiB", f"cap + {ALLOWANCE_MIB} MiB"]
    rows = []
    for case in job.cases:
        if case.failed or not case.samples:
            rows.append([case.name, failed(case)])
            continue
        walls = [sample["wall_s"] for sample in case.samples.values()]
        cpu = statistics.median(sample["user_s"] + sample["sys_s"] for sample in case.samples.values())
        rows.append([
            case.name,
            *(f"{number:.2f}" for number in (statistics.median(walls), min(walls), max(walls), cpu)),
            spread(over(case, job, "wc")),
            spread(over(case, job, "floor")),
            *(spread(under(case, job, kind)) for kind in rivals),
            *(["" if case.left_out is None else f"{case.left_out:,}"] if left_out else []),
            peak_shown(case),
            cap_kept(case),
        ])
    text = [f"## {job.name}", "", f"{job.told}. {others_told([job], about)}", "", *markdown(columns, rows, len(columns) - 1), ""]
    if about["scale"] == 1:
        text += [words for goal in job.goals if (words := judged(goal, job))] + [""]
    return "\n".join([*text, *left_behind(job)]).rstrip() + "\n"


def growth_tables(sizes, about):
    """A table for each cap: a row for each command and size."""
    middle = growth.reference([job.lines for job in sizes])
    text = ["## growth", "", "Time a line of both files together, whose lines are distinct but for the tenth of each that stands "
            f"in both. The reference is {middle:,} lines, the size nearest to the geometric middle. {others_told(sizes, about)}", ""]
    columns = ["command", "lines", "runs", "ns a line", "min", "max", f"÷ {middle:,} lines", "÷ wc", "CPU ns", "peak MiB",
               "read MiB", "written MiB", f"cap + {ALLOWANCE_MIB} MiB"]
    names = list(dict.fromkeys(case.name for job in sizes for case in job.cases))
    for cap, words in ((growth.FITS, "the filter fits"), (growth.SMALL, "the filter does not fit at the greater sizes")):
        rows, goals = [], []
        for name in names:
            found = [(job, case) for job in sizes for case in job.cases if case.name == name and shown_with(case) == cap]
            medians = {job.lines: nanoseconds(job, case) for job, case in found if case.samples and not case.failed}
            for job, case in found:
                rows.append(growth_row(job, case, medians, middle))
            if found and cap == growth.FITS and found[0][1].cap and about["scale"] == 1:
                goals.append(flat(name, medians, middle, len(found)))
            if found and cap == growth.SMALL and about["scale"] == 1:
                goals.append(cliff(name, medians))
        text += [f"### {cap}: {words}", "", *markdown(columns, rows, len(columns) - 1), "", *goals, *([""] if goals else [])]
    return "\n".join([*text, *(words for job in sizes for words in left_behind(job))]).rstrip() + "\n"


def shown_with(case):
    """The cap whose table holds the case; what has no cap stands with the first."""
    return case.cap or growth.FITS


def growth_row(job, case, medians, middle):
    if case.failed or not case.samples:
        return [case.name, f"{job.lines:,}", failed(case)]
    walls = [sample["wall_s"] / job.lines * 1e9 for sample in case.samples.values()]
    cpu = statistics.median(sample["user_s"] + sample["sys_s"] for sample in case.samples.values()) / job.lines * 1e9
    return [
        case.name, f"{job.lines:,}", str(len(walls)),
        *(f"{number:.1f}" for number in (medians[job.lines], min(walls), max(walls))),
        f"{medians[job.lines] / medians[middle]:.2f}" if middle in medians else "",
        spread(over(case, job, "wc")),
        f"{cpu:.1f}",
        peak_shown(case),
        *(f"{statistics.median(sample[key] for sample in case.samples.values()) / 2**20:.0f}"
          for key in ("read_bytes", "written_bytes")),
        cap_kept(case),
    ]


def nanoseconds(job, case):
    return statistics.median(sample["wall_s"] for sample in case.samples.values()) / job.lines * 1e9


def flat(name, medians, middle, sizes):
    words = f"Goal for {name}: at every size within {growth.TOLERANCE:.0%} of the time a line at {middle:,}"
    if len(medians) < sizes or middle not in medians:
        return f"{words}: not met, for not every size has a figure."
    ratios = [median / medians[middle] for median in medians.values()]
    met = all(abs(ratio - 1) <= growth.TOLERANCE for ratio in ratios)
    return f"{words}: {min(ratios):.2f} to {max(ratios):.2f} of it, {'met' if met else 'not met'}."


def cliff(name, medians):
    greatest = max(medians, default=0)
    words = f"Goal for {name}: at {greatest:,} lines at most {growth.CLIFF:g} times the time a line at {growth.FROM:,}"
    if growth.FROM not in medians:
        return f"{words}: not met, for one has no figure."
    ratio = medians[greatest] / medians[growth.FROM]
    return f"{words}: {ratio:.2f}, {met(ratio <= growth.CLIFF)}."


def markdown(columns, rows, numbers):
    """A table whose last `numbers` columns are figures; short rows are filled up."""
    right = len(columns) - numbers
    rule = ["---"] * right + ["---:"] * numbers
    rows = [row + [""] * (len(columns) - len(row)) for row in rows]
    return [f"| {' | '.join(row)} |" for row in [columns, rule, *rows]]


def failed(case):
    return f"failed: {(case.failed or 'never ran').replace('|', '/')}"


def over(case, job, kind):
    """The case's time over the fastest of a kind, in each round that has both."""
    if case.kind == kind:
        return []
    return [sample["wall_s"] / wall for number, sample in case.samples.items() if (wall := fastest(job, kind, number))]


def under(case, job, kind):
    return [1 / ratio for ratio in over(case, job, kind)] if case.kind == "umbel" else []


def fastest(job, kind, number):
    walls = [case.samples[number]["wall_s"] for case in job.cases if case.kind == kind and number in case.samples]
    return min(walls, default=None)


def spread(ratios):
    if not ratios:
        return ""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})"


def peak_kib(case):
    return max(sample["peak_kib"] for sample in case.samples.values())


def peak_shown(case):
    # A child begins as a copy of this process, and the system counts that as its first peak.
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # Within a MiB of the floor, the figure may be this script's own.
    return f"{peak_kib(case) / 1024:.0f}" if peak_kib(case) > floor + 1024 else f"≤ {peak_kib(case) / 1024:.0f}"


def bound_mib(case):
    return int(case.cap[:-3]) * {"MiB": 1, "GiB": 1024}[case.cap[-3:]] + ALLOWANCE_MIB


def cap_kept(case):
    if case.cap is None:
        return ""
    return f"{bound_mib(case)}: {met(peak_kib(case) <= bound_mib(case) * 1024)}"


def met(good):
    return "met" if good else "not met"


def judged(goal, job):
    """Whether a goal is met, by the median of the ratios; None if one side was not selected."""
    case = next((case for case in job.cases if case.name == goal.case), None)
    if case is None:
        return None
    if case.failed or not case.samples:
        return f"Goal for {case.name}: not met, it failed."
    if goal.against == "cap":
        peak = peak_kib(case) / 1024
        return f"Goal for {case.name}, peak at most {bound_mib(case)} MiB: {peak:.0f}, {met(peak <= bound_mib(case))}."
    if not (ratios := over(case, job, goal.against)):
        return None
    if goal.against == "wc" or goal.against.startswith("floor"):
        ratio = statistics.median(ratios)
        return f"Goal for {case.name}, at most {goal.bound:g} × {goal.against}: {ratio:.2f}, {met(ratio <= goal.bound)}."
    ratio = statistics.median(1 / ratio for ratio in ratios)
    return (f"Goal for {case.name}, at least {goal.bound:.3g} × as fast as {job.rivals[goal.against]}: {ratio:.2f}, "
            f"{met(ratio >= goal.bound)}.")


def others_told(jobs, about):
    """The share of the machine's CPU time that went to anything but the command under measurement."""
    samples = [sample for job in jobs for case in job.cases for sample in case.samples.values()]
    wall = sum(sample["wall_s"] for sample in samples) * about["cpus_of_machine"]
    share = sum(sample["others_cpu_s"] for sample in samples) / wall if wall else 0.0
    return f"Others took {share:.0%} of the CPUs meanwhile."


def left_behind(job):
    for case in job.cases:
        if left := sum(sample["left_behind"] > 0 for sample in case.samples.values()):
            yield f"{case.name}: left temporary files behind in {left} of {len(case.samples)} runs."


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


class Record:
    """One JSON object a line: what was measured and where, then each job and its samples. Paths of the machine stay out."""

    def __init__(self, about):
        folder = BENCH / "record"
        folder.mkdir(exist_ok=True)
        stamp = about["date"].replace("-", "").replace(":", "").replace("+0000", "Z")
        self.path = folder / f"files-{stamp}.jsonl"
        self.file = open(self.path, "x")
        self.write(about)

    def write(self, *objects):
        for one in objects:
            self.file.write(json.dumps(one) + "\n")
        # A bench that is stopped keeps the jobs before.
        self.file.flush()

    def job(self, job):
        same = {"job": job.name, "lines": job.lines}
        self.write({"type": "job", **same, "file_bytes": job.file_bytes})
        for case in job.cases:
            named = {**same, "command": case.name}
            if case.left_out is not None:
                self.write({"type": "check", **named, "answer_lines": case.answer_lines, "left_out": case.left_out})
            for number, sample in case.samples.items():
                kept = {key: value for key, value in sample.items() if key != "stderr"}
                self.write({"type": "sample", **named, "round": number + 1, **kept})
            if case.failed:
                self.write({"type": "failure", **named})
