package recipe

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Custom is a user's recipe in patterns: for the names of locks, and for the parts of their contenders'
// names, values and data. Keys of Redis are looked for by it (KeyPattern). In ZooKeeper, where everything is
// walked, it decodes the directories that are locks by their shape: with nodes that the server numbered, or
// one ephemeral node alone.
type Custom struct {
	// Name as it is shown.
	Name string
	// Backend is zookeeper or redis.
	Backend string
	// Kind as in the JSON; empty keeps the detected kind.
	Kind string

	lock, contender, data *regexp.Regexp // contender and data may be nil
	keys                  string         // the text of lock
}

// Patterns of a Custom: the lock's path or key; a contender's znode name or Redis value; a znode's data. The first is
// needed. Each has to match all of its text; their named groups (CustomGroups) mark the parts.
type Patterns struct{ Lock, Contender, Data string }

// CustomGroups are the names of groups that patterns may have. mode is shared for r, read, reader, s or
// shared, whatever their case, and exclusive for anything else.
func CustomGroups() []string {
	return []string{"host", "pid", "thread", "label", "library_id", "mode"}
}

// NewCustom makes a Custom. Its errors name the pattern, or the group, that cannot be used.
func NewCustom(name, backend, kind string, patterns Patterns) (Custom, error) {
	c := Custom{Name: name, Backend: backend, Kind: kind, keys: patterns.Lock}
	switch {
	case name == "":
		return c, errors.New("it has no name")
	case backend != "zookeeper" && backend != "redis":
		return c, fmt.Errorf("backend %q is none of zookeeper, redis", backend)
	case !slices.Contains([]string{"", "mutex", "rw", "semaphore", "election"}, kind):
		return c, fmt.Errorf("kind %q is none of mutex, rw, semaphore, election", kind)
	case patterns.Lock == "":
		return c, errors.New("it has no pattern lock")
	case patterns.Data != "" && backend == "redis":
		return c, errors.New("the pattern data is for znodes; a Redis value is matched by contender")
	}
	for _, p := range []struct {
		field, text string
		into        **regexp.Regexp
	}{{"lock", patterns.Lock, &c.lock}, {"contender", patterns.Contender, &c.contender}, {"data", patterns.Data, &c.data}} {
		if p.text == "" {
			continue
		}
		compiled, err := regexp.Compile(`\A(?s:` + p.text + `)\z`)
		if err != nil {
			return c, fmt.Errorf("pattern %s: %w", p.field, err)
		}
		for _, group := range compiled.SubexpNames() {
			if group != "" && !slices.Contains(CustomGroups(), group) {
				return c, fmt.Errorf("pattern %s has a group %q (there are: %s)", p.field, group, strings.Join(CustomGroups(), ", "))
			}
		}
		*p.into = compiled
	}
	return c, nil
}

// Owns reports whether a lock of this path or key is of the recipe.
func (c Custom) Owns(path string) bool { return c.lock.MatchString(path) }

// CustomEntry holds the groups that a Custom matched in a contender. Empty fields are unknown.
type CustomEntry struct {
	Host, PID, Thread, Label, LibraryID string
	Mode                                Mode
	// HasMode: some pattern gave its mode.
	HasMode bool
}

// Read reads a contender of a lock that the recipe owns; false when its name or value is not of the recipe.
func (c Custom) Read(path, name, data string) (CustomEntry, bool) {
	var e CustomEntry
	if c.contender != nil && !c.contender.MatchString(name) {
		return e, false
	}
	for _, p := range []struct {
		pattern *regexp.Regexp
		text    string
	}{{c.lock, path}, {c.contender, name}, {c.data, data}} {
		if p.pattern == nil {
			continue
		}
		match := p.pattern.FindStringSubmatch(p.text)
		for i, group := range p.pattern.SubexpNames() {
			if match != nil && group != "" && match[i] != "" {
				e.set(group, match[i])
			}
		}
	}
	return e, true
}

func (e *CustomEntry) set(group, text string) {
	if group == "mode" {
		e.Mode, e.HasMode = Exclusive, true
		if slices.Contains([]string{"r", "read", "reader", "s", "shared"}, strings.ToLower(text)) {
			e.Mode = Shared
		}
		return
	}
	fields := map[string]*string{"host": &e.Host, "pid": &e.PID, "thread": &e.Thread, "label": &e.Label, "library_id": &e.LibraryID}
	*fields[group] = text
}
