// Package runner is for task types of Sirdar in Go: one process, many jobs. Standard library only.
//
//	func main() {
//		runner.Serve(runner.Options{Name: "hail", Concurrency: 8}, func(job *runner.Job) error {
//			job.Logf("hello %s", job.Param("name", "world"))
//			return nil
//		})
//	}
//
// The protocol is FOREIGN.md.
package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
)

// Version of this SDK, and of the protocol it speaks.
const (
	Version  = "1.0"
	Protocol = 1
)

const terminated = 15

// Options of Serve. Concurrency is how many jobs the process takes at a time; 0 is 1.
type Options struct {
	Name, Version string
	Concurrency   int
}

type said struct {
	Op           string  `json:"op"`
	Job          uint64  `json:"job,omitempty"`
	Protocol     int     `json:"protocol,omitempty"`
	Name         string  `json:"name,omitempty"`
	Version      string  `json:"version,omitempty"`
	SDK          string  `json:"sdk,omitempty"`
	Concurrency  int     `json:"concurrency,omitempty"`
	Permille     *int    `json:"permille,omitempty"`
	Text         string  `json:"text,omitempty"`
	Value        *string `json:"value,omitempty"`
	Stream       string  `json:"stream,omitempty"`
	ExitCode     int     `json:"exit_code,omitempty"`
	Verdict      string  `json:"verdict,omitempty"`
	RetryAfterMs int64   `json:"retry_after_ms,omitempty"`
	N            *int64  `json:"n,omitempty"`
}

type link struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *link) send(m said) {
	line, err := json.Marshal(m)
	if err != nil {
		return // cannot be: texts and numbers
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(append(line, '\n'))
}

// Serve takes jobs until the broker is gone, then ends the process. An error from run fails the job,
// a panic as well.
func Serve(o Options, run func(*Job) error) {
	if os.Getenv("SIRDAR_GUEST") == "" {
		fmt.Fprintln(os.Stderr, "This is a runner of Sirdar; a broker starts it, or: sirdar-runner-run TYPE.yaml --job job.yaml")
		os.Exit(64)
	}
	syscall.CloseOnExec(3) // programs that a job starts must not hold them
	syscall.CloseOnExec(4)
	if err := serve(o, run, os.NewFile(3, "told"), os.NewFile(4, "said")); err != nil {
		fmt.Fprintln(os.Stderr, "sirdar runner:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

type server struct {
	options Options
	run     func(*Job) error
	link    *link
	mu      sync.Mutex
	jobs    map[uint64]*Job
}

func serve(o Options, run func(*Job) error, in io.Reader, out io.Writer) error {
	if o.Concurrency < 1 {
		o.Concurrency = 1
	}
	s := &server{options: o, run: run, link: &link{out: out}, jobs: map[uint64]*Job{}}
	lines := bufio.NewReaderSize(in, 65536)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		isOver, err := s.take(line)
		if err != nil || isOver {
			return err
		}
	}
}

func (s *server) take(line []byte) (bool, error) {
	var m struct {
		Op       string `json:"op"`
		Protocol int    `json:"protocol"`
		Job      uint64 `json:"job"`
		N        int64  `json:"n"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return true, err
	}
	switch m.Op {
	case "hello":
		if m.Protocol != Protocol {
			return true, fmt.Errorf("the broker speaks protocol %d, this SDK %d", m.Protocol, Protocol)
		}
		s.link.send(said{Op: "hello", Protocol: Protocol, Name: s.options.Name, Version: s.options.Version,
			SDK: "go/" + Version + " " + runtime.Version(), Concurrency: s.options.Concurrency})
	case "run":
		return false, s.start(line)
	case "kill":
		s.mu.Lock()
		if j := s.jobs[m.Job]; j != nil {
			j.cancel()
		}
		s.mu.Unlock()
	case "ping":
		s.link.send(said{Op: "pong", N: &m.N})
	case "bye":
		return true, nil
	}
	return false, nil
}

func (s *server) start(line []byte) error {
	j := &Job{link: s.link}
	if err := json.Unmarshal(line, j); err != nil {
		return err
	}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	j.Out, j.Err = &stream{job: j, name: "out"}, &stream{job: j, name: "err"}
	s.mu.Lock()
	s.jobs[j.ID] = j
	s.mu.Unlock()
	go s.lead(j)
	return nil
}

func (s *server) lead(j *Job) {
	end := endOf(j, s.call(j))
	s.mu.Lock()
	delete(s.jobs, j.ID)
	s.mu.Unlock()
	j.cancel()
	s.link.send(end)
}

func (s *server) call(j *Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(j.Err, "panic: %v\n%s", p, debug.Stack())
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return s.run(j)
}

func endOf(j *Job, err error) said {
	end := said{Op: "done", Job: j.ID}
	var f *Failure
	switch {
	case err == nil:
	case errors.As(err, &f):
		end.ExitCode, end.Verdict, end.Text, end.RetryAfterMs = f.code, f.verdict, f.text, f.after.Milliseconds()
	case j.Cancelled():
		end.ExitCode, end.Text = -terminated, "stopped when it was told to"
	default:
		end.ExitCode, end.Text = 1, err.Error()
	}
	if len(end.Text) > 2000 {
		end.Text = end.Text[:2000]
	}
	return end
}
