package recipe

import (
	"strings"
	"testing"
)

// What a program writes for people is a label that fits a line.
func TestLabelsOfJSONAreShort(t *testing.T) {
	const vitess = `{"Action":"PlannedReparentShard(ks/-80)","HostName":"vtctld-1","UserName":"vitess","Time":"2026-11-21T03:14:15Z","Options":{},"Status":""}`
	for data, want := range map[string][2]string{
		vitess:                     {"vtctld-1", "PlannedReparentShard(ks/-80)"},
		"worker-1":                 {"", "worker-1"},
		`"worker-1"`:               {"", `"worker-1"`},
		`[1]`:                      {"", `[1]`},
		`{"id":"a"}`:               {"", "a"},
		`{"host":""}`:              {"", `{"host":""}`},
		`{"n":1,"name":{"a":"b"}}`: {"", `{"n":1,"name":{"a":"b"}}`},
		"":                         {"", ""},
	} {
		if host, label := labelOnly(Entry{}, []byte(data)); [2]string{host, label} != want {
			t.Errorf("%s: %q, %q", data, host, label)
		}
	}
	if _, label := ownerIn([]byte(`{"x":"` + strings.Repeat("é", 200) + `"}`)); len(label) > mostJSON {
		t.Errorf("%d bytes: %q", len(label), label)
	}
}
