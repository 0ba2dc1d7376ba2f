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
	"github.com/lockscope/lockscope/internal/servertest"
)

// conversation is a run of --linear with both ends of its pipes in use.
type conversation struct {
	t    *testing.T
	in   io.WriteCloser
	out  output
	code chan int
}

func converse(t *testing.T, ctx context.Context, args ...string) *conversation {
	t.Helper()
	home := t.TempDir()
	return converseWith(t, ctx, map[string]string{"XDG_STATE_HOME": home, "XDG_CONFIG_HOME": home}, args...)
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
	if _, err := io.WriteString(c.in, strings.Join(lines, "\n")+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// await waits for a text in the output, which has no event to wait for.
func (c *conversation) await(text string) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(c.out.String(), text); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%q was not reported in:\n%s", text, c.out.String())
		}
	}
}

// end waits for the end, and wants it to be a good one of plain lines.
func (c *conversation) end() {
	c.t.Helper()
	select {
	case code := <-c.code:
		if code != 0 {
			c.t.Errorf("exit code %d:\n%s", code, c.out.String())
		}
	case <-time.After(time.Minute):
		c.t.Fatalf("it goes on:\n%s", c.out.String())
	}
	if i := strings.IndexFunc(c.out.String(), func(r rune) bool { return r < ' ' && r != '\n' }); i >= 0 {
		c.t.Errorf("something is drawn: %q", c.out.String()[i:min(i+40, len(c.out.String()))])
	}
}

func TestLinearReportsAndAnswers(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	const owner = "Y2NjY2NjY2NjY2NjY2NjYw=="
	must.Succeed(t, server.Mini.Set("lock:a", owner))
	c := converse(t, t.Context(), "redis://"+server.Addr)
	c.await("watching 1 lock in 1 backend, 1 warning")
	c.say("show zk:/x", "list", "show redis:lock:a", "nonsense", "list wait>", "list nobody")
	c.say("wrong", "release", "release redis:lock:a", "he", "")
	c.await("quit             end")
	output := c.out.String()
	at := 0
	for _, want := range []string{
		"zk:/x: no such lock",
		"LOCK ", "redis:lock:a ", owner,
		"redis:lock:a   mutex", "MASTER ", "warning: no-ttl", "lockscope ttl redis:lock:a",
		`there is no command "nonsense"`, "this filter cannot be read: wait>", "none of 1 lock",
		"1 warning in 1 lock", "WARNING", "redis:lock:a   no-ttl", "NOT SEEN",
		"is no name of a lock", "\nlockscope release redis:lock:a redis://" + server.Addr + " --owner " + owner,
	} {
		i := strings.Index(output[at:], want)
		if i < 0 {
			t.Fatalf("%q is not, or not in its turn, in:\n%s", want, output)
		}
		at += i
	}
	must.Succeed(t, server.Mini.Set("lock:b", "YmJiYmJiYmJiYmJiYmJiYg=="))
	c.await("redis:lock:b  warning: no-ttl")
	if strings.Contains(c.out.String(), "  appeared") {
		t.Error("what is no finding is reported unasked")
	}
	c.say("tell all")
	c.await("telling all")
	must.Succeed(t, server.Mini.Set("lock:c", owner))
	c.await("  appeared  redis:lock:c")
	c.say("tell", "quit", "list")
	c.end()
	if output := c.out.String(); !strings.HasSuffix(output, "Now it is all.\n") {
		t.Errorf("after quit: %q", output[max(0, len(output)-100):])
	}
}

// It ends with its input, and while it waits for that, when it is interrupted.
func TestLinearEndsWithInputOrInterrupt(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	c := converse(t, t.Context(), "redis://"+server.Addr)
	c.say("list")
	c.in.Close()
	c.await("none of 0 locks")
	c.end()
	ctx, interrupt := context.WithCancel(t.Context())
	c = converse(t, ctx, "redis://"+server.Addr)
	c.await("watching 0 locks")
	interrupt()
	c.end()
}
