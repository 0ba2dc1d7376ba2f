package inspect

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// Equal values are one, whoever made them; a change is not seen by who had the value before.
func TestSharedValuesAreComparedByValue(t *testing.T) {
	var none Shared[Special]
	if none.Get() != (Special{}) || SharedOf(Special{}) != none {
		t.Error("the zero value is not that of the type")
	}
	a, b := SharedOf(Special{Place: "leases"}), SharedOf(Special{Place: strings.Clone("leases")})
	if a != b || !a.Equal(b) || a == none || (Contender{Special: a}) != (Contender{Special: b}) {
		t.Error("equal ones differ, or others are equal")
	}
	b.Change(func(s *Special) { s.Digest = "sha256:00" })
	runtime.GC()
	if want := (Special{Place: "leases", Digest: "sha256:00"}); b.Get() != want || a.Get() != (Special{Place: "leases"}) || a == b {
		t.Errorf("%+v and %+v", a.Get(), b.Get())
	}
	b.Change(func(s *Special) { *s = Special{} })
	if b != none {
		t.Error("what was emptied is another than what was never set")
	}
}

// A contender takes no more than that: a large cluster has a million of them.
func TestAContenderIsSmall(t *testing.T) {
	if size := reflect.TypeFor[Contender]().Size(); size > 224 {
		t.Errorf("%d bytes", size)
	}
}
