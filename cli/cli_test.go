package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// programName is the name under which the test binary runs as the program.
const programName = "lockscope"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == programName {
		os.Exit(Main(context.Background(), os.Args[1:], app.OS()))
	}
	servertest.Main(m)
}

// outcome is the result of a run of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// wants checks the exit code and looks for texts in the output, after a note that names the run.
func (o outcome) wants(t *testing.T, code int, stdout, stderr string, note ...any) {
	t.Helper()
	fits := o.code == code && strings.Contains(o.stdout, stdout) && strings.Contains(o.stderr, stderr)
	must.True(t, fits, append(note, fmt.Sprintf("want %d, %q and %q: %+v", code, stdout, stderr, o))...)
}

// home returns an environment with its own empty home.
func home(t *testing.T) map[string]string {
	return map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}
}

// run runs a command line in this process, with its own empty home.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return runIn(t, t.Context(), home(t), args...)
}

// runIn runs a command in this process with these variables, and returns its output and exit code.
func runIn(t *testing.T, ctx context.Context, env map[string]string, args ...string) outcome {
	t.Helper()
	var stdout, stderr output
	code := Main(ctx, args, writingTo(&stdout, &stderr, env))
	return outcome{code, stdout.String(), stderr.String()}
}

// writingTo returns the surroundings of a program without input.
func writingTo(stdout, stderr io.Writer, env map[string]string) app.Environment {
	return app.Environment{
		Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr,
		Getenv: func(name string) string { return env[name] }, Now: time.Now,
	}
}

// output is a buffer that the program and its command may write to concurrently.
type output struct {
	mu      sync.Mutex
	buf     bytes.Buffer
	changed chan struct{} // gets a value after a write; may be nil
}

// newOutput is a buffer whose growth a test can await.
func newOutput() *output { return &output{changed: make(chan struct{}, 1)} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer func() {
		select {
		case o.changed <- struct{}{}:
		default:
		}
	}()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// snapshot has the parts of the contract's JSON that the tests read.
type snapshot struct {
	Backends []struct {
		Name     string
		Findings []reportedFinding
	}
	Locks []lock
}

type lock struct {
	ID, Kind, Recipe string
	Holders          []struct{ Name string }
	Findings         []reportedFinding
}

// parse checks a snapshot against the contract's schema and reads it.
func parse(t *testing.T, text string) snapshot {
	t.Helper()
	must.Be(t, conforms(text, "snapshot"), nil, text)
	var s snapshot
	must.Succeed(t, json.Unmarshal([]byte(text), &s))
	return s
}

// conforms returns why a JSON document does not match a schema of the contract.
func conforms(text, name string) error {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("../docs/" + name + ".schema.json")
	if err != nil {
		return err
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(document)
}
