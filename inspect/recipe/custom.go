package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Custom is a recipe made of patterns: for lock names, and for the parts of contenders' names,
// values and data. The catalogue has those of known libraries, the configuration those of the
// user. ZooKeeper trees are walked in full. There a user's recipe decodes directories that have
// the shape of a lock: numbered nodes, or a lone ephemeral node.
type Custom struct {
	// Name as it is shown.
	Name string
	// Backend is zookeeper or redis.
	Backend string
	// Kind as in the JSON; empty keeps the detected kind.
	Kind string

	patterns              Patterns
	lock, contender, data *matcher // contender and data may be nil
}

// Patterns of a Custom are regular expressions, each of which must match its whole text. Named
// groups (CustomGroups) mark the parts. {uuid}, {uuid4} and {instant} are shorthands.
type Patterns struct {
	// Lock matches the lock's path or key. It is required.
	Lock string `yaml:"lock"`
	// Contender matches a contender's znode name or the Redis value, Data a znode's data.
	Contender string `yaml:"contender"`
	Data      string `yaml:"data"`
	// Scan are the SCAN patterns that find the keys; by default they are derived from Lock.
	Scan []string `yaml:"scan"`
	// Confidence is for matching values; ConfidenceIfNamed is for those under a key whose words
	// name a lock. The defaults are certain and Confidence.
	Confidence        Confidence `yaml:"confidence"`
	ConfidenceIfNamed Confidence `yaml:"confidence_if_named"`

	// These are described at [NoTTLByDefault], [OneServer] and [Clients].
	NoTTL     bool     `yaml:"no_ttl"`
	OneServer bool     `yaml:"one_server"`
	Clients   []string `yaml:"clients"`
	Wakes     Waking   `yaml:"wakes"`
}

// Waking says how a release wakes waiters: by a message on channels, or by an item of a list. {key}
// is the lock's key. {rest} is what follows the literal beginning of its pattern. {prefix} is each
// beginning of the key that ends before a colon.
type Waking struct {
	Channel string `yaml:"channel"`
	Message string `yaml:"message"`
	List    string `yaml:"list"`
}

// shorthands are patterns for parts that many libraries write.
var shorthands = strings.NewReplacer(
	"{uuid}", "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
	"{uuid4}", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
	"{instant}", `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`,
)

// NewCustom makes a Custom. Its errors name the pattern, or the group, that cannot be used.
func NewCustom(name, backend, kind string, patterns Patterns) (Custom, error) {
	patterns.Confidence = cmp.Or(patterns.Confidence, Certain)
	c := Custom{Name: name, Backend: backend, Kind: kind, patterns: patterns}
	levels := []Confidence{"", Certain, Likely, Possible}
	switch {
	case name == "":
		return c, errors.New("missing name")
	case backend != "zookeeper" && backend != "redis":
		return c, fmt.Errorf("backend %q is not one of zookeeper, redis", backend)
	case !slices.Contains([]string{"", "mutex", "rw", "semaphore", "election"}, kind):
		return c, fmt.Errorf("kind %q is not one of mutex, rw, semaphore, election", kind)
	case patterns.Lock == "":
		return c, errors.New("missing pattern lock")
	case patterns.Data != "" && backend == "redis":
		return c, errors.New("the pattern data is for znodes; a Redis value is matched by contender")
	case !slices.Contains(levels, patterns.Confidence), !slices.Contains(levels, patterns.ConfidenceIfNamed):
		return c, fmt.Errorf("confidence %q or %q is not one of certain, likely, possible", patterns.Confidence, patterns.ConfidenceIfNamed)
	}
	for _, p := range []struct {
		field, text string
		into        **matcher
	}{
		{"lock", patterns.Lock, &c.lock},
		{"contender", patterns.Contender, &c.contender},
		{"data", patterns.Data, &c.data},
	} {
		if p.text == "" {
			continue
		}
		m, err := newMatcher(shorthands.Replace(p.text))
		if err != nil {
			return c, fmt.Errorf("pattern %s: %w", p.field, err)
		}
		*p.into = m
	}
	return c, nil
}

// Owns reports whether a lock at this path or key belongs to the recipe.
func (c Custom) Owns(path string) bool { return c.lock.matches(path) }

// Read decodes a contender of a lock that the recipe owns; false if its name or value does not
// match. Data that does not match is ignored.
func (c Custom) Read(path, name, data string) (Token, bool) {
	if c.data != nil && !c.data.matches(data) {
		c.data = nil
	}
	return c.read(path, name, data)
}

// read decodes a contender; all of it must match.
func (c *Custom) read(path, name, data string) (Token, bool) {
	if !c.lock.may(path) || !c.contender.may(name) || !c.data.may(data) {
		return Token{}, false
	}
	if !c.contender.does(name) || !c.lock.does(path) || !c.data.does(data) {
		return Token{}, false
	}
	t := Token{Recipe: c.Name, Kind: c.Kind}
	if !c.lock.read(path, &t) || !c.contender.read(name, &t) || !c.data.read(data, &t) {
		return Token{}, false
	}
	t.Confidence = c.Sure(path)
	return t, true
}

// Sure returns the confidence that a matching lock at this path or key belongs to the recipe.
func (c Custom) Sure(path string) Confidence {
	if named := c.patterns.ConfidenceIfNamed; named != "" && NamesLock(path) {
		return named
	}
	return c.patterns.Confidence
}

// KeyPatterns returns SCAN patterns for at least all keys that the recipe owns. By default they
// use the words of its Lock pattern.
func (c Custom) KeyPatterns() []string {
	if len(c.patterns.Scan) > 0 {
		return c.patterns.Scan
	}
	return []string{c.lock.glob()}
}

// NoTTL, OneServer and Clients describe the library that writes such locks.
func (c *Custom) NoTTL() bool       { return c != nil && c.patterns.NoTTL }
func (c *Custom) OneServer() bool   { return c != nil && c.patterns.OneServer }
func (c *Custom) Clients() []string { return c.patterns.Clients }

// WakeChannels returns the channels that announce a release to waiters, and the message: see
// [Wakes].
func (c *Custom) WakeChannels(key string) (channels []string, message string) {
	w := c.patterns.Wakes
	if w.Channel == "" {
		return nil, ""
	}
	message = strings.ReplaceAll(w.Message, "{key}", key)
	channel := strings.ReplaceAll(w.Channel, "{key}", key)
	if !strings.Contains(channel, "{prefix}") {
		return []string{channel}, message
	}
	for i := range len(key) { // the prefix may end at any colon; other clients ignore the message
		if key[i] == ':' && len(channels) < 8 {
			channels = append(channels, strings.ReplaceAll(channel, "{prefix}", key[:i]))
		}
	}
	return channels, message
}

// WakeList returns the list that a release pushes to: see the function [WakeList].
func (c *Custom) WakeList(key string) (list string, ok bool) {
	w := c.patterns.Wakes
	return strings.ReplaceAll(w.List, "{rest}", strings.TrimPrefix(key, c.lock.parts[0])), w.List != ""
}
