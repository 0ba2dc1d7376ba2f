package sandbox

import (
	"fmt"
	"slices"
)

// Faults that users can inject into the sandbox, to see how locks react. They are safe to call at
// any time.

// ExpireSession ends a ZooKeeper session as the server does when its client was silent for too long. Its nodes are
// gone, and the client learns of it with its next request.
func (s *Sandbox) ExpireSession(id int64) error { return s.zk.ExpireSession(id) }

// Cut closes the connection of a ZooKeeper session. Its client reconnects and keeps its place.
func (s *Sandbox) Cut(id int64) error { return s.zk.DropConnection(id) }

// Freeze keeps the current or next holder of a lock from releasing it, as a hung process does. Its
// session or key stays alive. It ends with Thaw, or when the holder loses the lock.
func (s *Sandbox) Freeze(lock string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen[lock] == nil {
		s.frozen[lock] = make(chan struct{})
	}
}

// Thaw ends a Freeze.
func (s *Sandbox) Thaw(lock string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.frozen[lock]; c != nil {
		close(c)
		delete(s.frozen, lock)
	}
}

// Frozen reports whether the holder of a lock is frozen.
func (s *Sandbox) Frozen(lock string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.frozen[lock] != nil
}

// running is a closed channel: nothing is frozen.
var running = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// thawed returns a channel that is closed when the lock's holder may continue.
func (s *Sandbox) thawed(lock string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.frozen[lock]; c != nil {
		return c
	}
	return running
}

// Masters returns the addresses of the Redis masters.
func (s *Sandbox) Masters() []string { return slices.Clone(s.addrs) }

// Stopped reports whether a Redis master is stopped.
func (s *Sandbox) Stopped(addr string) bool {
	at := slices.Index(s.addrs, addr)
	return at >= 0 && s.masters[at].isStopped()
}

// StopMaster stops a Redis master, which keeps its data.
func (s *Sandbox) StopMaster(addr string) error {
	return s.switchMaster(addr, true)
}

// StartMaster starts a Redis master again, with its data.
func (s *Sandbox) StartMaster(addr string) error {
	return s.switchMaster(addr, false)
}

func (s *Sandbox) switchMaster(addr string, stop bool) error {
	at := slices.Index(s.addrs, addr)
	if at < 0 {
		return fmt.Errorf("sandbox: no master %q", addr)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.masters[at]
	switch {
	case m.isStopped() == stop:
	case stop:
		m.stop()
	default:
		if err := m.start(); err != nil {
			return fmt.Errorf("sandbox: master %s: %w", addr, err)
		}
	}
	return nil
}
