package inspect

import "testing"

func TestContenderStatesRoundTrip(t *testing.T) {
	for word, state := range map[string]ContenderState{"": 0, "holding": Holding, "waiting": Waiting, "pending": Pending} {
		var read ContenderState
		if err := read.UnmarshalText([]byte(word)); err != nil || read != state || state.String() != word {
			t.Errorf("%q is %d, and %d is %q: %v", word, read, state, state.String(), err)
		}
	}
	if err := new(ContenderState).UnmarshalText([]byte("dreaming\x1b")); err == nil || err.Error() != `dreaming\u{1b} is not a state of a contender` {
		t.Errorf("an unknown state: %v", err)
	}
}
