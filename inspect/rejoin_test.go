package inspect

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
)

func TestRepeatedSessionTablesAreRecognised(t *testing.T) {
	before := map[int64]Session{
		1: {ID: 1, Client: "10.0.0.1:5000", Server: "a:2181", Timeout: time.Second, LastContact: now},
		2: {ID: 2, Client: "10.0.0.2:5000", Server: "a:2181", Timeout: time.Second},
	}
	for name, tt := range map[string]struct {
		change func(s *Session)
		want   bool
	}{
		"it is the same":             {func(*Session) {}, true},
		"its client sent a request":  {func(s *Session) { s.LastContact = now.Add(time.Second) }, true},
		"its client reconnected":     {func(s *Session) { s.Client = "10.0.0.1:5001" }, false},
		"it moved to another server": {func(s *Session) { s.Server = "b:2181" }, false},
		"it has another timeout":     {func(s *Session) { s.Timeout = time.Minute }, false},
		"it is new":                  {func(s *Session) { s.ID = 3 }, false},
		"it is gone":                 {func(s *Session) { s.ID = 2 }, true},
	} {
		s := before[1]
		tt.change(&s)
		table := map[int64]Session{2: before[2]}
		if s.ID != 2 {
			table[s.ID] = s
		}
		must.Equal(t, repeats(table, before), tt.want, name)
	}
	must.True(t, !repeats(before, nil), "the first table counts as a repeat")
}
