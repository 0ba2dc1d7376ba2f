package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

func TestWatchTellsAHandover(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		root := servertest.UniquePath(t)
		lock := "zk:" + root + "/orders"
		first := servertest.StartKazoo(t, server.Addr, root+"/orders", "worker-1")
		first.Expect(t, "acquired")
		target := "zk://" + server.Addr + root + "?admin=" + server.Admin
		text, lines := startWatch(t, target), startWatch(t, target, "-o", "jsonl")
		servertest.StartKazoo(t, server.Addr, root+"/orders", "worker-2")
		if line := text.await("waiting", lock, "worker-2"); strings.ContainsAny(line, "\x1b") || len(line) < 12 || line[2] != ':' || line[8] != '.' {
			t.Errorf("%q", line)
		}
		checkEvent(t, lines.await(`"event":"waiting"`, "worker-2"))
		first.Release(t)
		text.await("handover", lock, "worker-2", "after ")
		e := checkEvent(t, lines.await(`"event":"handover"`))
		if e.Lock != lock || e.Contender == nil || e.Contender.Owner.Label != "worker-2" || e.From == nil || !strings.Contains(*e.From, "__lock__") {
			t.Errorf("%+v", e)
		}
		text.cmd.Process.Signal(os.Interrupt)
		for line := range text.lines {
			if strings.Contains(line, "appeared") {
				t.Errorf("the past was reported as news: %s", line)
			}
		}
		text.cmd.Wait()
		if code := text.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
}

func TestWatchTellsABackendThatGoesDownAndComesBack(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	c := server.Client(t)
	w := startWatch(t, "redis://"+server.Addr, "-o", "jsonl")
	must.Succeed(t, c.Set(t.Context(), "lock:a\x1b[2J", "evil\x1b]0;x\a", time.Minute).Err())
	checkEvent(t, w.await(`"event":"appeared"`, `lock:a\\u{1b}[2J`))
	e := checkEvent(t, w.await(`"event":"acquired"`))
	if e.Contender == nil || e.Contender.TTL == nil || e.Contender.Name != `evil\u{1b}]0;x\u{7}` {
		t.Errorf("%+v", e)
	}
	server.Kill(t)
	down := checkEvent(t, w.await(`"event":"backend"`, `"down"`))
	if down.Backend == nil || down.Backend.Name != "redis" || down.Lock != "" {
		t.Errorf("%+v", down)
	}
	server.Restart(t)
	checkEvent(t, w.await(`"event":"backend"`, `"connected"`))
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

func TestWatchIsRefusedWithoutTargetsAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	run(t, "watch").wants(t, 2, "", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := runIn(t, ctx, nil, "watch", "redis://127.0.0.1:1"); got.code != 0 || got.stdout != "" {
		t.Errorf("%+v", got)
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

// A leftover vote is reported although no change is pushed any more. It was young when it was first read, and
// once went unreported until something else changed.
func TestWatchTellsOfAVoteThatIsLeftBehind(t *testing.T) {
	t.Parallel()
	masters := []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)}
	clients := make([]*redis.Client, len(masters))
	for i, m := range masters {
		clients[i] = redis.NewClient(&redis.Options{Addr: m.Addr})
		defer clients[i].Close()
		for n := range 5 { // enough locks to avoid suspect-target
			clients[i].Set(t.Context(), fmt.Sprint("lock:whole-", n), "c2hhcmVkIGJ5IGFsbA==", time.Hour)
		}
	}
	w := startWatch(t, "redis://"+masters[0].Addr+","+masters[1].Addr+","+masters[2].Addr)
	left, set := make(map[string]bool), 0
	leave := func() { // one after the other, so at different moments of the rules' laps
		token := fmt.Sprintf("bGVmdCBiZWhpbmQgYnkgbm8uM%dE=", set)
		must.Succeed(t, clients[set%3].Set(t.Context(), fmt.Sprint("lock:left-", set), token, time.Hour).Err())
		set++
	}
	leave()
	for len(left) < 10 {
		line := w.await("lock:left-")
		switch kind := strings.Fields(line)[1]; {
		case kind == "appeared" && set < 10:
			leave()
		case strings.Contains(line, "minority-leftover"):
			left[strings.Fields(line)[2]] = true
		}
	}
}
