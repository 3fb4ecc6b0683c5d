package sirdar.runner;

import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Task types of Sirdar in Java 11: one process, many jobs. No dependency.
 *
 * <pre>
 *   public static void main(String[] args) {
 *       Sirdar.serve("howdy", "1.0", 8, job -&gt; System.out.println("hello " + job.param("name", "world")));
 *   }
 * </pre>
 *
 * The protocol is FOREIGN.md.
 */
public final class Sirdar {
    public static final String VERSION = "1.0";
    public static final long PROTOCOL = 1;
    private static final ThreadLocal<Job> CURRENT = new ThreadLocal<>();

    private final Link link;
    private final Runner runner;
    private final ExecutorService threads;
    private final Map<Long, Job> jobs = new ConcurrentHashMap<>();
    private final Map<String, Object> hello = new LinkedHashMap<>();

    private Sirdar(String name, String version, int concurrency, Runner runner, Link link) {
        this.link = link;
        this.runner = runner;
        this.threads = Executors.newFixedThreadPool(concurrency, r -> {
            Thread t = new Thread(r, "job");
            t.setDaemon(true);
            return t;
        });
        hello.put("op", "hello");
        hello.put("protocol", PROTOCOL);
        hello.put("name", name);
        hello.put("version", version);
        hello.put("sdk", "java/" + VERSION + " " + System.getProperty("java.version"));
        hello.put("concurrency", concurrency);
    }

    /** Take jobs until the broker is gone, `concurrency` at a time, each on a thread of its own. Does not return. */
    public static void serve(String name, String version, int concurrency, Runner runner) {
        if (System.getenv("SIRDAR_GUEST") == null) {
            System.err.println("This is a runner of Sirdar; a broker starts it, or: sirdar-runner-run TYPE.yaml --job job.yaml");
            System.exit(64);
        }
        int code = 0;
        try {
            BufferedReader in = new BufferedReader(
                new InputStreamReader(new FileInputStream("/proc/self/fd/3"), StandardCharsets.UTF_8));
            Link link = new Link(new FileOutputStream("/proc/self/fd/4"));
            System.setOut(new PrintStream(new JobStream(System.out, "out"), true, "UTF-8"));
            System.setErr(new PrintStream(new JobStream(System.err, "err"), true, "UTF-8"));
            new Sirdar(name, version, Math.max(1, concurrency), runner, link).listen(in);
        } catch (IOException | RuntimeException e) {
            e.printStackTrace();
            code = 1;
        }
        Runtime.getRuntime().halt(code);
    }

    private void listen(BufferedReader in) throws IOException {
        String line;
        while ((line = in.readLine()) != null) {
            @SuppressWarnings("unchecked")
            Map<String, Object> m = (Map<String, Object>) Json.read(line);
            String op = String.valueOf(m.get("op"));
            if (op.equals("bye")) {
                return;
            }
            take(op, m);
        }
    }

    private void take(String op, Map<String, Object> m) {
        if (op.equals("hello")) {
            if (!Long.valueOf(PROTOCOL).equals(m.get("protocol"))) {
                throw new IllegalStateException("the broker speaks protocol " + m.get("protocol") + ", this SDK " + PROTOCOL);
            }
            link.send(hello);
        } else if (op.equals("ping")) {
            m.put("op", "pong");
            link.send(m);
        } else if (op.equals("kill")) {
            Job job = jobs.get(m.get("job"));
            if (job != null) {
                job.cancel();
            }
        } else if (op.equals("run")) {
            Job job = new Job(m, link);
            jobs.put(job.id, job);
            threads.execute(() -> lead(job));
        }
    }

    private void lead(Job job) {
        Throwable failure = null;
        CURRENT.set(job);
        job.thread = Thread.currentThread();
        try {
            runner.run(job);
        } catch (Throwable e) { // whatever it is, it is the job's
            failure = e;
            if (!(e instanceof Failure) && !job.isCancelled()) {
                e.printStackTrace();
            }
        }
        job.thread = null;
        System.out.flush();
        System.err.flush();
        CURRENT.remove();
        Thread.interrupted();
        jobs.remove(job.id);
        link.send(job.end(failure));
    }

    /** What a job's thread prints is the job's log, by whole writes of a PrintStream. */
    private static final class JobStream extends OutputStream {
        private final OutputStream plain;
        private final String name;

        JobStream(OutputStream plain, String name) {
            this.plain = plain;
            this.name = name;
        }

        @Override
        public void write(int b) throws IOException {
            write(new byte[] {(byte) b}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int len) throws IOException {
            Job job = CURRENT.get();
            if (job == null) {
                plain.write(bytes, from, len);
            } else if (len > 0) {
                job.write(new String(bytes, from, len, StandardCharsets.UTF_8), name);
            }
        }

        @Override
        public void flush() throws IOException {
            plain.flush();
        }
    }
}
