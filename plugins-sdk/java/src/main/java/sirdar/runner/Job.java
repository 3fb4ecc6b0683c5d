package sirdar.runner;

import java.util.LinkedHashMap;
import java.util.Map;

/** One attempt to run. Its methods may be called from any thread until run() returns. */
public final class Job {
    private static final int TEXT_MAX = 50000;
    private final Link link;
    private final Map<String, Object> given;
    private final Map<String, Object> params;
    private final Map<String, Object> secrets;
    private volatile boolean isCancelled;
    volatile Thread thread;
    public final long id;

    @SuppressWarnings("unchecked")
    Job(Map<String, Object> given, Link link) {
        this.given = given;
        this.link = link;
        this.id = (Long) given.get("job");
        this.params = (Map<String, Object>) given.getOrDefault("params", Map.of());
        this.secrets = (Map<String, Object>) given.getOrDefault("secrets", Map.of());
    }

    private long number(String name) {
        Object value = given.get(name);
        return value instanceof Number ? ((Number) value).longValue() : 0;
    }

    public String type() {
        return String.valueOf(given.getOrDefault("type", ""));
    }

    public String task() {
        return String.valueOf(given.getOrDefault("task", ""));
    }

    /** The fence, unsigned: larger is newer. */
    public long token() {
        return Long.parseUnsignedLong(String.valueOf(given.getOrDefault("token", "0")));
    }

    /** Data time, seconds since 1970 UTC. */
    public long runDate() {
        return number("run_date");
    }

    public int attempt() {
        return (int) number("attempt");
    }

    public int part() {
        return (int) number("part");
    }

    public int generation() {
        return (int) number("generation");
    }

    public String timezone() {
        return String.valueOf(given.getOrDefault("timezone", ""));
    }

    /** From being cancelled to force. */
    public long graceMs() {
        return number("grace_ms");
    }

    /** Its parameters, as texts; lists and maps are JSON, see {@link Json#read}. */
    public Map<String, Object> params() {
        return params;
    }

    public String param(String name, String otherwise) {
        Object value = params.get(name);
        return value == null ? otherwise : value.toString();
    }

    /** A whole number from min to max; another one is fatal. */
    public int param(String name, int otherwise, int min, int max) {
        String text = param(name, null);
        if (text == null) {
            return otherwise;
        }
        try {
            int value = Integer.parseInt(text);
            if (value >= min && value <= max) {
                return value;
            }
        } catch (NumberFormatException e) {
            // said below
        }
        throw Failure.fatal(name + " is '" + text + "', want " + min + ".." + max);
    }

    /** A secret, by the name of the parameter that names it, or by its own. */
    public String secret(String name) {
        Object value = secrets.get(param(name, name));
        if (value == null) {
            value = secrets.get(name);
        }
        if (value == null) {
            throw Failure.fatal("secret " + name + " is not given to this task");
        }
        return value.toString();
    }

    private Map<String, Object> message(String op) {
        Map<String, Object> m = new LinkedHashMap<>();
        m.put("op", op);
        m.put("job", id);
        return m;
    }

    /** How far it is, 0 to 1000; the text may be null. */
    public void progress(int permille, String text) {
        Map<String, Object> m = message("progress");
        m.put("permille", Math.max(0, Math.min(1000, permille)));
        m.put("text", text);
        link.send(m);
    }

    /** A value for the job's children; a repeated name replaces. */
    public void output(String name, Object value) {
        Map<String, Object> m = message("output");
        m.put("name", name);
        m.put("value", String.valueOf(value));
        link.send(m);
    }

    /** A line of the job's log; what its thread prints is there as well. */
    public void log(String text) {
        write(text + "\n", "out");
    }

    void write(String text, String stream) {
        for (int from = 0; from < text.length(); from += TEXT_MAX) {
            Map<String, Object> m = message("log");
            m.put("stream", stream);
            m.put("text", text.substring(from, Math.min(text.length(), from + TEXT_MAX)));
            link.send(m);
        }
    }

    /** Should it stop? Look in long loops; its thread is interrupted as well. */
    public boolean isCancelled() {
        return isCancelled;
    }

    void cancel() {
        isCancelled = true;
        Thread t = thread;
        if (t != null) {
            t.interrupt();
        }
    }

    Map<String, Object> end(Throwable failure) {
        Map<String, Object> m = message("done");
        if (failure instanceof Failure) {
            Failure f = (Failure) failure;
            m.put("exit_code", f.exitCode);
            m.put("verdict", f.verdict);
            m.put("retry_after_ms", f.retryAfterMs);
            m.put("text", shortened(f.getMessage()));
        } else if (failure != null && isCancelled) {
            m.put("exit_code", -15);
            m.put("text", "stopped when it was told to");
        } else if (failure != null) {
            m.put("exit_code", 1);
            m.put("text", shortened(failure.toString()));
        }
        return m;
    }

    private static String shortened(String text) {
        return text == null ? null : text.substring(0, Math.min(text.length(), 2000));
    }
}
