package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// script is the file of a scenario. A test checks that its parts fit together.
type script struct {
	About      string            `yaml:"about"`
	Locks      []scriptLock      `yaml:"locks"`
	Contenders []scriptContender `yaml:"contenders"`
	Steps      []scriptStep      `yaml:"steps"` // in order of time
	Repeat     time.Duration     `yaml:"repeat"`
}

type scriptLock struct {
	ID     string `yaml:"id"` // zk:/PATH, or redis:lock:NAME
	Title  string `yaml:"title"`
	Text   string `yaml:"text"`
	Recipe string `yaml:"recipe"`
	Prefix string `yaml:"prefix"`
	// Permits make it a semaphore.
	Permits int `yaml:"permits"`
	// Hidden locks are not scenes of the tour.
	Hidden bool `yaml:"hidden"`
}

type scriptContender struct {
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
	At     time.Duration `yaml:"at"`
	Freeze string        `yaml:"freeze"` // a lock
	Stop   int           `yaml:"stop"`   // a master, from 1
	Start  int           `yaml:"start"`
	Orphan *orphan       `yaml:"orphan"`
	Set    *rawVote      `yaml:"set"`
}

// orphan is a persistent node at the head of a queue, as a dead client leaves it.
type orphan struct {
	Lock  string `yaml:"lock"`
	Label string `yaml:"label"`
}

// rawVote is a value that a client writes to some masters (all if none are named) where the key
// does not exist.
type rawVote struct {
	Lock    string        `yaml:"lock"`
	Owner   string        `yaml:"owner"`
	Masters []int         `yaml:"masters"`
	TTL     time.Duration `yaml:"ttl"` // 0 means that it stays
}

// UnmarshalYAML reads a time, "2s", or a range, "1s..3s".
func (s *span) UnmarshalYAML(text []byte) error {
	low, high, both := strings.Cut(string(text), "..")
	if !both {
		high = low
	}
	var err, err2 error
	s.low, err = time.ParseDuration(low)
	s.high, err2 = time.ParseDuration(high)
	return errors.Join(err, err2)
}

func parseScenario(name string, text []byte) (Scenario, error) {
	var s script
	if err := yaml.UnmarshalWithOptions(text, &s, yaml.Strict()); err != nil {
		return Scenario{}, err
	}
	var scenes []Scene
	for _, l := range s.Locks {
		if _, name, _ := strings.Cut(l.ID, ":"); !l.Hidden {
			scenes = append(scenes, Scene{Title: cmp.Or(l.Title, name), Text: cmp.Or(l.Text, s.About), Lock: l.ID})
		}
	}
	return Scenario{Name: name, About: s.About, scenes: scenes, script: &s}, nil
}

// Modes of a read-write lock, and the recipe that is played without package lockops.
const (
	readMode  = "read"
	writeMode = "write"
	redsync   = "redsync"
)

// names returns the names of the contender's clients.
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
