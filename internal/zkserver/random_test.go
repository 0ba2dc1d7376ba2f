package zkserver_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"lockscope/internal/servertest"
)

// randomRuns numbers the runs of one process, which share the real server.
var randomRuns atomic.Int64

// TestRandomRequestsAreAnsweredAlike sends the same random requests of two sessions, with ends of sessions between them, to
// the embedded server and to Apache ZooKeeper: results, stats, errors and watch events are to be equal.
func TestRandomRequestsAreAnsweredAlike(t *testing.T) {
	t.Parallel()
	const seeds, steps = 12, 150
	run := randomRuns.Add(1)
	transcripts := map[string][]string{}
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		for seed := range uint64(seeds) {
			p := &player{t: t, server: server, root: fmt.Sprintf("/random-%d-%d", run, seed), random: rand.New(rand.NewPCG(seed, 9))}
			transcripts[fmt.Sprint(server.Real)] = append(transcripts[fmt.Sprint(server.Real)], p.play(steps)...)
		}
	})
	embedded, real := transcripts["false"], transcripts["true"]
	if len(real) == 0 {
		return // the subtest has skipped, with its reason, or failed
	}
	for i := range min(len(embedded), len(real)) {
		if embedded[i] != real[i] {
			t.Fatalf("step %d of seed %d:\nembedded %s\nreal     %s", i%steps, i/steps, embedded[i], real[i])
		}
	}
	if len(embedded) != len(real) || len(real) != seeds*steps {
		t.Errorf("%d and %d answers, want %d", len(embedded), len(real), seeds*steps)
	}
}

// player plays one sequence.
type player struct {
	t       *testing.T
	server  *servertest.ZooKeeper
	root    string
	random  *rand.Rand
	conns   [2]*zk.Conn
	ended   [2]<-chan zk.Event
	watches [2][]watched
}

type watched struct {
	path   string
	events <-chan zk.Event
}

func (p *player) connect(i int) {
	conn, events, err := zk.Connect([]string{p.server.Addr}, 10*time.Second, zk.WithLogger(quiet{}))
	if err != nil {
		p.t.Fatal(err)
	}
	p.conns[i], p.ended[i] = conn, events
	awaitState(p.t, events, zk.StateHasSession)
	// Just after a session began go-zookeeper reads without a lock what answers write, if there is a watch by then.
	// Nothing signals that it has done so.
	time.Sleep(10 * time.Millisecond)
}

func (p *player) end(i int) {
	p.conns[i].Close()
	for range p.ended[i] { // closed when its goroutines have ended
	}
	p.watches[i] = nil
}

func (p *player) play(steps int) []string {
	for i := range p.conns {
		p.connect(i)
		defer func() { p.end(i) }()
	}
	if _, err := p.conns[0].Create(p.root, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		p.t.Fatal(err)
	}
	var transcript []string
	for range steps {
		transcript = append(transcript, p.step())
	}
	return transcript
}

// path is one of few, so that requests meet.
func (p *player) path() string {
	path := p.root + "/" + string(rune('a'+p.random.IntN(3)))
	if p.random.IntN(3) == 0 {
		path += "/" + string(rune('x'+p.random.IntN(2)))
	}
	return path
}

func (p *player) version() int32 { return int32(p.random.IntN(4) - 1) }

// step makes one request and returns it with its answer and the events that it caused.
func (p *player) step() string {
	i := p.random.IntN(2)
	c, path := p.conns[i], p.path()
	text := fmt.Sprintf("session %d: ", i)
	switch p.random.IntN(12) {
	case 0, 1:
		flags := []int32{0, zk.FlagEphemeral, zk.FlagSequence, zk.FlagEphemeral | zk.FlagSequence}[p.random.IntN(4)]
		made, err := c.Create(path, []byte(path), flags, zk.WorldACL(zk.PermAll))
		text += fmt.Sprintf("create %s %d: %s %v", path, flags, made, err)
	case 2:
		made, err := c.CreateContainer(path, nil, zk.FlagTTL, zk.WorldACL(zk.PermAll))
		text += fmt.Sprintf("container %s: %s %v", path, made, err)
	case 3:
		version := p.version()
		stat, err := c.Set(path, []byte{byte(version)}, version)
		text += fmt.Sprintf("set %s %d: %s %v", path, version, show(stat), err)
	case 4, 5:
		version := p.version()
		text += fmt.Sprintf("delete %s %d: %v", path, version, c.Delete(path, version))
	case 6:
		data, stat, events, err := c.GetW(path)
		text += fmt.Sprintf("get %s: %q %s %v", path, data, show(stat), err)
		p.watch(i, path, events, err)
	case 7:
		names, stat, events, err := c.ChildrenW(path)
		slices.Sort(names)
		text += fmt.Sprintf("list %s: %v %s %v", path, names, show(stat), err)
		p.watch(i, path, events, err)
	case 8:
		ok, stat, events, err := c.ExistsW(path)
		text += fmt.Sprintf("exists %s: %v %s %v", path, ok, show(stat), err)
		p.watch(i, path, events, err)
	case 9:
		text += p.multi(c)
	case 10:
		acl := zk.WorldACL(zk.PermAll) // others: randomScenarios
		version := p.version()
		stat, err := c.SetACL(path, acl, version)
		text += fmt.Sprintf("acl %s %d: %s %v", path, version, show(stat), err)
		list, stat, err := c.GetACL(path)
		text += fmt.Sprintf("; %v %s %v", list, show(stat), err)
	case 11:
		if p.random.IntN(3) > 0 {
			break
		}
		p.end(i)
		p.connect(i)
		text += "ended, and a new one"
	}
	return text + p.events()
}

func (p *player) multi(c *zk.Conn) string {
	var ops []any
	text := "multi"
	for range 1 + p.random.IntN(3) {
		path, version := p.path(), p.version()
		switch p.random.IntN(4) {
		case 0:
			ops = append(ops, &zk.CreateRequest{Path: path, Acl: zk.WorldACL(zk.PermAll)})
			text += " create " + path
		case 1:
			ops = append(ops, &zk.DeleteRequest{Path: path, Version: version})
			text += fmt.Sprint(" delete ", path, " ", version)
		case 2:
			ops = append(ops, &zk.SetDataRequest{Path: path, Version: version})
			text += fmt.Sprint(" set ", path, " ", version)
		default:
			ops = append(ops, &zk.CheckVersionRequest{Path: path, Version: version})
			text += fmt.Sprint(" check ", path, " ", version)
		}
	}
	replies, err := c.Multi(ops...)
	text += ":"
	for _, r := range replies {
		text += fmt.Sprintf(" [%s %s %v]", r.String, show(r.Stat), r.Error)
	}
	return fmt.Sprintf("%s %v", text, err)
}

func (p *player) watch(i int, path string, events <-chan zk.Event, err error) {
	if err == nil || errors.Is(err, zk.ErrNoNode) && events != nil {
		p.watches[i] = append(p.watches[i], watched{path, events})
	}
}

// events are those that have fired, in the order of their watches. A read that was answered comes behind all of them.
func (p *player) events() string {
	var text string
	for i := range p.conns {
		if _, err := p.conns[i].Sync(p.root); err != nil {
			p.t.Fatal(err)
		}
		if _, _, err := p.conns[i].Exists(p.root); err != nil {
			p.t.Fatal(err)
		}
		p.watches[i] = slices.DeleteFunc(p.watches[i], func(w watched) bool {
			select {
			case e := <-w.events:
				text += fmt.Sprintf("; session %d: %v %s", i, e.Type, e.Path)
				return true
			default:
				return false
			}
		})
	}
	return text
}

// show leaves out of a stat what depends on when and where it was made.
func show(s *zk.Stat) string {
	if s == nil {
		return "-"
	}
	return fmt.Sprintf("v%d c%d a%d e%v %dB %d", s.Version, s.Cversion, s.Aversion, s.EphemeralOwner != 0, s.DataLength, s.NumChildren)
}
