// A task type in Go. Rename it, and `hail` in hail.yaml, to what yours is called.
package main

import "sirdar/runner"

func run(job *runner.Job) error {
	times, err := job.Int("times", 1, 1, 1000)
	if err != nil {
		return err
	}
	for i := 1; i <= times; i++ {
		if job.Cancelled() { // ends the job when it is told to stop
			return job.Context().Err()
		}
		job.Logf("hello %s %d", job.Param("name", "world"), i)
		job.Progress(1000*i/times, "")
	}
	job.Output("said", times)
	return nil
}

func main() {
	runner.Serve(runner.Options{Name: "hail", Version: "1.0", Concurrency: 8}, run)
}
