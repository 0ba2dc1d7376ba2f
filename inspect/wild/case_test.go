package wild

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lockscope/lockscope/internal/must"
)

// report is one file in cases.
type report struct {
	name                            string
	Report, Says, Colleague, Target string
	Through                         string
	Real                            bool
	Masters                         int
	Redis                           [][]string
	ZooKeeper                       []step `yaml:"zookeeper"`
	Expect                          expectation
	KnownWrong                      string `yaml:"known_wrong"`
}

// step is one step of a ZooKeeper session.
type step struct {
	Session, Create, Watch, Delete, Data     string
	Sequential, Persistent, Container, Close bool
}

// expectation is the expected output of doctor.
type expectation struct {
	Locks    map[string]lockExpectation
	NotLocks []string `yaml:"not_locks"`
	// Backend has the findings about backends, as "rule severity".
	Backend []string
	// Partial means that some reads failed, so the exit code is 3.
	Partial bool
}

type lockExpectation struct {
	State, Kind, Recipe, Confidence, Waiters string
	// Holder is part of the text about the holders, such as a name, a label or a host.
	Holder   string
	Findings []string
}

// reports reads all cases and checks that each has its report, its story and the colleague's
// answer.
func reports(t *testing.T) []report {
	t.Helper()
	files, err := filepath.Glob("cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all []report
	seen := map[string]bool{"": true}
	for _, f := range files {
		text := must.Have(os.ReadFile(f))(t)
		r := report{name: strings.TrimSuffix(filepath.Base(f), ".yaml"), Masters: 1}
		if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&r); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if seen[r.Report] || r.Says == "" || r.Colleague == "" || len(r.Redis)+len(r.ZooKeeper) == 0 {
			t.Errorf("%s: set says, colleague, redis or zookeeper, and a unique report", f)
		}
		seen[r.Report] = true
		all = append(all, r)
	}
	return all
}

var placeholder = regexp.MustCompile(`<(ms|s|time|hex|session) ([^>]+)>`)

// fill replaces the placeholders in a text. id returns a session's id.
func fill(t *testing.T, text string, id func(session string) int64) string {
	t.Helper()
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		if parts[1] == "session" {
			return fmt.Sprint(id(parts[2]))
		}
		if raw, err := hex.DecodeString(parts[2]); parts[1] == "hex" && err == nil {
			return string(raw)
		}
		ago, err := time.ParseDuration(parts[2])
		if err != nil {
			t.Fatalf("%s: %v", found, err)
		}
		at := time.Now().Add(ago).UTC()
		return map[string]string{
			"ms": fmt.Sprint(at.UnixMilli()), "s": fmt.Sprint(at.Unix()), "time": at.Format("2006-01-02T15:04:05.000Z"),
		}[parts[1]]
	})
}
