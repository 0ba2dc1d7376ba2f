package inspect

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAccessInWords(t *testing.T) {
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
}
