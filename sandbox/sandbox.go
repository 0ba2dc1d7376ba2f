// Package sandbox is the world of `lockscope demo`: an embedded ZooKeeper, five embedded Redis
// masters, and scripted clients that take and release locks on them. All run in this process and on
// loopback. It is for learning and trying; it proves nothing about real servers.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lockscope/lockscope/internal/zkserver"
)

// mastersCount is the number of masters of the backend "redis".
const mastersCount = 5

// Scenario is a script of clients.
type Scenario struct {
	Name string
	// About says in one line what the scenario shows.
	About  string
	scenes []Scene
	script *script
}

// Tour is the name of the scenario that plays all others.
const Tour = "tour"

// ErrNoScenario is wrapped by Start's error for an unknown scenario.
var ErrNoScenario = errors.New("no such scenario")

// Sandbox is a running demo. Close ends it.
type Sandbox struct {
	zk      *zkserver.Server
	masters []*redisServer // of the backend "redis"
	addrs   []string       // of these masters

	ctx     context.Context
	end     context.CancelFunc
	clients sync.WaitGroup
	closers []func()

	scenes []Scene
	seed   uint64

	mu     sync.Mutex
	frozen map[string]chan struct{} // by the lock's id; closed when it may go on
}

// Start starts servers and the clients of a scenario by its name. The same seed gives the same hold and think times.
func Start(scenario string, seed uint64) (*Sandbox, error) {
	var chosen []Scenario
	var names []string
	for _, s := range Scenarios() {
		names = append(names, s.Name)
		if scenario == s.Name || scenario == Tour {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%w: %q (choose from: %s, %s)", ErrNoScenario, scenario, Tour, strings.Join(names, ", "))
	}
	s := &Sandbox{seed: seed, frozen: make(map[string]chan struct{})}
	s.ctx, s.end = context.WithCancel(context.Background())
	if err := s.start(chosen); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Sandbox) start(scenarios []Scenario) error {
	var err error
	s.zk, err = zkserver.Start(zkserver.Config{TickTime: 500 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("sandbox: %w", err)
	}
	for range mastersCount {
		m, err := startRedis()
		if err != nil {
			return err
		}
		s.masters, s.addrs = append(s.masters, m), append(s.addrs, m.addr)
	}
	for _, scenario := range scenarios {
		s.scenes = append(s.scenes, scenario.scenes...)
		if err := scenario.script.play(s); err != nil {
			return fmt.Errorf("sandbox: %s: %w", scenario.Name, err)
		}
	}
	return nil
}

// Targets returns the URLs that lead to the sandbox's servers.
func (s *Sandbox) Targets() []string {
	return []string{
		fmt.Sprintf("zk://%s/?admin=http://%s", s.zk.Addr(), s.zk.AdminAddr()),
		fmt.Sprintf("redis://%s?match=lock:*", strings.Join(s.addrs, ",")),
	}
}

// Close stops the clients, then the servers, and waits for them.
func (s *Sandbox) Close() {
	s.end()
	s.clients.Wait()
	for _, f := range s.closers {
		f()
	}
	if s.zk != nil {
		_ = s.zk.Close() // it is ours and ends with us
	}
	for _, m := range s.masters {
		m.Close()
	}
}

// run runs a client until the sandbox ends.
func (s *Sandbox) run(client func(ctx context.Context)) {
	s.clients.Go(func() { client(s.ctx) })
}

// pause waits, and reports whether the sandbox continues.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
