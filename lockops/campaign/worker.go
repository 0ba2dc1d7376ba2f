//go:build unix

package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/lockops"
)

// Lock is a lock of a campaign, and how it is acquired.
type Lock struct {
	Name string
	On   lockops.Servers
	// Kinds are names for lockops.KindNamed; a read-write lock has two.
	Kinds  []string
	Recipe string // for ZooKeeper locks
	Rule   Rule
	// Foreign is another library that uses the lock, too: go-zookeeper in each worker, or kazoo or
	// redis-py in its own process.
	Foreign string
}

// Config of a worker process, passed in its environment.
type Config struct {
	Worker  int
	Seed    uint64
	Report  string // file
	Stores  string // directory of the fenced stores
	Clients int
	Locks   []Lock
	// ZooKeeper lists the servers of the ensemble. Redis lists the addresses of each independent
	// master; a Cluster has several.
	ZooKeeper      []string
	SessionTimeout time.Duration
	Redis          [][]string
	Cluster        bool
	TTL            time.Duration
	// Mean is the mean length of most holds; default 2 ms.
	Mean time.Duration
	// Deaf workers ignore the end of a hold, and Unfenced ones use stores that ignore tokens. Both are
	// controls.
	Deaf, Unfenced bool
}

// workerEnv names the environment variable with a worker's Config.
const workerEnv = "LOCKSCOPE_CAMPAIGN_WORKER"

// WorkerMain must come first in a program that starts workers. In a worker process it runs the worker
// and never returns.
func WorkerMain() {
	text := os.Getenv(workerEnv)
	if text == "" {
		return
	}
	if err := runWorker(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func runWorker(text string) error {
	var cfg Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		return fmt.Errorf("campaign: worker: %w", err)
	}
	report, err := OpenReport(cfg.Report, cfg.Worker, endProcess)
	if err != nil {
		return err
	}
	defer report.Close()
	w := &worker{cfg: cfg, report: report}
	var watching sync.WaitGroup
	watched, unwatch := context.WithCancel(context.Background())
	watching.Go(func() { w.watchStalls(watched) })
	goOn := sync.OnceFunc(stopAtFailpoints(report, cfg.Seed+uint64(cfg.Worker), max(cfg.SessionTimeout, cfg.TTL)))
	defer goOn()
	report.Add(Record{Op: OpStart})
	before := inUse()
	ctx, stop := context.WithCancel(context.Background())
	go func() { // ends before the worker does
		if n, _ := os.Stdin.Read(make([]byte, 1)); n > 0 { // no more faults
			goOn()
		}
		_, _ = io.Copy(io.Discard, os.Stdin) // closed when the worker should end, or the campaign has died
		stop()
	}()
	for ctx.Err() == nil {
		if err := w.session(ctx); err != nil && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond) // the servers are down
		}
	}
	w.reporting.Wait() // all holds end with their sessions
	report.Add(left(before))
	unwatch()
	watching.Wait()
	return nil
}

// endProcess ends a worker that cannot report, since the checks would see only half of its steps.
// The round fails because its record of a clean end is missing.
func endProcess(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// worker is one process of a campaign.
type worker struct {
	cfg    Config
	report *Report
	holds  atomic.Int64
	// reporting counts holds whose end is unreported.
	reporting sync.WaitGroup
}

const (
	heartbeat = 5 * time.Millisecond
	stallOver = 10 * time.Millisecond
)

// watchStalls reports times in which the process did not run, because it was stopped or the machine was busy.
func (w *worker) watchStalls(ctx context.Context) {
	ticks := time.NewTicker(heartbeat)
	defer ticks.Stop()
	for last := Now(); ; {
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return
		}
		now := Now()
		if seconds(now-last) > stallOver {
			w.report.Add(Record{At: now, Op: OpStall, Since: last})
		}
		last = now
	}
}

// use counts a process's goroutines and open descriptors.
type use struct{ goroutines, files int }

func inUse() use {
	files, _ := os.ReadDir("/proc/self/fd") // empty without that directory
	return use{runtime.NumGoroutine(), len(files)}
}

// settleTime is how long goroutines and connections may outlive a clean end.
const settleTime = 3 * time.Second

// left returns the record of a clean end, with stacks if goroutines or descriptors are left behind.
func left(before use) Record {
	r := Record{Op: OpExit}
	for end := time.Now().Add(settleTime); ; time.Sleep(heartbeat) {
		now := inUse()
		r.Goroutines, r.Files = now.goroutines-before.goroutines, now.files-before.files
		if r.Goroutines <= 0 && r.Files <= 0 {
			return r
		}
		if time.Now().After(end) {
			var stacks bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1) // writing to a buffer does not fail
			r.Text = stacks.String()
			return r
		}
	}
}

// sessionTime bounds a worker's session, connectTime the wait for a new one.
const (
	sessionTime = 4 * time.Second
	connectTime = 5 * time.Second
)

// session connects, runs its clients for a while, and closes.
func (w *worker) session(ctx context.Context) error {
	random := w.random(-w.holds.Load())
	var clients sync.WaitGroup
	defer clients.Wait() // after the sessions have ended
	var zk *lockops.ZKSession
	var masters *lockops.RedisSession
	connecting, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	var err error
	if len(w.cfg.ZooKeeper) > 0 {
		var end func()
		if zk, end, err = w.zooKeeper(connecting, random); err != nil {
			return err
		}
		defer end()
	}
	if len(w.cfg.Redis) > 0 {
		var options []*redis.UniversalOptions
		for _, addrs := range w.cfg.Redis {
			options = append(options, &redis.UniversalOptions{Addrs: addrs, IsClusterMode: w.cfg.Cluster})
		}
		if masters, err = lockops.NewRedisSession(connecting, options); err != nil {
			return err
		}
		defer masters.Close()
	}
	working, cancel := context.WithTimeout(ctx, sessionTime/2+time.Duration(random.Int64N(int64(sessionTime))))
	defer cancel()
	for _, l := range w.cfg.Locks {
		if l.Foreign == "go-zookeeper" {
			clients.Go(func() { w.contendGoZooKeeper(working, l.Name) })
		}
	}
	for i := range w.cfg.Clients {
		c := &client{worker: w, number: i + 1, random: w.random(w.holds.Add(1))}
		for _, l := range w.cfg.Locks {
			lockers, err := lockersOf(l, w.cfg, zk, masters)
			if err != nil {
				return err
			}
			c.lockers = append(c.lockers, lockers)
		}
		clients.Go(func() { c.work(working) })
	}
	if random.IntN(4) == 0 { // close during their work
		<-working.Done()
		return nil
	}
	clients.Wait()
	return nil
}

// random makes a separate source for each use.
func (w *worker) random(use int64) *rand.Rand {
	return rand.New(rand.NewPCG(w.cfg.Seed, uint64(w.cfg.Worker)<<32|uint64(uint32(use))))
}

// lockersOf makes a Locker for each kind of a lock.
func lockersOf(l Lock, cfg Config, zk *lockops.ZKSession, masters *lockops.RedisSession) ([]lockops.Locker, error) {
	var session lockops.Session = masters
	options := []lockops.Option{lockops.WithReentry()}
	if l.On == lockops.OnZooKeeper {
		session = zk
		if l.Recipe != "" {
			options = append(options, lockops.WithRecipe(l.Recipe))
		}
	} else {
		options = append(options, lockops.WithTTL(cfg.TTL))
	}
	var lockers []lockops.Locker
	for _, name := range l.Kinds {
		locker, err := newLocker(l, name, session, options)
		if err != nil {
			return nil, err
		}
		lockers = append(lockers, locker)
	}
	return lockers, nil
}

func newLocker(l Lock, name string, session lockops.Session, options []lockops.Option) (lockops.Locker, error) {
	k, err := lockops.KindNamed(l.On, name)
	if err != nil {
		return nil, err
	}
	return k.New(session, l.Name, options...)
}

// store returns the fenced store that a lock guards.
func (c Config) store(lock string) Store {
	s := NewStore(storePath(c.Stores, lock))
	s.Fenced = !c.Unfenced
	return s
}

func storePath(dir, lock string) string { return filepath.Join(dir, "store-"+filepath.Base(lock)) }

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

var errIdle = errors.New("the campaign has ended")
