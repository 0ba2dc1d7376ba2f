package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// watching is the real program watching, with its lines as they come.
type watching struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
}

// startWatch starts a watch and waits until it has looked at everything once.
func startWatch(t *testing.T, args ...string) *watching {
	t.Helper()
	path := must.Have(program())(t)
	cmd := exec.Command(path, append([]string{"watch"}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	stderr := must.Have(cmd.StderrPipe())(t)
	stdout := must.Have(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	w := &watching{t: t, cmd: cmd, lines: make(chan string, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(w.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			w.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		<-done
	})
	awaitLine(t, bufio.NewScanner(stderr), "watching")
	return w
}

// await reads lines until one holds all texts.
func (w *watching) await(texts ...string) string {
	w.t.Helper()
	limit := time.After(60 * time.Second)
	var seen []string
	for {
		select {
		case line, ok := <-w.lines:
			if !ok {
				w.t.Fatalf("ended before %q; saw %q", texts, seen)
			}
			seen = append(seen, line)
			matches := true
			for _, text := range texts {
				matches = matches && strings.Contains(line, text)
			}
			if matches {
				return line
			}
		case <-limit:
			w.t.Fatalf("no line with %q; saw %q", texts, seen)
		}
	}
}

// If the reader of a pipe goes away, that is not an error.
func TestWatchEndsQuietlyWhenNobodyReads(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.Set("lock:first", "x") // without it, watch prints what it looked for
	read, written := io.Pipe()
	go io.Copy(io.Discard, read)
	var stderr output
	ended := make(chan int, 1)
	go func() {
		ended <- Main(t.Context(), []string{"watch", "redis://" + server.Addr}, app.Environment{
			Stdout: written, Stderr: &stderr, Now: time.Now,
			Getenv: func(name string) string { return map[string]string{"XDG_CONFIG_HOME": "/nowhere"}[name] },
		})
	}()
	for limit := time.Now().Add(time.Minute); !strings.Contains(stderr.String(), "watching"); time.Sleep(5 * time.Millisecond) { // it waits for its backends first
		if time.Now().After(limit) {
			t.Fatalf("it does not watch: %q", stderr.String())
		}
	}
	read.Close()
	server.Mini.Set("lock:a", "x")
	select {
	case code := <-ended:
		if text := stderr.String(); code != 0 || strings.Count(text, "\n") != 1 {
			t.Errorf("exit code %d, says %q", code, text)
		}
	case <-time.After(60 * time.Second):
		t.Fatal("it goes on")
	}
}

type event struct {
	Event, At, Lock string
	Contender       *contender
	From            *string
	Finding         *struct{ Rule string }
	Backend         *struct{ Name, State string }
}

// checkEvent checks a line of watch against the contract's schema.
func checkEvent(t *testing.T, line string) event {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema := must.Have(compiler.Compile("../docs/event.schema.json"))(t)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatalf("%v in %q", err, line)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("the contract says: %v\n%s", err, line)
	}
	var e event
	must.Succeed(t, json.Unmarshal([]byte(line), &e))
	return e
}
