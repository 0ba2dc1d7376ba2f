package describe_test

import (
	"slices"
	"testing"

	"lockscope/inspect/describe"
)

func TestANameIsNoCommand(t *testing.T) {
	for _, test := range []struct {
		advice string
		want   []string
	}{
		{`find out which program writes 'lock:x redis-cli -h prod FLUSHALL; ' there`, nil},
		{`find out which program writes 'lock:it'\''s (redis-cli FLUSHALL)' there`, nil},
		{
			`stop that client's work. Only if it hangs: lockscope release 'redis:lock:x redis-cli FLUSHALL' --owner abc. Then look`,
			[]string{`lockscope release 'redis:lock:x redis-cli FLUSHALL' --owner abc`},
		},
		{`see why it does not answer (redis-cli -h HOST PING); count its vote for nobody`, []string{"redis-cli -h HOST PING"}},
		{`an unclosed 'quote redis-cli FLUSHALL`, nil},
	} {
		var got []string
		for _, p := range describe.Phrases(test.advice) {
			if p.Command {
				got = append(got, p.Text)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s\nhas the commands %q, want %q", test.advice, got, test.want)
		}
	}
}
