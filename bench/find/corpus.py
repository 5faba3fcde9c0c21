"""Log files that resemble those from real services, the same bytes for the same seed.

    python3 bench/find/corpus.py DIR [--files 400] [--size 5000000] [--seed 1] [--plain]

Each file has lines of one of five services: JSON of a web application (trace and span ids, addresses, users, paths),
access lines of a proxy, lines `time level component message key=value` of a service with stack traces now and then, a
syslog of machines, and JSON of jobs. Identifiers are random, words, paths and users follow Zipf's law, times grow. Files
are compressed by `zstd`, unless `--plain`; DIR/ids.txt lists a trace id of one line per file that has some.
"""

import argparse
import datetime
import os
import random
import subprocess
from concurrent.futures import ProcessPoolExecutor

METHODS = ["GET"] * 12 + ["POST"] * 5 + ["PUT", "DELETE", "PATCH"]
CODES = [200] * 40 + [201] * 4 + [204] * 4 + [301, 304, 304, 400, 401, 403, 404, 404, 409, 429, 500, 502, 503]
LEVELS = ["INFO"] * 14 + ["DEBUG"] * 4 + ["WARN"] * 2 + ["ERROR"]
SERVICES = ["checkout", "catalog", "payments", "search", "accounts", "shipping", "gateway", "pricing", "inventory"]
COMPONENTS = ["http.server", "db.pool", "cache.redis", "queue.consumer", "auth.session", "scheduler", "billing.engine"]
NOUNS = """order cart item user session token invoice payment refund address shipment price discount product category
review image stock warehouse courier label batch report export import job worker lease lock snapshot replica shard index
segment query result page cursor filter limit request response header body cookie redirect upstream backend connection
socket stream buffer frame packet timeout retry deadline budget quota policy rule flag experiment variant""".split()
VERBS = """created updated deleted loaded stored fetched queued processed rejected accepted validated expired renewed
acquired released started finished failed retried skipped scheduled cancelled resolved committed flushed""".split()
AGENTS = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "kube-probe/1.31", "curl/8.11.0", "okhttp/4.12.0", "python-requests/2.32.3", "Go-http-client/2.0",
]
NAMES = """anna ben carla david elena felix greta hugo ines jonas katja luca maria noah olga paul rosa sami tara
umar vera willi yusuf zoë""".split()
CLASSES = ["CheckoutService", "OrderRepository", "PaymentGateway", "HttpHandler", "TransactionManager",
           "JsonMapper", "ConnectionPool", "RetryTemplate"]


class Service:
    """What makes the lines of one file."""

    def __init__(self, seed, number):
        self.random = random.Random(f"{seed}-{number}")
        # Users, networks and pods that all files share.
        shared = random.Random(seed)
        self.users = [f"{shared.choice(NAMES)}.{shared.choice(NOUNS)}{shared.randrange(1000)}" for _ in range(5000)]
        self.networks = [f"{shared.randrange(1, 224)}.{shared.randrange(256)}" for _ in range(400)]
        self.hosts = [f"node-{shared.randrange(40):02}.eu-west-{shared.randrange(1, 4)}.internal" for _ in range(60)]
        self.time = datetime.datetime(2026, 11, 1) + datetime.timedelta(minutes=30 * number)
        self.service = SERVICES[number % len(SERVICES)]
        self.pod = f"{self.service}-{self.hex(9)}-{self.hex(5)}"
        self.style = [self.web, self.proxy, self.plain, self.syslog, self.job][number % 5]

    def hex(self, digits):
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def uuid(self):
        text = self.hex(32)
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def zipf(self, items):
        """The first items most often."""
        return items[min(int(len(items) ** self.random.random()) - 1, len(items) - 1)]

    def user(self):
        return self.zipf(self.users)

    def address(self):
        return f"{self.zipf(self.networks)}.{self.random.randrange(256)}.{self.random.randrange(1, 255)}"

    def path(self):
        draw = self.random.randrange(6)
        if draw == 0:
            return f"/static/{self.zipf(NOUNS)}/{self.zipf(NOUNS)}.{self.random.choice(['js', 'css', 'png'])}"
        if draw == 1:
            return f"/search?q={self.zipf(NOUNS)}+{self.zipf(NOUNS)}&page={self.random.randrange(1, 30)}"
        return f"/api/v{self.random.randrange(1, 4)}/{self.zipf(NOUNS)}s/{int(10 ** (7 * self.random.random()))}"

    def message(self):
        return f"{self.zipf(NOUNS)} {self.zipf(VERBS)} for {self.zipf(NOUNS)} {self.random.randrange(10 ** 6)}"

    def tick(self, most):
        self.time += datetime.timedelta(microseconds=self.random.randrange(most))
        return self.time

    def web(self):
        r = self.random
        time = self.tick(60000).isoformat(timespec="milliseconds")
        trace = self.hex(32)
        return trace, (
            f'{{"ts":"{time}Z","level":"{r.choice(LEVELS)}","service":"{self.service}","pod":"{self.pod}",'
            f'"trace_id":"{trace}","span_id":"{self.hex(16)}","method":"{r.choice(METHODS)}","path":"{self.path()}",'
            f'"status":{r.choice(CODES)},"duration_ms":{r.expovariate(0.02):.1f},"client":"{self.address()}",'
            f'"user":"{self.user()}@example.com","msg":"{self.message()}"}}\n')

    def proxy(self):
        r = self.random
        time = self.tick(40000).strftime("%d/%b/%Y:%H:%M:%S +0000")
        return None, (
            f'{self.address()} - {self.user() if r.random() < 0.3 else "-"} [{time}] "{r.choice(METHODS)} {self.path()} '
            f'HTTP/1.1" {r.choice(CODES)} {int(10 ** (2 + 4 * r.random()))} "https://www.example.com/{self.zipf(NOUNS)}" '
            f'"{self.zipf(AGENTS)}" {r.expovariate(10):.3f} {self.uuid()}\n')

    def plain(self):
        r = self.random
        time = self.tick(50000).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        trace, level = self.hex(16), r.choice(LEVELS)
        line = (f"{time} {level:5} [{r.choice(COMPONENTS)}-{r.randrange(1, 33)}] {self.message()} "
                f"trace={trace} user_id={int(10 ** (6 * r.random()))} took={r.randrange(2000)}ms\n")
        if level == "ERROR" and r.random() < 0.5:
            line += f"java.lang.IllegalStateException: {self.message()}\n"
            for _ in range(r.randrange(5, 20)):
                name = self.zipf(CLASSES)
                line += (f"\tat com.example.{self.service}.{name}.{self.zipf(VERBS)}{self.zipf(NOUNS).title()}"
                         f"({name}.java:{r.randrange(20, 400)})\n")
        return trace, line

    def syslog(self):
        r = self.random
        time = self.tick(200000).strftime("%b %e %H:%M:%S")
        host = self.zipf(self.hosts).split(".")[0]
        draw = r.randrange(4)
        if draw == 0:
            text = f"sshd[{r.randrange(1000, 99999)}]: Failed password for {self.zipf(NAMES)} from {self.address()} port {r.randrange(1024, 65536)} ssh2"
        elif draw == 1:
            text = f"kernel: [{r.random() * 1e6:.6f}] eth0: {self.zipf(NOUNS)} {self.zipf(VERBS)}, {r.randrange(5000)} packets"
        elif draw == 2:
            text = f"systemd[1]: {self.zipf(NOUNS)}-{self.zipf(NOUNS)}.service: Main process exited, code=exited, status={r.randrange(256)}"
        else:
            text = f"containerd[812]: time=\"{self.time.isoformat()}Z\" level=info msg=\"{self.zipf(VERBS)} container\" id={self.hex(64)} path=/var/lib/containerd/{self.zipf(NOUNS)}/{self.hex(12)}"
        return None, f"{time} {host} {text}\n"

    def job(self):
        r = self.random
        time = int(self.tick(100000).timestamp() * 1000)
        return None, (
            f'{{"time":{time},"job":"{self.zipf(NOUNS)}-{self.zipf(VERBS)}","run":"{self.uuid()}","host":"{self.zipf(self.hosts)}",'
            f'"attempt":{r.randrange(1, 4)},"rows":{int(10 ** (6 * r.random()))},"seconds":{r.expovariate(1):.3f},'
            f'"file":"s3://exports/{self.service}/2026/11/{r.randrange(1, 31):02}/part-{r.randrange(100000):05}.parquet",'
            f'"state":"{self.zipf(VERBS)}"}}\n')


def write(folder, seed, number, size, plain):
    """Writes one file; returns the trace id of a line in its middle, if lines have some."""
    service = Service(seed, number)
    lines, length, found = [], 0, None
    while length < size:
        trace, line = service.style()
        lines.append(line)
        length += len(line.encode())
        if trace and found is None and length > size / 2:
            found = trace
    path = os.path.join(folder, f"{service.service}-{number:04}.log")
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.writelines(lines)
    if not plain:
        subprocess.run(["zstd", "-q", "-3", "--rm", "-f", path], check=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--size", type=int, default=5_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plain", action="store_true")
    options = parser.parse_args()
    logs = os.path.join(options.folder, "logs")
    os.makedirs(logs, exist_ok=True)
    with ProcessPoolExecutor() as pool:
        jobs = [pool.submit(write, logs, options.seed, number, options.size, options.plain)
                for number in range(options.files)]
        ids = [job.result() for job in jobs]
    with open(os.path.join(options.folder, "ids.txt"), "w") as out:
        out.writelines(f"{id}\n" for id in ids if id)


if __name__ == "__main__":
    main()
