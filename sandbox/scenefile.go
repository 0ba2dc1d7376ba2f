package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/lockscope/lockscope/internal/config"
)

// ErrScene is wrapped by every error about what a file of a scenario says.
var ErrScene = errors.New("not a usable scenario")

// Limits of a scenario from a file, which runs in the same process as the screen.
const (
	mostMasters    = 9
	mostContenders = 200
)

// script is the file of a scenario.
type script struct {
	About      string            `yaml:"about"`
	Masters    *int              `yaml:"masters"`
	Locks      []scriptLock      `yaml:"locks"`
	Contenders []scriptContender `yaml:"contenders"`
	Steps      []scriptStep      `yaml:"steps"`
	Repeat     time.Duration     `yaml:"repeat"`
}

// line is a line number in the file, from 1, where something begins.
type line int

func (l line) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", l, fmt.Errorf(format, args...))
}

type scriptLock struct {
	line   `yaml:"-"`
	ID     string `yaml:"id"`
	Title  string `yaml:"title"`
	Text   string `yaml:"text"`
	Recipe string `yaml:"recipe"`
	Prefix string `yaml:"prefix"`
	// Permits make it a semaphore.
	Permits int           `yaml:"permits"`
	TTL     time.Duration `yaml:"ttl"`
	// Hidden locks are no scenes of the tour.
	Hidden bool `yaml:"hidden"`
}

type scriptContender struct {
	line  `yaml:"-"`
	Name  string        `yaml:"name"`
	Lock  string        `yaml:"lock"`
	Count int           `yaml:"count"`
	Start time.Duration `yaml:"start"`
	Hold  span          `yaml:"hold"`
	Think span          `yaml:"think"`
	// Mode makes the lock a read-write lock: read or write.
	Mode string `yaml:"mode"`
	// Then is a second lock, which it takes while it keeps the first one.
	Then string `yaml:"then"`
}

// scriptStep is one fault, at a time from the start.
type scriptStep struct {
	line   `yaml:"-"`
	At     time.Duration `yaml:"at"`
	Freeze string        `yaml:"freeze"` // a lock
	Thaw   string        `yaml:"thaw"`
	Expire string        `yaml:"expire"` // a contender on ZooKeeper
	Cut    string        `yaml:"cut"`
	Stop   int           `yaml:"stop"` // a master, from 1
	Start  int           `yaml:"start"`
	Empty  int           `yaml:"empty"`
	Clock  *clockChange  `yaml:"clock"`
	Orphan *orphan       `yaml:"orphan"`
	Set    *rawVote      `yaml:"set"`
}

// orphan is a persistent node at the head of a queue, as a dead client leaves it.
type orphan struct {
	Lock  string `yaml:"lock"`
	Label string `yaml:"label"`
}

// rawVote is a value that a client writes to some masters (none: all of them) where the key does
// not exist.
type rawVote struct {
	Lock    string        `yaml:"lock"`
	Owner   string        `yaml:"owner"`
	Masters []int         `yaml:"masters"`
	TTL     time.Duration `yaml:"ttl"` // 0: it stays
}

type clockChange struct {
	Master int           `yaml:"master"`
	By     time.Duration `yaml:"by"`
}

// decode reads a part of the file, and notes its line.
func decode(node ast.Node, l *line, into any) error {
	*l = line(node.GetToken().Position.Line)
	return yaml.NodeToValue(node, into, yaml.Strict())
}

func (l *scriptLock) UnmarshalYAML(node ast.Node) error {
	type plain scriptLock
	return decode(node, &l.line, (*plain)(l))
}

func (c *scriptContender) UnmarshalYAML(node ast.Node) error {
	type plain scriptContender
	return decode(node, &c.line, (*plain)(c))
}

func (s *scriptStep) UnmarshalYAML(node ast.Node) error {
	type plain scriptStep
	return decode(node, &s.line, (*plain)(s))
}

// UnmarshalYAML reads a time, "2s", or two that it lies between, "1s..3s".
func (s *span) UnmarshalYAML(node ast.Node) error {
	low, high, both := strings.Cut(strings.Trim(node.GetToken().Value, `"'`), "..")
	if !both {
		high = low
	}
	var err, err2 error
	s.low, err = time.ParseDuration(low)
	s.high, err2 = time.ParseDuration(high)
	if err = cmp.Or(err, err2); err != nil || s.low < 0 || s.high < s.low {
		return line(node.GetToken().Position.Line).errorf("%q is no time (write 2s, or 1s..3s for a random one between)", node.GetToken().Value)
	}
	return nil
}

// ParseScenario reads a scenario from YAML; docs/cli.md describes it. Errors wrap ErrScene and name the line.
func ParseScenario(name string, text []byte) (Scenario, error) {
	var s script
	if err := config.Decode(text, &s); err != nil {
		return Scenario{}, fmt.Errorf("%w: %w", ErrScene, err)
	}
	if err := s.check(); err != nil {
		return Scenario{}, fmt.Errorf("%w: %w", ErrScene, err)
	}
	var scenes []Scene
	for _, l := range s.Locks {
		if _, name, _ := strings.Cut(l.ID, ":"); !l.Hidden {
			scenes = append(scenes, Scene{Title: cmp.Or(l.Title, name), Text: cmp.Or(l.Text, s.About), Lock: l.ID})
		}
	}
	return Scenario{Name: name, About: s.About, scenes: scenes, script: &s}, nil
}

func (s *script) masters() int {
	if s.Masters == nil {
		return mastersCount
	}
	return *s.Masters
}

func (s *script) check() error {
	switch {
	case len(s.Locks) == 0:
		return errors.New("locks is empty (give at least one, with its id)")
	case s.masters() < 1 || s.masters() > mostMasters:
		return fmt.Errorf("masters: %d (1 to %d)", s.masters(), mostMasters)
	case s.Repeat < 0:
		return fmt.Errorf("repeat: %v is negative", s.Repeat)
	}
	var errs []error
	for i := range s.Locks {
		errs = append(errs, s.Locks[i].check(s.Locks[:i]))
	}
	count := 0
	for i := range s.Contenders {
		c := &s.Contenders[i]
		errs = append(errs, c.check(s, i))
		count += max(1, c.Count)
	}
	if count > mostContenders {
		errs = append(errs, fmt.Errorf("%d contenders (at most %d)", count, mostContenders))
	}
	for i := range s.Steps {
		errs = append(errs, s.Steps[i].check(s))
	}
	return errors.Join(errs...)
}

// The words of contenders' modes, and the recipe of raw clients of Redis.
const (
	readMode  = "read"
	writeMode = "write"
	redsync   = "redsync"
)

// recipes are those that a scenario's clients can queue by.
var recipes = []string{"curator", "kazoo", "go-zookeeper", "sequential"}

func (l *scriptLock) check(before []scriptLock) error {
	backend, name, _ := strings.Cut(l.ID, ":")
	switch {
	case l.ID == "":
		return l.errorf("id is missing (write zk:/locks/NAME or redis:lock:NAME)")
	case slices.ContainsFunc(before, func(o scriptLock) bool { return o.ID == l.ID }):
		return l.errorf("id %q is there twice", l.ID)
	case l.Permits < 0:
		return l.errorf("%s: permits %d (1 or more)", l.ID, l.Permits)
	case l.TTL < 0 || l.TTL > 0 && l.TTL < time.Second:
		return l.errorf("ttl %v (at least 1s)", l.TTL)
	case backend == "zk":
		return l.checkZooKeeper(name)
	case backend == "redis":
		return l.checkRedis(name)
	}
	return l.errorf("id %q: the backends are zk and redis", l.ID)
}

func (l *scriptLock) checkZooKeeper(node string) error {
	switch {
	case node == "/" || path.Clean("/"+node) != node:
		return l.errorf("id %q is no path in ZooKeeper (write zk:/locks/NAME)", l.ID)
	case l.TTL != 0:
		return l.errorf("%s: ttl is for locks in Redis", l.ID)
	case l.Recipe != "" && !slices.Contains(recipes, l.Recipe):
		return l.errorf("recipe %q (one of %s)", l.Recipe, strings.Join(recipes, ", "))
	}
	return nil
}

func (l *scriptLock) checkRedis(key string) error {
	switch {
	case key == "lock:" || !strings.HasPrefix(key, "lock:"):
		return l.errorf("id %q: keys in Redis begin with lock: (write redis:lock:NAME)", l.ID)
	case l.Recipe != "" && l.Recipe != redsync:
		return l.errorf("%s: recipe %q of a lock in Redis (redsync, or none)", l.ID, l.Recipe)
	case l.Permits != 0 || l.Prefix != "":
		return l.errorf("%s: permits and prefix are for locks in ZooKeeper", l.ID)
	}
	return nil
}

func (c *scriptContender) check(s *script, at int) error {
	switch {
	case c.Name == "":
		return c.errorf("name is missing")
	case slices.ContainsFunc(s.Contenders[:at], func(o scriptContender) bool { return o.Name == c.Name }):
		return c.errorf("contender %q is there twice (count: 2 makes two)", c.Name)
	case s.lock(c.Lock) == nil:
		return c.errorf("contender %q: lock %q is none of locks", c.Name, c.Lock)
	case c.Mode != "" && c.Mode != readMode && c.Mode != writeMode:
		return c.errorf("contender %q: mode %q (read or write)", c.Name, c.Mode)
	case c.Mode != "" && !strings.HasPrefix(c.Lock, "zk:"):
		return c.errorf("contender %q: mode is for locks in ZooKeeper", c.Name)
	case c.Then != "" && (s.lock(c.Then) == nil || !inZooKeeper(c.Lock, c.Then)):
		return c.errorf("contender %q: then %q is none of locks in ZooKeeper", c.Name, c.Then)
	case c.Count < 0, c.Start < 0:
		return c.errorf("contender %q: count and start are not negative", c.Name)
	case c.Hold.high == 0:
		return c.errorf("contender %q: hold is missing (write 2s, or 1s..3s)", c.Name)
	}
	return nil
}

func inZooKeeper(locks ...string) bool {
	return !slices.ContainsFunc(locks, func(id string) bool { return !strings.HasPrefix(id, "zk:") })
}

// names are those of the contender's clients.
func (c *scriptContender) names() []string {
	if c.Count <= 1 {
		return []string{c.Name}
	}
	list := make([]string, c.Count)
	for i := range list {
		list[i] = fmt.Sprintf("%s-%d", c.Name, i+1)
	}
	return list
}

func (s *script) lock(id string) *scriptLock {
	for i := range s.Locks {
		if s.Locks[i].ID == id {
			return &s.Locks[i]
		}
	}
	return nil
}

// onZooKeeper reports whether a client of that name has a session in ZooKeeper.
func (s *script) onZooKeeper(client string) bool {
	return slices.ContainsFunc(s.Contenders, func(c scriptContender) bool {
		return strings.HasPrefix(c.Lock, "zk:") && slices.Contains(c.names(), client)
	})
}

func (p *scriptStep) check(s *script) error {
	given := []bool{
		p.Freeze != "", p.Thaw != "", p.Expire != "", p.Cut != "", p.Stop != 0, p.Start != 0, p.Empty != 0, p.Clock != nil,
		p.Orphan != nil, p.Set != nil,
	}
	switch {
	case len(slices.DeleteFunc(given, func(is bool) bool { return !is })) != 1:
		return p.errorf("a step does one thing: freeze, thaw, expire, cut, stop, start, empty, clock, orphan or set, and says " +
			"when with at")
	case p.At < 0 || s.Repeat > 0 && p.At > s.Repeat:
		return p.errorf("at %v is not within 0s and repeat", p.At)
	case p.Orphan != nil:
		if p.Orphan.Label == "" || !inZooKeeper(p.Orphan.Lock) {
			return p.errorf("orphan: give a lock in ZooKeeper and a label")
		}
		return p.known(s, p.Orphan.Lock, "")
	case p.Set != nil:
		if p.Set.Owner == "" || !strings.HasPrefix(p.Set.Lock, "redis:") || p.Set.TTL < 0 {
			return p.errorf("set: give a lock in Redis, an owner, and a ttl that is not negative")
		}
		return p.known(s, p.Set.Lock, "", p.Set.Masters...)
	case p.Clock != nil:
		if p.Clock.By == 0 {
			return p.errorf("clock: by is missing (write {master: 1, by: 60s}, or -60s)")
		}
		if p.Clock.Master == 0 {
			return p.errorf("clock: master is missing")
		}
		return p.known(s, "", "", p.Clock.Master)
	}
	return p.known(s, cmp.Or(p.Freeze, p.Thaw), cmp.Or(p.Expire, p.Cut), p.Stop, p.Start, p.Empty)
}

// known checks what a step names; what it leaves out is empty or zero.
func (p *scriptStep) known(s *script, lock, client string, masters ...int) error {
	if lock != "" && s.lock(lock) == nil {
		return p.errorf("lock %q is none of locks", lock)
	}
	if client != "" && !s.onZooKeeper(client) {
		return p.errorf("%q is no contender of a lock in ZooKeeper (with count they are NAME-1, NAME-2, and so on)", client)
	}
	for _, m := range masters {
		if m < 0 || m > s.masters() {
			return p.errorf("there is no master %d (1 to %d)", m, s.masters())
		}
	}
	return nil
}
