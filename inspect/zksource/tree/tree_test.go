package tree

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

const guid = "0123456789abcdef0123456789abcdef"

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// grown is a tree with its roots. The test supplies the replies.
func grown(cfg Config) *Tree {
	cfg.Backend, cfg.Depth, cfg.Relists = "zk", cmp.Or(cfg.Depth, 16), 4
	cfg.Children, cfg.Dirs = cmp.Or(cfg.Children, 10_000), cmp.Or(cfg.Dirs, 250_000)
	cfg.Focused, cfg.Others, cfg.Doubtful, cfg.Sweep = 2*time.Second, 10*time.Second, 10*time.Second, time.Minute
	if cfg.Only != "" {
		cfg.Roots = []string{cfg.Only}
	}
	t := New(cfg)
	t.AddRoots()
	return t
}

// answer applies a reply and builds the changed locks.
func (t *Tree) answer(kind Kind, p string, stat Stat, names ...string) {
	t.Apply(&Reply{Job: Job{Kind: kind, Dir: t.dirs[p]}, Sent: noon, At: noon, Names: names, Stat: stat})
	t.Build(noon)
}

func TestChrootIsAddedAndRemoved(t *testing.T) {
	t.Parallel()
	for chroot, full := range map[Chroot]string{"/app": "/app/locks", "": "/locks"} {
		must.Equal(t, chroot.OnServer("/locks"), full, "below", chroot)
		shown, ok := chroot.Shown(full)
		must.True(t, ok && shown == "/locks", full, "is shown as", shown)
	}
	must.Equal(t, Chroot("/app").OnServer("/"), "/app", "the chroot itself")
	for full, want := range map[string]string{"/app": "/", "/app/locks/a": "/locks/a", "/application": "", "/other": ""} {
		got, ok := Chroot("/app").Shown(full)
		must.Equal(t, ok, want != "", full, "is shown")
		must.True(t, !ok || got == want, full, "is shown as", got)
	}
}

// plainChildren is a slow and simple model of children.
type plainChildren struct{ listed, read, awaited, fresh map[string]bool }

func (p *plainChildren) arrived(name string) {
	delete(p.awaited, name)
	delete(p.fresh, name)
}

func (p *plainChildren) left(name string) {
	p.arrived(name)
	delete(p.listed, name)
	delete(p.read, name)
}

// do applies one random operation to both.
func (p *plainChildren) do(c *children, random *rand.Rand, names []string) {
	name := names[random.IntN(len(names))]
	switch random.IntN(6) {
	case 0:
		list := slices.DeleteFunc(slices.Clone(names), func(string) bool { return random.IntN(2) == 0 })
		random.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		c.list(list)
		for _, name := range names {
			if is := slices.Contains(list, name); is {
				p.listed[name] = true
			} else if p.listed[name] {
				p.left(name)
			} else if !p.awaited[name] { // read but never listed
				delete(p.read, name)
			}
		}
	case 1:
		c.await(name)
		p.awaited[name] = true
	case 2:
		if c.awaits(name) {
			c.arrived(name)
			c.keep(name, nil, &Stat{EphemeralOwner: 7}, false)
			p.arrived(name)
			p.read[name] = true
		}
	case 3:
		if c.hold(name); p.awaited[name] {
			p.fresh[name] = true
		}
	case 4:
		if c.drop(name) != p.listed[name] {
			panic("drop")
		}
		if p.arrived(name); p.listed[name] {
			p.left(name)
		}
	default:
		if random.IntN(20) == 0 {
			c.awaitNone()
			clear(p.awaited)
			clear(p.fresh)
		}
	}
}

func TestChildrenMatchSetModel(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for seed := range uint64(50) {
		random, c := rand.New(rand.NewPCG(seed, 0)), &children{}
		p := &plainChildren{map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
		for step := range 200 {
			p.do(c, random, names)
			read, shown := map[string]bool{}, map[string]bool{}
			for _, name := range names {
				if c.awaits(name) != p.awaited[name] {
					t.Fatalf("seed %d, step %d: awaits(%s) should be %v", seed, step, name, !p.awaited[name])
				}
				if c.has(name) {
					read[name] = true
				}
			}
			for _, z := range c.shown() {
				shown[z.Name] = true
				if z.Known != p.read[z.Name] || z.Known && z.EphemeralOwner != 7 {
					t.Fatalf("seed %d, step %d: %+v", seed, step, z)
				}
			}
			want := maps.Clone(p.listed)
			maps.DeleteFunc(want, func(name string, _ bool) bool { return p.fresh[name] && !p.read[name] })
			if !maps.Equal(shown, want) || !maps.Equal(read, p.read) || c.awaited != len(p.awaited) || c.fresh != len(p.fresh) {
				t.Fatalf("seed %d, step %d: read %v, want %v; shown %v, want %v; awaited %d, want %v; fresh %d, want %v",
					seed, step, read, p.read, shown, want, c.awaited, p.awaited, c.fresh, p.fresh)
			}
		}
	}
}
