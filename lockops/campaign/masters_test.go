//go:build unix

package campaign

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lockscope/lockscope/internal/servertest"
)

// redisMaster is a real master behind a wire that keeps acknowledged writes.
func redisMaster(t *testing.T, args ...string) (*servertest.Redis, *servertest.Wire) {
	r := servertest.StartRedis(t, append([]string{"--appendonly", "yes", "--appendfsync", "always"}, args...)...)
	return r, servertest.StartWire(t, r.Addr)
}

// masters are independent Redis servers behind wires, some of which may be down.
type masters struct {
	servers []*servertest.Redis
	wires   []*servertest.Wire
	down    map[int]bool
}

// redisTarget is n masters, with faults that can affect a majority.
func redisTarget(t *testing.T, name string, n int, locks func(round int) []Lock) *target {
	m := &masters{down: map[int]bool{}}
	var behindWires [][]string
	for range n {
		server, wire := redisMaster(t)
		m.servers, m.wires, behindWires = append(m.servers, server), append(m.wires, wire), append(behindWires, []string{wire.Addr()})
	}
	direct := addrsOf(m.servers)
	return &target{
		name:   name,
		config: func(round int) Config { return Config{Redis: behindWires, TTL: lockTTL, Locks: locks(round)} },
		faults: slices.Concat(m.processFaults(), m.networkFaults(), linkFaults(m.wires), m.stateFaults(), forcedOnRedis(direct)),
		heal:   m.heal,
		left:   func(ctx context.Context, cfg Config) ([]string, error) { return leftOnRedis(ctx, direct, cfg) },
	}
}

// each applies do to some of the masters.
func (m *masters) each(do func(t *testing.T, i int) func()) func(*testing.T, *rand.Rand) func() {
	return func(t *testing.T, r *rand.Rand) func() {
		n := len(m.servers)
		var undo []func()
		for _, i := range r.Perm(n)[:1+r.IntN((n+1)/2)] {
			if u := do(t, i); u != nil {
				undo = append(undo, u)
			}
		}
		return func() {
			for _, u := range undo {
				u()
			}
		}
	}
}

func (m *masters) send(t *testing.T, i int, words ...any) {
	sendCommand(t, m.servers[i].Addr, words...)
}

// say makes some of the masters execute a command, and later another to undo it, if any.
func (m *masters) say(command, mend []any) func(*testing.T, *rand.Rand) func() {
	return m.each(func(t *testing.T, i int) func() {
		m.send(t, i, command...)
		if mend == nil {
			return nil
		}
		return func() { m.send(t, i, mend...) }
	})
}

func (m *masters) processFaults() []fault {
	return []fault{
		{name: "masters are stopped", do: m.each(func(t *testing.T, i int) func() {
			m.servers[i].Pause(t)
			return func() { m.servers[i].Resume(t) }
		})},
		{name: "masters are killed", do: m.each(func(t *testing.T, i int) func() {
			m.servers[i].Kill(t)
			m.down[i] = true
			return func() { m.servers[i].Restart(t); delete(m.down, i) }
		})},
		{name: "masters are restarted", do: m.each(func(t *testing.T, i int) func() { m.servers[i].Restart(t); return nil })},
	}
}

func (m *masters) networkFaults() []fault {
	return []fault{
		{name: "clients are silently cut off", do: func(t *testing.T, r *rand.Rand) func() {
			d := direction(r)
			return m.each(func(_ *testing.T, i int) func() { m.wires[i].Stop(d...); return m.wires[i].Heal })(t, r)
		}},
		{name: "connections are reset", do: m.each(func(_ *testing.T, i int) func() { m.wires[i].Reset(); return nil })},
	}
}

// stateFaults make masters refuse or delay requests.
func (m *masters) stateFaults() []fault {
	return []fault{
		{name: "CLIENT PAUSE", do: m.say([]any{"CLIENT", "PAUSE", 700}, nil)},
		{name: "SCRIPT FLUSH", do: m.say([]any{"SCRIPT", "FLUSH"}, nil)},
		{name: "out of memory", do: m.say([]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"})},
		// No server listens at that address, so the master keeps its data.
		{name: "READONLY", do: m.say([]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"})},
		{name: "LOADING", do: m.each(func(t *testing.T, i int) func() { reload(t, m.servers[i].Addr); return nil })},
		{name: "a command blocks", do: m.say([]any{"DEBUG", "SLEEP", "0.4"}, nil)},
	}
}

func (m *masters) heal(t *testing.T) {
	for i := range m.down {
		m.servers[i].Restart(t)
		delete(m.down, i)
	}
	for i := range m.servers {
		m.servers[i].Resume(t)
		m.wires[i].Heal()
		m.send(t, i, "CONFIG", "SET", "maxmemory", "0")
		m.send(t, i, "REPLICAOF", "NO", "ONE")
	}
}
