package inspect

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAccessInWordsAndJSON(t *testing.T) {
	entry := func(scheme, id, rights string) AccessEntry {
		return AccessEntry{Untrusted(scheme), Untrusted(id), rights}
	}
	anyone := entry("world", "anyone", "cdrwa")
	for name, tt := range map[string]struct {
		is    *Access
		words string
		tells bool
	}{
		"anybody":      {&Access{Entries: []AccessEntry{anyone}}, "anyone (cdrwa)", false},
		"an account":   {&Access{Entries: []AccessEntry{entry("digest", "billing", "cdrwa"), anyone}}, "digest billing (cdrwa), anyone (cdrwa)", true},
		"certificates": {&Access{Entries: []AccessEntry{entry("x509", "CN=a\x1b[2J", "r")}}, `x509 CN=a\u{1b}[2J (r)`, true},
		"signs":        {&Access{Entries: []AccessEntry{}, Unknown: "getACL /l\u202e: NoAuth"}, `unknown: getACL /l\u{202e}: NoAuth`, true},
		"not readable": {&Access{Entries: []AccessEntry{}, Unknown: "getACL /l: NoAuth"}, "unknown: getACL /l: NoAuth", true},
	} {
		if got := tt.is.String(); got != tt.words || tt.is.Tells() != tt.tells {
			t.Errorf("%s: %q, tells %v", name, got, tt.is.Tells())
		}
		if text, err := json.Marshal(tt.is); err != nil || strings.ContainsRune(string(text), '\u202e') {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if (*Access)(nil).Tells() {
		t.Error("what was not asked for tells something")
	}
	l := directoryLock(ID{"zk", "/l"}, []Znode{node(guid+"__lock__0000000000", -2), node(guid+"__lock__0000000001", 11)}, now)
	l.Access = map[Untrusted]*Access{l.Holders[0].Name: {Entries: []AccessEntry{entry("digest", "billing", "cdrwa")}}}
	text, err := json.Marshal(NewSnapshot(now, nil, []*Lock{l}).JSON())
	if err != nil {
		t.Fatal(err)
	}
	validate(t, text)
	if want := `"access":{"entries":[{"scheme":"digest","id":"billing","rights":"cdrwa"}]}`; strings.Count(string(text), want) != 1 || strings.Count(string(text), `"access"`) != 1 {
		t.Errorf("not once: %s in %s", want, text)
	}
}

// What is listed of a snapshot stays a snapshot: its sessions, names and deadlocks are those of all.
func TestWhere(t *testing.T) {
	all := NewSnapshot(now, nil, []*Lock{KeyLock(ID{"redis", "a"}, ballots("x"), now), KeyLock(ID{"redis", "b"}, ballots("x"), now)})
	some := all.Where(func(l *Lock) bool { return l.ID.Path == "b" })
	if some.Len() != 1 || some.Lock(ID{"redis", "b"}) != all.Lock(ID{"redis", "b"}) || all.Len() != 2 {
		t.Errorf("%d of %d", some.Len(), all.Len())
	}
}
