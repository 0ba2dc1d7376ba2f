//go:build unix

package campaign

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// A control breaks an assumption of the locks. A campaign that does not detect it proves nothing.

// controlLimit bounds the time until the checks detect a control.
const controlLimit = 3 * time.Minute

// control repeats a disturbance of a lock on one Redis, each time with new workers, until the checks
// find the expected violation.
func control(t *testing.T, want, addr string, c Config, disturb func(t *testing.T, crew *team)) {
	t.Helper()
	random := rand.New(rand.NewPCG(*campaignSeed, 1))
	start := time.Now()
	for round := 0; time.Since(start) < controlLimit; round++ {
		dir := must.Have(os.MkdirTemp(t.TempDir(), "round"))(t)
		c.Redis, c.TTL, c.Locks = [][]string{{addr}}, lockTTL, oneRedis(round)[:1]
		c.Seed, c.Stores, c.Clients = random.Uint64(), dir, 2
		crew := startTeam(t, c, dir)
		crew.awaitGrant(t)
		time.Sleep(undisturbed) // so that they hold and wait
		disturb(t, crew)
		time.Sleep(undisturbed) // for its effects to reach the history
		crew.end(t)
		h := crew.history(t)
		v := Check(h, func(lock string) Rule { return c.lock(lock).Rule })
		for _, l := range c.Locks {
			must.Be(t, CheckStore(h, l.Name, c.store(l.Name), &v), nil)
		}
		i := slices.IndexFunc(v.Violations, func(v Violation) bool { return v.Check == want })
		if i >= 0 {
			fmt.Printf("control %s: found after %v, in round %d: %v\n", t.Name(), time.Since(start).Round(time.Millisecond), round, v.Violations[i])
			return
		}
	}
	t.Errorf("no %s was found in %v: the checks are blind", want, controlLimit)
}

// onlyInASoak skips tests that take minutes on a busy machine. The checkers have tests without
// servers.
func onlyInASoak(t *testing.T) {
	t.Helper()
	if *campaignFor == 0 {
		t.Skip("SKIPPED: slow; make soak runs it")
	}
}

// Holders ignore the end of their lease.
func TestControlDeafHolders(t *testing.T) {
	onlyInASoak(t)
	server := servertest.StartRedis(t)
	wire := servertest.StartWire(t, server.Addr)
	control(t, "two holders", wire.Addr(), Config{Mean: 4 * lockTTL, Deaf: true}, func(*testing.T, *team) {
		wire.Stop()
		time.Sleep(lockTTL + lockTTL/4) // longer than the holder's lease
		wire.Heal()
	})
}

// Processes are stopped during a hold, and the store checks no token.
func TestControlTokensNotChecked(t *testing.T) {
	onlyInASoak(t)
	server := servertest.StartRedis(t)
	random := rand.New(rand.NewPCG(*campaignSeed, 2))
	briefly := Config{Mean: 50 * time.Millisecond, Unfenced: true}
	control(t, "lost update", server.Addr, briefly, func(t *testing.T, crew *team) {
		for range 3 {
			resume := crew.pause(t, random)
			time.Sleep(lockTTL + lockTTL/4) // longer than the lease of a stopped process
			resume()
		}
	})
}

// A Redis loses its data in a restart.
func TestControlNoPersistence(t *testing.T) {
	onlyInASoak(t)
	server := servertest.StartRedis(t)
	control(t, "two holders", server.Addr, Config{Mean: lockTTL}, func(t *testing.T, _ *team) { server.Restart(t) })
}

// A replica without the lock becomes the master.
func TestControlFailover(t *testing.T) {
	onlyInASoak(t)
	master := servertest.StartRedis(t)
	link, clients := servertest.StartWire(t, master.Addr), servertest.StartWire(t, master.Addr)
	host, port, err := net.SplitHostPort(link.Addr())
	must.Succeed(t, err)
	replica := servertest.StartRedis(t, "--replicaof", host+" "+port, "--repl-diskless-sync-delay", "0")
	control(t, "two holders", clients.Addr(), Config{Mean: lockTTL}, func(t *testing.T, _ *team) {
		link.Stop()             // the replica lags
		time.Sleep(lockTTL / 2) // the master alone grants and renews meanwhile
		sendCommand(t, replica.Addr, "REPLICAOF", "NO", "ONE")
		clients.Retarget(replica.Addr)
		time.Sleep(lockTTL) // now the replica grants, unaware of the master's holds
		clients.Retarget(master.Addr)
		link.Heal()
		sendCommand(t, replica.Addr, "REPLICAOF", host, port)
	})
}

// A server's clock jumps forward.
func TestControlClockStep(t *testing.T) {
	onlyInASoak(t)
	server, clock := servertest.StartRedisWithClock(t)
	control(t, "two holders", server.Addr, Config{Mean: lockTTL}, func(*testing.T, *team) { clock.Step(t, time.Minute) })
}
