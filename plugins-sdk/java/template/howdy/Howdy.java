import sirdar.runner.Job;
import sirdar.runner.Sirdar;

/** A task type in Java. Rename it, and `howdy` in howdy.yaml, to what yours is called. */
public final class Howdy {
    static void run(Job job) throws InterruptedException {
        int times = job.param("times", 1, 1, 1000);
        for (int i = 1; i <= times; i++) {
            if (job.isCancelled()) { // ends the job when it is told to stop
                throw new InterruptedException();
            }
            System.out.println("hello " + job.param("name", "world") + " " + i);
            job.progress(1000 * i / times, null);
        }
        job.output("said", times);
    }

    public static void main(String[] args) {
        Sirdar.serve("howdy", "1.0", 8, Howdy::run);
    }
}
