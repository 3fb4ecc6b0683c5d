"""Real counterparts too large for every run: Trino, Hadoop with YARN, Hive, Spark. HEAVY=1 fetches them
once, by their registries' ordinary clients (mvn, pip), into build/heavy, where every later run finds them;
without the registry what needs them is skipped and says so. Servers listen on loopback and end with the test."""
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

from harness import ROOT, Skip, free_port, until

CACHE = Path(os.environ.get("HEAVY_CACHE") or ROOT / "build" / "heavy")
TRINO, HADOOP, PYSPARK, HIVE = "476", "3.4.2", "4.1.1", "4.0.1"
# Old code of theirs looks into classes of the JDK that are closed since 17.
OPEN = [w for p in ("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util",
                    "java.util.concurrent", "java.util.concurrent.atomic", "java.util.regex", "java.time", "sun.nio.ch", "sun.nio.cs", "sun.security.action",
                    "sun.util.calendar") for w in ("--add-opens", f"java.base/{p}=ALL-UNNAMED")]
SMALL = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


def need():
    if not os.environ.get("HEAVY"):
        raise Skip("HEAVY=1 only: hundreds of megabytes, and JVMs")


def java(least, most=99):
    """The home of the oldest JDK here that is new enough."""
    found = []
    for home in Path("/usr/lib/jvm").glob("*"):
        if home.is_symlink() or not (home / "bin" / "java").exists():
            continue
        said = subprocess.run([home / "bin" / "java", "-version"], capture_output=True, text=True).stderr
        version = re.search(r'version "(\d+)', said)
        if version and least <= int(version.group(1)) <= most:
            found.append((int(version.group(1)), home))
    if not found:
        raise Skip(f"no JDK from {least}{f' to {most}' if most < 99 else ''} below /usr/lib/jvm")
    return min(found)[1]


def cached(name, make):
    """CACHE/name, which make(folder) fills; whole or not there at all."""
    CACHE.mkdir(parents=True, exist_ok=True)
    path, new = CACHE / name, CACHE / f".new-{name}"
    with open(CACHE / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            make(new)
            new.rename(path)
    return path


def fetch(what, argv, **more):
    if not shutil.which(argv[0]):
        raise Skip(f"NOT TRIED: {what} needs {argv[0]}")
    done = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800, **more)
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line] or [done.stderr[-300:]]
        raise Skip(f"NOT TRIED: no {what} from the registry: {said[0][:300]}")


def pom(folder, *artifacts, without=()):
    """Those artifacts (group:name:version) and what they need, as jars in the folder."""
    no = "".join("<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(*f"{name}:*".split(":")) for name in without)
    deps = "".join("<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>".format(*a.split(":")) +
                   f"<exclusions>{no}</exclusions></dependency>" for a in artifacts)
    path = folder / "pom.xml"
    path.write_text('<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>sirdar.tests</groupId>'
                    f"<artifactId>counterpart</artifactId><version>1</version><dependencies>{deps}</dependencies></project>\n")
    fetch(artifacts[0], ["mvn", "-B", "-q", "-f", path, "dependency:copy-dependencies", f"-DoutputDirectory={folder}"])
    return folder


class Server:
    """A process of the test's own: ends with close(), its words in a file."""

    def __init__(self, name, folder, argv, **env):
        self.name, self.log = name, folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.proc = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                                         start_new_session=True, env=dict(os.environ, **env))

    def wait(self, is_up, seconds=300):
        def look():
            assert self.proc.poll() is None, f"{self.name} ended: {self.text()[-3000:]}"
            return is_up()
        try:
            return until(f"{self.name} is up", look, seconds, every=0.3)
        except BaseException:
            self.close()
            raise

    def text(self):
        return self.log.read_text("utf-8", "replace")

    def close(self):
        if self.proc.poll() is None:
            try:
                os.killpg(self.proc.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.proc.wait()


# --- Trino

def unpack_trino(folder):
    fetch("Trino", ["mvn", "-B", "-q", "dependency:copy", f"-Dartifact=io.trino:trino-server:{TRINO}:tar.gz", f"-DoutputDirectory={folder}"])
    archive = next(folder.glob("*.tar.gz"))
    wanted = re.compile(r"[^/]+/(lib|plugin/(tpch|memory|blackhole))/")
    with tarfile.open(archive, "r|gz") as tar:
        for member in tar:
            if wanted.match(member.name):
                if member.islnk():  # of what is above them in the archive, or below: made again
                    member.linkname = member.linkname.split("/", 1)[1]
                member.name = member.name.split("/", 1)[1]
                tar.extract(member, folder, filter="fully_trusted")
    archive.unlink()


class Trino:
    """A coordinator that works itself; catalogs tpch, memory, blackhole."""

    def __init__(self, folder):
        home, place = java(24), cached(f"trino-{TRINO}", unpack_trino)
        folder = folder / "trino"
        (folder / "catalog").mkdir(parents=True)
        for name in ("tpch", "memory", "blackhole"):
            (folder / "catalog" / f"{name}.properties").write_text(f"connector.name={name}\n")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        (folder / "config").write_text("\n".join((
            "coordinator=true", "node-scheduler.include-coordinator=true", f"http-server.http.port={self.port}", f"discovery.uri={self.url}",
            "query.max-memory=300MB", "query.max-memory-per-node=200MB", "memory.heap-headroom-per-node=200MB", "task.max-worker-threads=2",
            f"catalog.config-dir={folder}/catalog", f"plugin.dir={place}/plugin", "node.environment=test", "node.id=one",
            "node.bind-ip=127.0.0.1", "node.internal-address=127.0.0.1", "")))
        self.server = Server("trino", folder, [home / "bin" / "java", "-Xmx1g", "-Djdk.attach.allowAttachSelf=true", "--add-modules=jdk.incubator.vector",
                                               "--sun-misc-unsafe-memory-access=allow", f"-Dconfig={folder}/config", "-cp", f"{place}/lib/*",
                                               "io.trino.server.TrinoServer"])
        self.close = self.server.close
        self.server.wait(lambda: "SERVER STARTED" in self.server.text())
        self.server.wait(self.works)
        self.version = self.ask("/v1/info")["nodeVersion"]["version"]
        print(f"# Trino {self.version} on {home.name}")

    def works(self):
        """It counts itself among its nodes a while after it says that it is up."""
        page = self.ask("/v1/statement", b"SELECT count(*) FROM tpch.tiny.nation")
        while "nextUri" in page:
            page = self.ask(page["nextUri"].removeprefix(self.url))
        return "error" not in page

    def ask(self, path, body=None):
        request = urllib.request.Request(self.url + path, body, headers={"X-Trino-User": "test"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def queries(self, text):
        """Those with that in their statement."""
        return [q for q in self.ask("/v1/query") if text in q["query"]]


# --- Hadoop

def unpack_hadoop(folder):
    pom(folder, f"org.apache.hadoop:hadoop-minicluster:{HADOOP}", f"org.apache.hadoop:hadoop-mapreduce-examples:{HADOOP}",
        "org.mockito:mockito-core:2.28.2", "junit:junit:4.13.2")


LOG4J = ("log4j.rootLogger=INFO,console\nlog4j.appender.console=org.apache.log4j.ConsoleAppender\nlog4j.appender.console.target=System.err\n"
         "log4j.appender.console.layout=org.apache.log4j.PatternLayout\nlog4j.appender.console.layout.ConversionPattern=%d{yy/MM/dd HH:mm:ss} %p %c{2}: %m%n\n")


class Hadoop:
    """Its clients `hadoop` and `yarn` as the scripts of a distribution start them, over jars of the registry."""

    def __init__(self, folder):
        self.java, self.jars = java(11, 20), cached(f"hadoop-{HADOOP}", unpack_hadoop)
        self.dir, self.conf = folder / "hadoop", folder / "hadoop" / "conf"
        self.conf.mkdir(parents=True)
        (self.conf / "log4j.properties").write_text(LOG4J)
        self.examples = self.jars / f"hadoop-mapreduce-examples-{HADOOP}.jar"
        for name, main in (("hadoop", "org.apache.hadoop.util.RunJar"), ("yarn", "org.apache.hadoop.yarn.client.cli.ApplicationCLI")):
            # `hadoop jar X` runs RunJar with X; `yarn application Y` the client with both words.
            self.script(name, [*self.command("-Xmx300m"), main], 'shift' if name == "hadoop" else ":")
        print(f"# Hadoop {HADOOP} on {self.java.name}")

    def command(self, *options, conf=None):
        return [self.java / "bin" / "java", *options, *SMALL, *OPEN, "-cp", f"{conf or self.conf}:{self.jars}/*"]

    def script(self, name, words, first=":"):
        path = self.dir / name
        path.write_text("#!/bin/sh\n" + first + "\nexec " + " ".join(f"'{w}'" for w in words) + ' "$@"\n')
        path.chmod(0o755)

    def environment(self):
        return {"PATH": f"{self.dir}:/usr/local/bin:/usr/bin:/bin", "HADOOP_CONF_DIR": str(self.conf), "JAVA_HOME": str(self.java)}


class Yarn:
    """A resource manager and a node manager in one JVM (MiniHadoopClusterManager); `hadoop.conf` becomes theirs."""

    def __init__(self, hadoop):
        self.hadoop, written = hadoop, hadoop.dir / "cluster.xml"
        ports = [free_port() for _ in range(2)]
        settings = {"yarn.nodemanager.vmem-check-enabled": "false", "yarn.nodemanager.pmem-check-enabled": "false",
                    "yarn.app.mapreduce.am.resource.mb": "512", "mapreduce.map.memory.mb": "512", "mapreduce.reduce.memory.mb": "512",
                    "yarn.scheduler.minimum-allocation-mb": "256", "yarn.nodemanager.resource.memory-mb": "4096",
                    "yarn.app.mapreduce.am.command-opts": "-Xmx300m " + " ".join(OPEN), "mapreduce.map.java.opts": "-Xmx200m",
                    "mapreduce.reduce.java.opts": "-Xmx200m", "yarn.application.classpath": f"{hadoop.jars}/*",
                    "mapreduce.application.classpath": f"{hadoop.jars}/*", "yarn.resourcemanager.hostname": "127.0.0.1", "yarn.nodemanager.hostname": "127.0.0.1",
                    "hadoop.tmp.dir": str(hadoop.dir / "tmp"),
                    "mapreduce.jobhistory.admin.address": "127.0.0.1:0", "mapreduce.jobhistory.webapp.address": "127.0.0.1:0",
                    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.9"}
        self.server = Server("yarn", hadoop.dir, [*hadoop.command("-Xmx700m"), "org.apache.hadoop.mapreduce.MiniHadoopClusterManager", "-nodfs",
                                                  "-rmport", ports[0], "-jhsport", ports[1], "-writeConfig", written,
                                                  *(w for k, v in settings.items() for w in ("-D", f"{k}={v}"))], JAVA_HOME=str(hadoop.java))
        self.close = self.server.close
        self.server.wait(lambda: written.exists() and "</configuration>" in written.read_text())
        shutil.copy(written, hadoop.conf / "core-site.xml")
        shutil.copy(written, hadoop.conf / "yarn-site.xml")

    def apps(self):
        """By number: (state, how it ended), as the cluster tells its own client."""
        done = subprocess.run([self.hadoop.dir / "yarn", "application", "-list", "-appStates", "ALL"], capture_output=True, text=True,
                              env=dict(os.environ, **self.hadoop.environment()))
        rows = [[w.strip() for w in line.split("\t")] for line in done.stdout.splitlines() if line.startswith("application_")]
        return {row[0]: (row[5], row[6]) for row in rows}


# --- Spark, whose Thrift server speaks HiveServer2's protocol, with Hive's own beeline

def unpack_spark(folder):
    fetch("pyspark", [sys.executable, "-m", "pip", "install", "-q", "--target", folder, f"pyspark=={PYSPARK}"])


class Spark:
    def __init__(self, folder):
        self.java, self.python = java(17), cached(f"pyspark-{PYSPARK}", unpack_spark)
        self.home = self.python / "pyspark"
        self.dir = folder / "spark"
        self.dir.mkdir()
        self.submit, self.beeline = self.home / "bin" / "spark-submit", self.home / "bin" / "beeline"
        print(f"# Spark {PYSPARK} on {self.java.name}")

    def environment(self):
        return {"JAVA_HOME": str(self.java), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(self.python),
                "SPARK_HOME": str(self.home), "PATH": f"{self.home}/bin:/usr/local/bin:/usr/bin:/bin", "SPARK_DRIVER_MEMORY": "700m"}


class ThriftServer:
    """HiveServer2 as Spark has it, with a Derby metastore of its own."""

    def __init__(self, spark):
        self.port = free_port()
        conf = {"spark.ui.enabled": "false", "spark.sql.warehouse.dir": f"{spark.dir}/warehouse", "spark.driver.extraJavaOptions": f"-Dderby.system.home={spark.dir}",
                "spark.sql.shuffle.partitions": "2"}
        self.server = Server("thrift", spark.dir, [spark.submit, "--master", "local[1]", *(w for k, v in conf.items() for w in ("--conf", f"{k}={v}")),
                                                   "--class", "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", "spark-internal",
                                                   "--hiveconf", f"hive.server2.thrift.port={self.port}",
                                                   "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"], **spark.environment())
        self.close = self.server.close
        self.server.wait(lambda: "ThriftBinaryCLIService on port" in self.server.text() and "HiveThriftServer2 started" in self.server.text())


# --- Apache Hive's own HiveServer2, its metastore a Derby in it; statements run as MapReduce in it too

HIVE_HADOOP = "3.3.6"


def unpack_hive(folder):
    hadoop = [f"org.apache.hadoop:{a}:{HIVE_HADOOP}" for a in ("hadoop-common", "hadoop-hdfs", "hadoop-mapreduce-client-jobclient", "hadoop-mapreduce-client-common",
                                                              "hadoop-mapreduce-client-core")]
    # What is left out is not in the registry, or a second way to log.
    pom(folder, f"org.apache.hive:hive-service:{HIVE}", f"org.apache.hive:hive-standalone-metastore-server:{HIVE}", "org.datanucleus:datanucleus-rdbms:5.2.10",
        "org.datanucleus:datanucleus-api-jdo:5.2.8", "org.apache.hadoop:hadoop-client-runtime:3.3.5", *hadoop,
        without=("org.pac4j", "net.shibboleth.tool", "io.grpc", "com.google.cloud.bigdataoss", "org.slf4j:slf4j-reload4j", "org.slf4j:slf4j-log4j12",
                                              "ch.qos.reload4j", "log4j", "ch.qos.logback"))


class HiveServer:
    def __init__(self, folder):
        home, jars, self.port = java(17, 20), cached(f"hive-{HIVE}", unpack_hive), free_port()
        folder = folder / "hive"
        (folder / "conf").mkdir(parents=True)
        settings = {"javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true", "datanucleus.schema.autoCreateAll": "true",
                    "hive.metastore.schema.verification": "false", "hive.execution.engine": "mr", "mapreduce.framework.name": "local",
                    "fs.defaultFS": "file:///", "hive.server2.thrift.port": self.port, "hive.server2.thrift.bind.host": "127.0.0.1",
                    "hive.server2.enable.doAs": "false", "hive.metastore.warehouse.dir": f"{folder}/warehouse", "hive.exec.scratchdir": f"{folder}/scratch",
                    "hive.exec.local.scratchdir": f"{folder}/local", "hadoop.tmp.dir": f"{folder}/tmp", "hive.server2.webui.port": "0",
                    "hive.support.concurrency": "false", "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DummyTxnManager",
                    "hive.notification.event.poll.interval": "0s", "hive.stats.autogather": "false"}
        (folder / "conf" / "hive-site.xml").write_text("<configuration>" + "".join(
            f"<property><name>{k}</name><value>{v}</value></property>" for k, v in settings.items()) + "</configuration>\n")
        log = ("rootLogger.level=INFO\nrootLogger.appenderRef.c.ref=c\nappender.c.type=Console\nappender.c.name=c\nappender.c.target=SYSTEM_ERR\n"
               "appender.c.layout.type=PatternLayout\nappender.c.layout.pattern=%d %p %c{2}: %m%n\n")
        for name in ("hive-log4j2.properties", "log4j2.properties"):
            (folder / "conf" / name).write_text(log)
        self.server = Server("hiveserver2", folder, [home / "bin" / "java", "-Xmx1g", *SMALL, *OPEN, "-cp", f"{folder}/conf:{jars}/*",
                                                     "org.apache.hive.service.server.HiveServer2"])
        self.close = self.server.close
        self.server.wait(lambda: "Service:HiveServer2 is started" in self.server.text())
        print(f"# Hive {HIVE} on {home.name}")
