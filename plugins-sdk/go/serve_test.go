package runner

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

// A broker made of two pipes.
type broker struct {
	t    *testing.T
	to   *io.PipeWriter
	from *bufio.Scanner
	id   uint64
	end  chan error
}

func begin(t *testing.T, run func(*Job) error) *broker {
	in, to := io.Pipe()
	from, out := io.Pipe()
	b := &broker{t: t, to: to, from: bufio.NewScanner(from), end: make(chan error, 1)}
	go func() { b.end <- serve(Options{Name: "t", Concurrency: 4}, run, in, out) }()
	b.tell(`{"op":"hello","protocol":1,"type":"t"}`)
	if hello := b.hear(); hello.Op != "hello" || hello.Concurrency != 4 {
		t.Fatalf("hello: %+v", hello)
	}
	return b
}

func (b *broker) tell(line string) { fmt.Fprintln(b.to, line) }

func (b *broker) hear() (m said) {
	if !b.from.Scan() {
		b.t.Fatal("it said nothing")
	}
	if err := json.Unmarshal(b.from.Bytes(), &m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func (b *broker) run(params string) said {
	b.id++
	b.tell(fmt.Sprintf(`{"op":"run","job":%d,"token":"18446744073709551615","params":%s,"secrets":{"pw":"tulip"}}`, b.id, params))
	return b.hear()
}

func TestEndsOfJobs(t *testing.T) {
	b := begin(t, func(j *Job) error {
		switch j.Param("do", "") {
		case "fatal":
			return Fatal("no %d", 1)
		case "error":
			return errors.New("oops")
		case "panic":
			panic("ouch")
		case "exit":
			return Exit(7)
		case "later":
			return NotYet(1500*time.Millisecond, "later")
		case "int":
			_, err := j.Int("n", 0, 1, 9)
			return err
		case "secret":
			v, err := j.Secret("key")
			j.Output("got", v)
			return err
		case "wait":
			return j.Pause(time.Hour)
		}
		if j.Token != 1<<64-1 {
			return Fatal("token %d", j.Token)
		}
		return nil
	})
	if e := b.run(`{}`); e.Op != "done" || e.ExitCode != 0 || e.Verdict != "" {
		t.Errorf("success: %+v", e)
	}
	if e := b.run(`{"do":"fatal"}`); e.Verdict != "fatal" || e.Text != "no 1" {
		t.Errorf("fatal: %+v", e)
	}
	if e := b.run(`{"do":"error"}`); e.ExitCode != 1 || e.Text != "oops" {
		t.Errorf("error: %+v", e)
	}
	if e := b.run(`{"do":"exit"}`); e.ExitCode != 7 || e.Verdict != "code" {
		t.Errorf("exit: %+v", e)
	}
	if e := b.run(`{"do":"later"}`); e.Verdict != "not_yet" || e.RetryAfterMs != 1500 {
		t.Errorf("not yet: %+v", e)
	}
	if e := b.run(`{"do":"int","n":"x"}`); e.Verdict != "fatal" || e.Text != "n is 'x', want 1..9" {
		t.Errorf("int: %+v", e)
	}
	if e := b.run(`{"do":"secret","key":"pw"}`); e.Op != "output" || *e.Value != "tulip" {
		t.Errorf("secret: %+v", e)
	}
	b.hear()
	if e := b.run(`{"do":"panic"}`); e.Op != "log" || e.Stream != "err" {
		t.Errorf("panic's log: %+v", e)
	}
	if e := b.hear(); e.ExitCode != 1 || e.Text != "panic: ouch" {
		t.Errorf("panic: %+v", e)
	}
	b.tell(`{"op":"run","job":99,"token":"1","params":{"do":"wait"}}`)
	b.tell(`{"op":"ping","n":5}`)
	if e := b.hear(); e.Op != "pong" || *e.N != 5 {
		t.Errorf("pong: %+v", e)
	}
	b.tell(`{"op":"kill","job":99}`)
	if e := b.hear(); e.Job != 99 || e.ExitCode != -15 {
		t.Errorf("kill: %+v", e)
	}
	b.tell(`{"op":"bye"}`)
	if err := <-b.end; err != nil {
		t.Errorf("bye: %v", err)
	}
}
