package sirdar.runner;

/** How a job ends that did not succeed; throw what the four makers give. Any other exception fails the job as well. */
public final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1L;
    final String verdict;
    final int exitCode;
    final long retryAfterMs;

    private Failure(String verdict, String text, int exitCode, long retryAfterMs) {
        super(text);
        this.verdict = verdict;
        this.exitCode = exitCode;
        this.retryAfterMs = retryAfterMs;
    }

    /** Trying again may help. */
    public static Failure retry(String text) {
        return new Failure("retry", text, 1, 0);
    }

    /** Trying again cannot help. */
    public static Failure fatal(String text) {
        return new Failure("fatal", text, 1, 0);
    }

    /** Not the job's fault; burns no attempt. */
    public static Failure infrastructure(String text) {
        return new Failure("infra", text, 1, 0);
    }

    /** A sensor's: ask again, not before so long. */
    public static Failure notYet(String text, long retryAfterMs) {
        return new Failure("not_yet", text, 0, retryAfterMs);
    }

    /** The job ends with that exit code. */
    public static Failure exit(int code) {
        return new Failure("code", "", code, 0);
    }
}
