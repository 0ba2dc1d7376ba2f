package servertest

import (
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// server is the common part of a running ZooKeeper and a running Redis.
type server struct {
	shared bool
	dir    string                   // of a real one
	run    func() (*process, error) // starts a real one
	proc   *process                 // nil for an embedded one
	close  func()                   // ends an embedded one
}

// Stop shuts the server down cleanly and waits until it is gone. Its port is free then, and the
// data of a real one stays for Restart.
func (s *server) Stop(t testing.TB) {
	t.Helper()
	s.own(t, "Stop")
	if s.proc == nil {
		s.close()
		return
	}
	s.proc.stop()
}

// Kill ends a real server without warning (SIGKILL), an embedded one like Stop, and waits until it is gone.
func (s *server) Kill(t testing.TB) {
	t.Helper()
	s.own(t, "Kill")
	if s.proc == nil {
		s.close()
		return
	}
	s.proc.kill()
}

// Restart starts a real server again, with its data, on the same ports, after killing it if it runs, and waits until it
// answers.
func (s *server) Restart(t testing.TB) {
	t.Helper()
	s.ownReal(t, "Restart").kill()
	proc, err := s.run()
	if err != nil {
		t.Fatal(err)
	}
	s.proc = proc
}

// Pause stops a real server's process (SIGSTOP). Connections stay open and the system accepts new
// ones, but nothing answers.
func (s *server) Pause(t testing.TB) {
	t.Helper()
	s.signal(t, "Pause", syscall.SIGSTOP)
}

// Resume continues a paused server (SIGCONT), which then executes the requests sent meanwhile.
func (s *server) Resume(t testing.TB) {
	t.Helper()
	s.signal(t, "Resume", syscall.SIGCONT)
}

func (s *server) own(t testing.TB, verb string) {
	t.Helper()
	if s.shared {
		t.Fatalf("servertest: %s: other tests share this server: start one for this test", verb)
	}
}

func (s *server) ownReal(t testing.TB, verb string) *process {
	t.Helper()
	s.own(t, verb)
	if s.proc == nil {
		t.Fatalf("servertest: %s: only for a real server", verb)
	}
	return s.proc
}

func (s *server) signal(t testing.TB, verb string, sig syscall.Signal) {
	t.Helper()
	if err := Signal(s.ownReal(t, verb).cmd.Process, sig); err != nil {
		t.Fatalf("servertest: %s: %v", verb, err)
	}
}

func (s *server) share() { s.shared = true }

// end stops the server for good.
func (s *server) end() {
	if s.proc == nil {
		s.close()
		return
	}
	s.proc.kill()
	os.RemoveAll(s.dir)
}

// pool holds the servers of one kind that the tests of a process share.
type pool[S interface {
	share()
	end()
}] struct {
	mu     sync.Mutex
	all    []S
	failed error // why one could not start; returned instead of trying again
}

// first returns n servers, and starts missing ones.
func (p *pool[S]) first(n int, start func() (S, error)) ([]S, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.all) < n {
		if p.failed != nil {
			return nil, p.failed
		}
		var one S
		if one, p.failed = start(); p.failed == nil {
			one.share()
			p.all = append(p.all, one)
		}
	}
	return slices.Clone(p.all[:n]), nil
}

func (p *pool[S]) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.all {
		one.end()
	}
	p.all = nil
}
