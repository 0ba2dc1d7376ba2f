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

// library is an entry of the catalogue: one form of a library's locks, each of them one Redis
// string or one znode.
type library struct {
	Name     string `yaml:"name"`
	Backend  string `yaml:"backend"`
	Kind     string `yaml:"kind"`
	Patterns `yaml:",inline"`
	// Persistent is set if its znodes outlive their session.
	Persistent bool `yaml:"persistent"`
	// Hides matches other keys of the library, which are not locks.
	Hides string `yaml:"hides"`

	// Library, Proof, Alike, Read and Source form the row in docs/recipes.md. An entry without
	// Library belongs to the previous row.
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

// catalogue returns the entries, the surest first: the first that recognises a value wins.
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

// ofBackend returns the entries of one backend.
func ofBackend(backend string) []library {
	return slices.DeleteFunc(slices.Clone(catalogue()), func(l library) bool { return l.Backend != backend })
}

var (
	plainStrings = sync.OnceValue(func() []library { return ofBackend("redis") })
	singleNodes  = sync.OnceValue(func() []library { return ofBackend("zookeeper") })
)

// DecodeToken recognises the library that wrote the string value of a lock key, and decodes its
// owner. A value of unknown shape is a "token" with confidence possible.
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

// StringLock is an example lock of a library that uses one plain string per lock, with NAME for
// the lock's name. The code that reads, lists, releases and explains locks is tested with it.
type StringLock struct{ Name, Key, Value string }

// StringLocks returns an example for each plain-string recipe that names its locks and whose
// values have no spaces.
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

// OneServer reports whether a library always takes a lock on a single Redis server. It is false
// for values that may also be a Redlock's: random values, and those of symfony, Redisson and
// madelson, which have multi-server locks.
func OneServer(name string) bool {
	return name == sidekiqName ||
		slices.ContainsFunc(plainStrings(), func(l library) bool { return l.OneServer && l.Name == name })
}

// Clients returns the names under which client libraries identify themselves (CLIENT SETINFO
// LIB-NAME, from Redis 7.2 on) when they write a recipe's locks. If several libraries write the
// same value, it returns the names of all; nil if unknown.
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

// NoTTLByDefault reports whether a library's Redis locks of a kind, as in the JSON, have no expiry
// unless the user sets one. Such libraries are redis-py (timeout=None), python-redis-lock
// (expire=None), Laravel (0 seconds), sidekiq-unique-jobs and Redisson's semaphores.
func NoTTLByDefault(name, kind string) bool {
	return name == sidekiqName || name == redissonName && kind == "semaphore" ||
		slices.ContainsFunc(plainStrings(), func(l library) bool { return l.NoTTL && l.Name == name })
}

// Wakes returns the channels and the message by which waiters for a plain-string lock learn of
// its release; none if its library publishes nothing. A forced release must publish the same, or
// waiters find out on their own. For waiters woken through a list, see WakeList.
func Wakes(key, value string) (channels []string, message string) {
	if strings.HasPrefix(value, lockscopePrefix) {
		return []string{LockscopeChannel(key)}, ""
	}
	if _, l := decodeToken(key, value); l != nil {
		return l.custom.WakeChannels(key)
	}
	return nil, ""
}

// WakeList returns the list through which a release wakes the longest-waiting client (BLPOP);
// false if the lock's library uses none.
func WakeList(key, value string) (list string, ok bool) {
	if _, l := decodeToken(key, value); l != nil {
		return l.custom.WakeList(key)
	}
	return "", false
}

// catalogued recognises lists that wake waiters, and a library's other helper keys.
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
