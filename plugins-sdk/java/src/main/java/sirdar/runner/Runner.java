package sirdar.runner;

/** What a task type does with a job. */
@FunctionalInterface
public interface Runner {
    /** Returns: success. Throws: failure, of the kind that {@link Failure} says. */
    void run(Job job) throws Exception;
}
