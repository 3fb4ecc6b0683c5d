package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// Failure is how a job ends that did not succeed; made by Retry, Fatal, Infrastructure, NotYet and Exit.
type Failure struct {
	verdict string
	text    string
	code    int
	after   time.Duration
}

func (f *Failure) Error() string { return f.text }

// Retry: trying again may help. So does every other error.
func Retry(format string, a ...any) error {
	return &Failure{verdict: "retry", text: fmt.Sprintf(format, a...), code: 1}
}

// Fatal: trying again cannot help.
func Fatal(format string, a ...any) error {
	return &Failure{verdict: "fatal", text: fmt.Sprintf(format, a...), code: 1}
}

// Infrastructure: not the job's fault; burns no attempt.
func Infrastructure(format string, a ...any) error {
	return &Failure{verdict: "infra", text: fmt.Sprintf(format, a...), code: 1}
}

// NotYet is a sensor's: ask again, not before `after`.
func NotYet(after time.Duration, text string) error {
	return &Failure{verdict: "not_yet", text: text, after: after}
}

// Exit ends the job with that exit code.
func Exit(code int) error { return &Failure{verdict: "code", code: code} }

// Job is one attempt to run. Its methods may be called from any goroutine until run returns.
type Job struct {
	ID         uint64            `json:"job"`
	Type       string            `json:"type"`
	Task       string            `json:"task"`
	TaskID     uint32            `json:"task_id"`
	Token      uint64            `json:"token,string"` // fence: larger is newer
	RunDate    int64             `json:"run_date"`     // seconds since 1970 UTC
	DueUs      int64             `json:"due_us"`
	Part       int32             `json:"part"`
	Generation uint32            `json:"generation"`
	Attempt    uint32            `json:"attempt"`
	BudgetMs   uint64            `json:"budget_ms"` // 0: no limit
	GraceMs    uint64            `json:"grace_ms"`  // from the end of Context to force
	Timezone   string            `json:"timezone"`
	Params     map[string]string `json:"params"`
	Secrets    map[string]string `json:"secrets"`

	// Out and Err write the job's log. With a concurrency of 1, os.Stdout and os.Stderr do as well.
	Out io.Writer `json:"-"`
	Err io.Writer `json:"-"`

	link   *link
	ctx    context.Context
	cancel context.CancelFunc
}

// Context ends when the job should stop.
func (j *Job) Context() context.Context { return j.ctx }

// Cancelled tells whether the job should stop: look in long loops.
func (j *Job) Cancelled() bool { return j.ctx.Err() != nil }

// Pause sleeps; the error is Context's as soon as the job should stop.
func (j *Job) Pause(d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-j.ctx.Done():
		return j.ctx.Err()
	}
}

// Param is a parameter's value, or otherwise.
func (j *Job) Param(name, otherwise string) string {
	if v, ok := j.Params[name]; ok {
		return v
	}
	return otherwise
}

// Int is a parameter that must be a whole number from min to max; the error is Fatal.
func (j *Job) Int(name string, otherwise, min, max int) (int, error) {
	v, ok := j.Params[name]
	if !ok {
		return otherwise, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < min || n > max {
		return 0, Fatal("%s is '%s', want %d..%d", name, v, min, max)
	}
	return n, nil
}

// Read reads a list or a map into value; the error is Fatal.
func (j *Job) Read(name string, value any) error {
	v, ok := j.Params[name]
	if !ok {
		return Fatal("parameter %s is missing", name)
	}
	if err := json.Unmarshal([]byte(v), value); err != nil {
		return Fatal("parameter %s: %v", name, err)
	}
	return nil
}

// Secret is found by the name of the parameter that names it, or by its own; the error is Fatal.
func (j *Job) Secret(name string) (string, error) {
	if v, ok := j.Secrets[j.Params[name]]; ok {
		return v, nil
	}
	if v, ok := j.Secrets[name]; ok {
		return v, nil
	}
	return "", Fatal("secret %s is not given to this task", name)
}

// Progress tells how far it is, 0 to 1000; text may be empty.
func (j *Job) Progress(permille int, text string) {
	if permille < 0 {
		permille = 0
	} else if permille > 1000 {
		permille = 1000
	}
	j.link.send(said{Op: "progress", Job: j.ID, Permille: &permille, Text: text})
}

// Output is a value for the job's children; a repeated name replaces.
func (j *Job) Output(name string, value any) {
	text := fmt.Sprint(value)
	j.link.send(said{Op: "output", Job: j.ID, Name: name, Value: &text})
}

// Logf writes a line of the job's log.
func (j *Job) Logf(format string, a ...any) { fmt.Fprintf(j.Out, format+"\n", a...) }

type stream struct {
	job  *Job
	name string
	mu   sync.Mutex
}

func (s *stream) Write(p []byte) (int, error) {
	const most = 100000
	s.mu.Lock()
	defer s.mu.Unlock()
	for at := 0; at < len(p); at += most {
		end := at + most
		if end > len(p) {
			end = len(p)
		}
		s.job.link.send(said{Op: "log", Job: s.job.ID, Stream: s.name, Text: string(p[at:end])})
	}
	return len(p), nil
}
