package inspect

import (
	"testing"
	"time"
)

func TestInstantIsTheTimeItWasMadeOf(t *testing.T) {
	for _, at := range []time.Time{{}, now, time.Unix(0, -1), now.In(time.FixedZone("east", 7200))} {
		i := InstantOf(at)
		text, err := i.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var again Instant
		if err := again.UnmarshalText(text); err != nil || again != i {
			t.Errorf("%s is %d, and again %d: %v", text, i, again, err)
		}
		if !i.Time().Equal(at) || i.IsZero() != at.IsZero() {
			t.Errorf("%v became %v", at, i.Time())
		}
	}
	if err := new(Instant).UnmarshalText([]byte("yesterday")); err == nil {
		t.Error("a text that is no time was taken")
	}
}

func TestContenderStateIsItsWord(t *testing.T) {
	for word, state := range map[string]ContenderState{"": 0, "holding": Holding, "waiting": Waiting, "pending": Pending} {
		var read ContenderState
		if err := read.UnmarshalText([]byte(word)); err != nil || read != state || state.String() != word {
			t.Errorf("%q is %d, and %d is %q: %v", word, read, state, state.String(), err)
		}
	}
	if err := new(ContenderState).UnmarshalText([]byte("dreaming\x1b")); err == nil || err.Error() != `dreaming\u{1b} is no state of a contender` {
		t.Errorf("a word that is no state: %v", err)
	}
}

func TestInternedTextsAreOneCopy(t *testing.T) {
	in := make(interned)
	first, again := in.one(Untrusted([]byte("10.0.0.1"))), in.one(Untrusted([]byte("10.0.0.1")))
	if first != again || len(in) != 1 || in.one("") != "" {
		t.Errorf("%q, %q, %d kept", first, again, len(in))
	}
	for i := range 2 * mostInterned {
		in.one(Untrusted(time.Duration(i).String()))
	}
	if len(in) > mostInterned {
		t.Errorf("%d kept", len(in))
	}
}
