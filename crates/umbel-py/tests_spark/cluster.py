"""The executors of the cluster: how they are found, and how one is killed."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path


def executors():
    """The process ids of the executors that this process's JVM has started."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [os.getpid()]
    while todo:
        process = todo.pop()
        todo += children.get(process, [])
        try:
            command = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command:
            found.append(process)
    return found


@contextmanager
def kill_one(spark):
    """Kills an executor as soon as each of them runs a task; the list has its process id then."""
    killed, stop = [], threading.Event()

    def watch():
        tracker = spark.sparkContext.statusTracker()
        while not stop.is_set():
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if sum(stage.numActiveTasks for stage in stages if stage) >= 2:
                killed.append(executors()[0])
                os.kill(killed[0], signal.SIGKILL)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()
