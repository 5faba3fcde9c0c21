"""The cluster: what Java needs, how executors are found, and how one is killed."""

import os
import signal
import threading
import time
import tempfile
import zipfile
from contextlib import contextmanager
from pathlib import Path


def java_options():
    """What Java needs where musl is installed next to another C library: Spark's snappy takes the system for one of musl."""
    import pyspark

    machine = os.uname().machine
    if not os.path.exists(f"/lib/ld-musl-{machine}.so.1") or not os.confstr("CS_GNU_LIBC_VERSION"):
        return ""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("snappy-java-*.jar")
    folder = Path(tempfile.gettempdir()) / f"{jar.stem}-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    library = folder / "libsnappyjava.so"
    if not library.exists():
        part = folder / f"{os.getpid()}"
        part.write_bytes(zipfile.ZipFile(jar).read(f"org/xerial/snappy/native/Linux/{machine}/libsnappyjava.so"))
        part.rename(library)
    return f" -Dorg.xerial.snappy.lib.path={folder}"


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
