package recipe

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

//go:embed catalogue.yaml
var catalogueText []byte

// library is an entry of the catalogue: one form of a library's locks that are a plain string of Redis, or
// one znode.
type library struct {
	Name     string `yaml:"name"`
	Backend  string `yaml:"backend"`
	Kind     string `yaml:"kind"`
	Patterns `yaml:",inline"`
	// Persistent: its znodes stay when their session ends.
	Persistent bool `yaml:"persistent"`
	// Hides matches other keys of the library, which are not locks.
	Hides string `yaml:"hides"`

	// Library, Proof, Alike, Read and Source are the row of docs/recipes.md; without Library the row is that of the
	// entry before.
	Library string    `yaml:"library"`
	Proof   string    `yaml:"proof"`
	Alike   string    `yaml:"alike"`
	Read    string    `yaml:"read"`
	Source  string    `yaml:"source"`
	Example example   `yaml:"example"`
	Not     []example `yaml:"not"`

	custom Custom
	hides  *matcher
}

// example is one lock: a key and its value, or a znode's path and data.
type example struct {
	Key   string `yaml:"key"`
	Value string `yaml:"value"`
}

// catalogue has the entries, the surest first: the first that recognises a value wins.
var catalogue = sync.OnceValue(loadCatalogue)

func loadCatalogue() []library {
	var all []library
	if err := yaml.UnmarshalWithOptions(catalogueText, &all, yaml.Strict()); err != nil {
		panic(err) // every test would fail
	}
	for i := range all {
		l := &all[i]
		var err error
		if l.custom, err = NewCustom(l.Name, l.Backend, l.Kind, l.Patterns); err != nil {
			panic("catalogue: " + l.Name + ": " + err.Error())
		}
		if l.Hides != "" {
			if l.hides, err = newMatcher(l.Hides); err != nil {
				panic("catalogue: " + l.Name + ": " + err.Error())
			}
		}
	}
	return all
}

// ofBackend are the entries of one backend.
func ofBackend(backend string) []library {
	return slices.DeleteFunc(slices.Clone(catalogue()), func(l library) bool { return l.Backend != backend })
}

var (
	plainStrings = sync.OnceValue(func() []library { return ofBackend("redis") })
	singleNodes  = sync.OnceValue(func() []library { return ofBackend("zookeeper") })
)

// DecodeToken recognises the library that wrote the string value of a lock key, and decodes the owner from
// it. A value of no known shape is a "token", possibly.
func DecodeToken(key, value string) Token {
	t, _ := decodeToken(key, value)
	return t
}

func decodeToken(key, value string) (Token, *library) {
	if t, ok := lockscopeToken(key, value); ok {
		return t, nil
	}
	all := plainStrings()
	for i := range all {
		if t, ok := all[i].custom.read(key, value, ""); ok {
			return t, &all[i]
		}
	}
	return Token{Recipe: "token", Confidence: Possible}, nil
}

// StringLock is one lock of a library whose locks are one plain string each, as it writes it, with NAME for the
// lock's own name. The code that reads, lists, releases and explains locks is tried on it.
type StringLock struct{ Name, Key, Value string }

// StringLocks has one for each recipe of plain strings that names its locks, and whose values have no spaces.
func StringLocks() []StringLock {
	all := []StringLock{{lockscopeName, "lock:NAME", LockscopeToken([16]byte{}, "me")}}
	for _, l := range plainStrings() {
		e := StringLock{l.Name, l.Example.Key, l.Example.Value}
		known := slices.ContainsFunc(all, func(s StringLock) bool { return s.Name == e.Name })
		if !known && strings.Contains(e.Key, "NAME") && !strings.Contains(e.Value, " ") {
			all = append(all, e)
		}
	}
	return all
}

// PlainString reports whether a recipe's locks on Redis are plain strings.
func PlainString(name string) bool { return name == lockscopeName || named(plainStrings(), name) }

// OneNode reports whether a recipe's locks in ZooKeeper are one named znode each.
func OneNode(name string) bool { return named(singleNodes(), name) }

func named(all []library, name string) bool {
	return slices.ContainsFunc(all, func(l library) bool { return l.Name == name })
}

// OneServer reports whether a library takes its locks on one Redis server each, and never on several masters
// at once. Values that may be a Redlock's as well (random ones; those of symfony, Redisson and madelson,
// which have multi-server locks) say nothing.
func OneServer(name string) bool {
	return name == sidekiqName ||
		slices.ContainsFunc(plainStrings(), func(l library) bool { return l.OneServer && l.Name == name })
}

// Clients are the names that client libraries give themselves (CLIENT SETINFO LIB-NAME, from Redis 7.2 on)
// through which a lock of a recipe is written; of a value that several libraries write alike, those of all.
// nil: not known.
func Clients(name string) []string {
	if name == lockscopeName {
		return []string{"go-redis"}
	}
	for _, l := range plainStrings() {
		if l.Name == name && l.Clients != nil {
			return slices.Clone(l.Clients)
		}
	}
	for _, s := range shapes() {
		if s.Name == name {
			return slices.Clone(s.Clients)
		}
	}
	return nil
}

// NoTTLByDefault reports whether a library writes its locks of a kind, as in the JSON, to Redis
// without an expiry unless the user sets one: redis-py (timeout=None), python-redis-lock
// (expire=None), Laravel (0 seconds), sidekiq-unique-jobs, Redisson's semaphores.
func NoTTLByDefault(name, kind string) bool {
	return name == sidekiqName || name == redissonName && kind == "semaphore" ||
		slices.ContainsFunc(plainStrings(), func(l library) bool { return l.NoTTL && l.Name == name })
}

// Wakes are the channels on which waiters for a plain string lock hear of its release, by the library that
// wrote the value, and the message that they wait for; none if the library publishes nothing. Every
// library of plain strings whose release publishes has to be asked here; without that a forced release leaves
// its waiters to find out on their own. Those woken by a list: WakeList.
func Wakes(key, value string) (channels []string, message string) {
	if strings.HasPrefix(value, lockscopePrefix) {
		return []string{LockscopeChannel(key)}, ""
	}
	if _, l := decodeToken(key, value); l != nil {
		return l.custom.WakeChannels(key)
	}
	return nil, ""
}

// WakeList is the list by which a release wakes the longest waiter for a lock (BLPOP), by the library that wrote
// the value; false for a lock of another library.
func WakeList(key, value string) (list string, ok bool) {
	if _, l := decodeToken(key, value); l != nil {
		return l.custom.WakeList(key)
	}
	return "", false
}

// catalogued hides the lists that wake waiters, and a library's other keys.
func catalogued(key string) (name string, locks []string, helper bool) {
	all := plainStrings()
	for i := range all {
		l := &all[i]
		if l.hides != nil && l.hides.matches(key) {
			return l.Name, nil, true
		}
		list, of, found := strings.Cut(l.Wakes.List, "{rest}")
		if rest, ok := strings.CutPrefix(key, list); found && ok && of == "" {
			return l.Name, []string{l.custom.lock.parts[0] + rest}, true
		}
	}
	return "", nil, false
}
