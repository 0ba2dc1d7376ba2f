package recipe

import (
	"testing"
	"time"
)

func TestReadLease(t *testing.T) {
	end := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	held := func(label string) Single {
		return Single{Recipe: "kazoo", Confidence: Certain, Label: label, Until: end}
	}
	for _, tt := range []struct {
		name, data string
		want       Single
		ok         bool
	}{
		{"as kazoo writes it", `{"version": 1, "holder": "batch-7", "end": "2026-11-21T09:00:00"}`, held("batch-7"), true},
		{"in another order, by nobody", `{"end":"2026-11-21T09:00:00","holder":"","version":1}`, held(""), true},
		{"of a version to come", `{"version": 2, "holder": "a", "end": "2026-11-21T09:00:00"}`, Single{Recipe: "kazoo", Confidence: Possible, Label: "a"}, true},
		{"with an end that cannot be read", `{"version": 1, "holder": "a", "end": "soon"}`, Single{Recipe: "kazoo", Confidence: Possible, Label: "a"}, true},
		{"without a version", `{"holder": "a", "end": "2026-11-21T09:00:00"}`, Single{}, false},
		{"without a holder", `{"version": 1}`, Single{}, false},
		{"not JSON", `lease`, Single{}, false},
		{"nothing", ``, Single{}, false},
	} {
		if got, ok := ReadLease([]byte(tt.data)); got != tt.want || ok != tt.ok {
			t.Errorf("%s: %+v, %v", tt.name, got, ok)
		}
	}
}
