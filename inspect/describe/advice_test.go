package describe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPhrases(t *testing.T) {
	for advice, want := range map[string][]Phrase{
		"restart it": {{"restart it", false}},
		"stop one, or (which stops none): lockscope release zk:/a --owner b. Take locks in one order": {
			{"stop one, or (which stops none):", false}, {"lockscope release zk:/a --owner b", true}, {"Take locks in one order", false},
		},
		"only then: lockscope release 'redis:a. b' --owner 'it'\\''s; x' --waiter": {
			{"only then:", false}, {"lockscope release 'redis:a. b' --owner 'it'\\''s; x' --waiter", true},
		},
		"find out whose it is (zkCli.sh stat /a/b), let it": {{"find out whose it is", false}, {"zkCli.sh stat /a/b", true}, {"let it", false}},
		"see https://lockscope and mylockscope release":     {{"see https://lockscope and mylockscope release", false}},
		"": nil,
	} {
		if diff := cmp.Diff(want, Phrases(advice)); diff != "" {
			t.Errorf("%q: %s", advice, diff)
		}
	}
}
