package cli

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

// background is a program that a page has started.
type background struct {
	cmd            *exec.Cmd
	in             io.Writer
	stdout, stderr *output
	exited         chan struct{}
}

// start NAME PROGRAM ARGUMENT… runs the program in its own process.
func (p *page) start(args []string) {
	file := args[1]
	if file == programName {
		file = must.Have(program())(p.tb)
	}
	cmd := exec.Command(file, args[2:]...)
	cmd.Dir = p.ts.MkAbs(".")
	cmd.Env = os.Environ()
	for _, variable := range []string{
		"PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "LC_ALL", "LOCKSCOPE_REDIS_USERNAME", "LOCKSCOPE_REDIS_PASSWORD",
		"LOCKSCOPE_WEBHOOK_TOKEN",
	} {
		if value := p.ts.Getenv(variable); value != "" {
			cmd.Env = append(cmd.Env, variable+"="+value)
		}
	}
	b := &background{cmd: cmd, stdout: newOutput(), stderr: newOutput(), exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = b.stdout, b.stderr
	cmd.WaitDelay = 2 * pageLimit // for children that outlive a failed page with the output open
	b.in = must.Have(cmd.StdinPipe())(p.tb)
	must.Succeed(p.tb, cmd.Start())
	go func() {
		defer close(b.exited)
		_ = cmd.Wait() // the page checks the exit code
	}()
	p.tb.Cleanup(func() {
		_ = cmd.Process.Kill() // may have ended
		<-b.exited
	})
	p.running[args[0]] = b
}

func (p *page) background(name string) *background {
	b := p.running[name]
	if b == nil {
		p.ts.Fatalf("%q was not started", name)
	}
	return b
}

// await NAME PATTERN waits until the program has printed it.
func (p *page) await(args []string) {
	b, wanted := p.background(args[0]), p.pattern(args[1])
	limit := time.After(pageLimit)
	for over := false; ; {
		text := b.stdout.String() + b.stderr.String()
		switch {
		case wanted.MatchString(text):
			return
		case over:
			p.ts.Fatalf("%s ended without %q: %s", args[0], args[1], text)
		}
		select {
		case <-b.stdout.changed:
		case <-b.stderr.changed:
		case <-b.exited:
			over = true
		case <-limit:
			p.ts.Fatalf("%s did not print %q: %s", args[0], args[1], text)
		}
	}
}

// type NAME LINE… gives the program lines of input.
func (p *page) typed(args []string) {
	_, err := io.WriteString(p.background(args[0]).in, strings.Join(args[1:], "\n")+"\n")
	p.ts.Check(err)
}

// signal NAME INT|TERM|HUP|KILL
func (p *page) signal(args []string) {
	number := map[string]syscall.Signal{
		"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
	}[args[1]]
	p.ts.Check(p.background(args[0]).cmd.Process.Signal(number))
}

// ended NAME CODE waits until the program and all processes with its output have ended.
func (p *page) ended(args []string) {
	b := p.background(args[0])
	select {
	case <-b.exited:
	case <-time.After(pageLimit):
		p.ts.Fatalf("%s is still running: %s%s", args[0], b.stdout.String(), b.stderr.String())
	}
	p.print(outcome{0, b.stdout.String(), b.stderr.String()})
	if code := b.cmd.ProcessState.ExitCode(); strconv.Itoa(code) != args[1] {
		p.ts.Fatalf("%s: exit code %d, want %s", args[0], code, args[1])
	}
}

// capture VARIABLE PATTERN [NAME] sets a variable to the first group in the last output, or in that
// of a program.
func (p *page) capture(args []string) {
	text := p.ts.ReadFile("stdout") + p.ts.ReadFile("stderr")
	if len(args) > 2 {
		b := p.background(args[2])
		text = b.stdout.String() + b.stderr.String()
	}
	groups := p.pattern(args[1]).FindStringSubmatch(text)
	if len(groups) < 2 {
		p.ts.Fatalf("no match for %q in %s", args[1], text)
	}
	p.ts.Setenv(args[0], groups[1])
}

// json STEP… VALUE compares a value of the last printed JSON. A step is a field, an index, the
// number of elements (len), or an element's id, name, rule, addr or lock. VALUE after ~ is a
// pattern.
func (p *page) json(neg bool, args []string) {
	steps, want := args[:len(args)-1], args[len(args)-1]
	got := p.value(steps)
	equal := got == want
	if pattern, ok := strings.CutPrefix(want, "~"); ok {
		equal = p.pattern(pattern).MatchString(got)
	}
	if equal == neg {
		p.ts.Fatalf("%s is %q", strings.Join(steps, " "), got)
	}
}

// let VARIABLE STEP… sets a variable to a value of the last printed JSON.
func (p *page) let(args []string) { p.ts.Setenv(args[0], p.value(args[1:])) }

func (p *page) value(steps []string) string {
	decoder := json.NewDecoder(strings.NewReader(p.ts.ReadFile("stdout")))
	decoder.UseNumber()
	var value any
	p.ts.Check(decoder.Decode(&value))
	for _, step := range steps {
		value = within(value, step)
	}
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return v
	case map[string]any, []any:
		text, err := json.Marshal(v)
		p.ts.Check(err)
		return string(text)
	}
	return fmt.Sprint(value)
}

// within takes one step into a JSON value. It returns "absent" if nothing is there.
func within(value any, step string) any {
	switch v := value.(type) {
	case map[string]any:
		if inner, ok := v[step]; ok {
			return inner
		}
	case []any:
		if step == "len" {
			return len(v)
		}
		if i, err := strconv.Atoi(step); err == nil && i < len(v) {
			return v[i]
		}
		for _, element := range v {
			for _, key := range []string{"id", "name", "rule", "addr", "lock"} {
				if fields, ok := element.(map[string]any); ok && fields[key] == step {
					return element
				}
			}
		}
	}
	return "absent"
}

// valid SCHEMA checks the last output against a schema of docs: events line by line, anything else
// as one document.
func (p *page) valid(args []string) {
	documents := []string{p.ts.ReadFile("stdout")}
	if args[0] == "event" {
		documents = regexp.MustCompile(`(?m)^{.*$`).FindAllString(documents[0], -1)
	}
	if len(documents) == 0 {
		p.ts.Fatalf("nothing was printed")
	}
	for _, text := range documents {
		p.ts.Check(conforms(text, args[0]))
	}
}

// sorted COLUMN checks that a column of the last printed CSV is in descending order, with unknown
// values last.
func (p *page) sorted(args []string) {
	rows, err := csv.NewReader(strings.NewReader(p.ts.ReadFile("stdout"))).ReadAll()
	p.ts.Check(err)
	at := slices.Index(rows[0], args[0])
	if at < 0 {
		p.ts.Fatalf("no column %q in %q", args[0], rows[0])
	}
	figures := []int{}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[at])
		if err != nil {
			n = -1
		}
		figures = append(figures, n)
	}
	if !slices.IsSortedFunc(figures, func(a, b int) int { return b - a }) || figures[0] == figures[len(figures)-1] {
		p.ts.Fatalf("%s: %v", args[0], figures)
	}
}
