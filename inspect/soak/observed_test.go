package soak

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/finding"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// observed is an event as watch writes it, with the observer that reported it.
type observed struct {
	Event     string
	At        time.Time
	Lock      string
	Contender *struct{ Name string }
	From      *string
	Certainty string
	Between   struct{ From, To time.Time } // if the time was not observed
	Finding   *inspect.Finding
	Backend   *struct{ Name, State, Error string }
	by        string
}

func (e observed) name() string {
	if e.Contender == nil {
		return ""
	}
	return e.Contender.Name
}

// span is the reported time of the event.
func (e observed) span() (from, to time.Time) {
	if e.Between.From.IsZero() {
		return e.At, e.At
	}
	return e.Between.From, e.Between.To
}

// dated sets an exact time.
func (e *observed) dated(at time.Time) {
	e.At, e.Between.From, e.Between.To = at, time.Time{}, time.Time{}
}

// story collects the events of observers, in order. Its methods may be called by any goroutine.
type story struct {
	mu     sync.Mutex
	events []observed
}

func (s *story) add(t *testing.T, by string, line []byte) {
	e := observed{by: by}
	if err := json.Unmarshal(line, &e); err != nil {
		t.Errorf("%s reported %q: %v", by, line, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
}

// since returns the events from the n-th on that are dated before that time.
func (s *story) since(n int, before time.Time) []observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	end := n
	for end < len(s.events) && s.events[end].At.Before(before) {
		end++
	}
	return slices.Clone(s.events[n:end])
}

const (
	observerName = "observer" // in this process, through wires where possible
	watchName    = "watch"    // the real program, which is sometimes paused
)

// eye is an Observer in this process.
type eye struct {
	*inspect.Observer
	stop    context.CancelFunc
	running sync.WaitGroup
}

// observe watches all servers, ZooKeeper and the five masters through wires.
func observe(t *testing.T, w *world, reports *story) *eye {
	t.Helper()
	sources := []inspect.Source{zksource.New(zksource.Config{
		Backend: zkName, Servers: wireAddrs(w.zkLook), Admin: adminAddrs(w.zk), Roots: []string{"/soak"},
	})}
	for backend, masters := range w.redisOptions(wireAddrs(w.look)) {
		sources = append(sources, redissource.New(redissource.Config{Backend: backend, Masters: masters}))
	}
	o := inspect.NewObserver(time.Now, sources...)
	o.Diagnose(finding.Rules(), 10*time.Minute)
	ctx, stop := context.WithCancel(context.Background())
	e := &eye{Observer: o, stop: stop}
	sub := o.Subscribe()
	e.running.Go(func() {
		must.Be(t, o.Run(ctx), nil, "observer")
		stop()
	})
	e.running.Go(func() {
		defer sub.Close()
		for {
			s, err := sub.Next(ctx)
			if err != nil {
				return
			}
			must.Equal(t, s.Dropped, 0, "events that the observer dropped")
			for _, event := range s.Events {
				line, err := json.Marshal(jsonform.Event(event, nil))
				must.Be(t, err, nil)
				reports.add(t, observerName, line)
			}
		}
	})
	t.Cleanup(e.end)
	return e
}

func (e *eye) end() {
	e.stop()
	e.running.Wait()
}

// program builds the real program and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/lockscope"
	build := exec.Command("go", "build", "-o", path, "github.com/lockscope/lockscope")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v\n%s", err, out)
	}
	return path
}

// watcher is a process of the real program that watches all servers.
type watcher struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func startWatch(t *testing.T, program string, targets []string, reports *story) *watcher {
	t.Helper()
	cmd := exec.Command(program, append([]string{"watch", "-o", "jsonl"}, targets...)...)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_STATE_HOME="+t.TempDir())
	looked := &announced{first: make(chan struct{})}
	cmd.Stderr = looked
	out := must.Have(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	w := &watcher{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			reports.add(t, watchName, lines.Bytes())
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-w.done
		_ = cmd.Wait()
	})
	select { // holds from before its first pass are not events
	case <-looked.first:
	case <-time.After(time.Minute):
		t.Fatal("watch has not finished its first pass within a minute")
	}
	return w
}

// announced copies a watch's stderr, and notices the end of its first pass.
type announced struct {
	first chan struct{}
	once  sync.Once
}

func (a *announced) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("watching ")) {
		a.once.Do(func() { close(a.first) })
	}
	return os.Stderr.Write(b)
}

func (w *watcher) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	must.Succeed(t, servertest.Signal(w.cmd.Process, s))
}
