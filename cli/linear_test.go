package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
)

// conversation is a run of --linear whose input and output are pipes.
type conversation struct {
	t    *testing.T
	in   io.WriteCloser
	out  output
	code chan int
}

func converseWith(t *testing.T, ctx context.Context, env map[string]string, args ...string) *conversation {
	t.Helper()
	stdin, in, err := os.Pipe()
	must.Succeed(t, err)
	c := &conversation{t: t, in: in, code: make(chan int, 1)}
	go func() {
		c.code <- Main(ctx, append([]string{"--linear"}, args...), app.Environment{
			Stdin: stdin, Stdout: &c.out, Stderr: &c.out, Now: time.Now,
			Getenv: func(name string) string { return env[name] },
		})
	}()
	t.Cleanup(func() {
		in.Close()
		stdin.Close()
	})
	return c
}

func (c *conversation) say(lines ...string) {
	c.t.Helper()
	must.Have(io.WriteString(c.in, strings.Join(lines, "\n")+"\n"))(c.t)
}

// await waits until the output has a text.
func (c *conversation) await(text string) {
	c.t.Helper()
	must.Become(c.t, "output "+text, func() bool { return strings.Contains(c.out.String(), text) })
}

// end waits for the program to exit with code 0, and checks that its output is plain lines.
func (c *conversation) end() {
	c.t.Helper()
	select {
	case code := <-c.code:
		if code != 0 {
			c.t.Errorf("exit code %d:\n%s", code, c.out.String())
		}
	case <-time.After(time.Minute):
		c.t.Fatalf("still running:\n%s", c.out.String())
	}
	if i := strings.IndexFunc(c.out.String(), func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
		c.t.Errorf("control characters: %q", c.out.String()[i:min(i+40, len(c.out.String()))])
	}
}
