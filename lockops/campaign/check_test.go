//go:build unix

package campaign

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/failpoint"
	"github.com/lockscope/lockscope/internal/must"
)

// ms converts milliseconds to the time of histories.
func ms(n int64) int64 { return n * int64(time.Millisecond) }

// logs are the records of several processes.
type logs = [][]Record

// released returns the records of a worker's hold, which ended with a release at to.
func released(worker int, from, to int64, token uint64) []Record {
	granted, with := hold(worker, from, token)
	return append(granted, with(to, OpRelease, ""), with(to+1, OpReleased, ""))
}

// lost returns the records of a worker's hold, whose loss was reported at to.
func lost(worker int, from, to int64, token uint64) []Record {
	granted, with := hold(worker, from, token)
	return append(granted, with(to, OpEnded, "lost"))
}

// hold returns the records up to a grant, and a function that makes further ones.
func hold(worker int, from int64, token uint64) (granted []Record, with func(at int64, op Op, err string) Record) {
	r := Record{Worker: worker, Lock: "l", Kind: "mutex", Hold: from + 1, Token: token, Name: "n"}
	with = func(at int64, op Op, err string) Record {
		c := r
		c.At, c.Op, c.Err = ms(at), op, err
		return c
	}
	return []Record{with(from, OpAcquire, ""), with(from+1, OpGranted, "")}, with
}

// The checks find exactly the faults planted in made-up histories.
func TestChecksFindPlantedFaults(t *testing.T) {
	stall := Record{Worker: 1, Op: OpStall, Since: ms(120), At: ms(300)}
	forced := Record{Op: OpForced, Lock: "l", Since: ms(60), At: ms(70)}
	stood := Record{Worker: 2, Op: OpStood, Text: failpoint.Granted, At: ms(55)}
	// slow is granted its lock long after asking for it.
	slow := released(2, 50, 200, 2)
	slow[1].At = ms(150)
	older := released(2, 50, 200, 1)
	older[1].At = ms(150)
	stalled := Record{Worker: 2, Op: OpStall, Since: ms(40), At: ms(149)}
	awake := Record{Worker: 2, Op: OpStall, Since: ms(60), At: ms(90)}
	cut := Record{Op: OpFault, Text: "one direction between two members is cut", At: ms(30)}
	late := Record{Op: OpFault, Text: cut.Text, At: ms(90)}
	elsewhere := Record{Op: OpFault, Text: "clients are silently cut off from a server", At: ms(30)}
	long := released(2, 50, 600, 1)
	long[1].At = ms(400)
	ofAnother := forced
	ofAnother.Name = "another"
	newer := released(1, 80, 100, 2)
	early, second := released(1, 80, 300, 1), released(2, 150, 200, 2)
	lostLate := lost(1, 0, 300, 1)
	for _, tt := range []struct {
		name    string
		records logs
		want    string // checks that fail
	}{
		{"one after the other", logs{released(1, 0, 100, 1), released(2, 50, 200, 2)[:1], released(2, 110, 200, 2)}, ""},
		{"two at once", logs{released(1, 0, 300, 1), second}, "two holders, history"},
		{"lost and reported late", logs{lostLate, second}, "two holders"},
		{"lost and reported in time", logs{lost(1, 0, 140, 1), second}, ""},
		{"reported late by a stopped process", logs{lostLate, {stall}, second}, ""},
		{"reported long after its process resumed", logs{lost(1, 0, 600, 1), {stall}, second}, "two holders"},
		{"reported late, another was stopped", logs{lost(2, 0, 300, 1), {stall}, released(3, 150, 200, 2)}, "two holders"},
		{"reported late, and forced", logs{lostLate, {forced}, second}, ""},
		{"reported late, another was forced", logs{lostLate, {ofAnother}, second}, "two holders"},
		{"forced while the report of its grant was delayed", logs{early, {stood, forced}, slow}, ""},
		{"delayed report of a grant", logs{early, {stood}, slow}, "two holders, history"},
		{"an older token, forced while its report was delayed", logs{newer, {stood, forced}, older}, ""},
		{"an older token with a delayed report", logs{newer, {stood}, older}, "tokens"},
		{"an older token after a forced release", logs{newer, {forced}, older}, "tokens"},
		{"an older token after a forced release, from a member that may lag", logs{{cut}, newer, {forced}, older}, ""},
		{"an older token after a forced release before the cut", logs{{late}, newer, {forced}, older}, "tokens"},
		{"an older token after a forced release, clients were cut off", logs{{elsewhere}, newer, {forced}, older}, "tokens"},
		{"an older token behind a cut, without a forced release", logs{{cut}, newer, older}, "tokens"},
		{"an older token behind a cut, long after a forced release", logs{{cut}, newer, {forced}, long}, "tokens"},
		{"two at once, one of them forced behind a cut", logs{{cut}, early, {forced}, slow}, ""},
		{"granted before its process stopped, reported after", logs{{stalled}, released(1, 80, 300, 2), older}, ""},
		{"an older token, reported after a stall", logs{{stalled}, newer, older}, ""},
		{"an older token, reported long after a stall", logs{{awake}, released(1, 80, 85, 2), older}, "tokens"},
		{"tokens that fall", logs{released(1, 0, 100, 2), released(2, 110, 200, 1)}, "tokens"},
		{"tokens that stay", logs{released(1, 0, 100, 2), released(2, 110, 200, 2)}, "tokens"},
		{"left behind", logs{{{Op: OpExit, Goroutines: 1}}}, "left behind"},
	} {
		v := Check(NewHistory(nil, tt.records...), func(string) Rule { return mutexRule })
		must.Equal(t, strings.Join(v.checks(), ", "), tt.want, tt.name, "found", v.Violations)
	}
	permit := func(worker int) []Record { return released(worker, 100*int64(worker), 500, 0) }
	for _, tt := range []struct {
		name    string
		records logs
		rule    Rule
		want    string // checks that fail
	}{
		{"two of two permits", logs{permit(1), permit(2)}, Rule{Permits: 2}, ""},
		{"three of two permits", logs{permit(1), permit(2), permit(3)}, Rule{Permits: 2}, "two holders, history"},
		{"readers together", logs{permit(1), permit(2)}, Rule{Permits: 1, Readers: "mutex"}, ""},
	} {
		v := Check(NewHistory(nil, tt.records...), func(string) Rule { return tt.rule })
		must.Equal(t, strings.Join(v.checks(), ", "), tt.want, tt.name, "found", v.Violations)
	}
	killed := NewHistory(map[int]int64{1: ms(120)}, lost(1, 0, 300, 1)[:2], released(2, 150, 200, 2))
	v := Check(killed, func(string) Rule { return mutexRule })
	must.Equal(t, len(v.Violations), 0, "killed before the next grant", v.Violations)
}

// A lock that stays free while a live process waits for it is reported, once faults and their
// leftovers are gone.
func TestProgressIsChecked(t *testing.T) {
	healed := Record{Op: OpHealed, At: ms(1000)}
	settling := time.Second
	waits := func(worker int, from, to int64) []Record {
		r := Record{Worker: worker, Lock: "l", Kind: "mutex", Hold: from + 1, Op: OpAcquire, At: ms(from)}
		refused := r
		refused.Op, refused.At = OpRefused, ms(to)
		return []Record{r, refused}
	}
	stall := Record{Worker: 1, Op: OpStall, Since: ms(2500), At: ms(2800)}
	freed := released(2, 1500, 2100, 1)
	for _, tt := range []struct {
		name    string
		records logs
		want    bool
	}{
		{"no waiter", logs{{healed}, freed}, false},
		{"one waits in vain", logs{{healed}, freed, waits(1, 1600, 4200)}, true},
		{"one gives up soon", logs{{healed}, freed, waits(1, 1600, 4000)}, false},
		{"one is granted late", logs{{healed}, freed, waits(1, 1600, 4200)[:1], released(3, 4000, 4300, 2)}, false},
		{"one waits behind a late grant", logs{{healed}, freed, waits(1, 1600, 5000), released(3, 4199, 4300, 2)}, true},
		{"its process was stopped", logs{{healed}, freed, waits(1, 1600, 4200), {stall}}, false},
		{"while faults go on", logs{freed, waits(1, 1600, 4200)}, false},
		{"before all has settled", logs{{healed}, waits(1, 100, 1990)}, false},
		{"it is held", logs{{healed}, released(2, 1500, 5000, 1), waits(1, 1600, 4900)}, false},
	} {
		var v Verdict
		checkProgress(NewHistory(nil, tt.records...), "l", settling, &v)
		must.Equal(t, len(v.Violations) > 0, tt.want, tt.name, "found", v.Violations)
	}
}

// A store refuses older tokens; one that accepts them is reported.
func TestStoreRefusesOlderTokens(t *testing.T) {
	s := NewStore(t.TempDir() + "/store")
	_, _, err := s.Read(8)
	must.Succeed(t, err)
	_, err = s.Write(7, 1)
	must.Be(t, err, ErrStale, "an older token")
	must.Have(s.Write(8, 1))(t)
	value, seq, err := s.Read(9)
	must.Equal(t, fmt.Sprint(value, seq, err), "1 4 <nil>", "read, and its step")
	s.Fenced = false
	late := must.Have(s.Write(7, 1))(t)
	records := slices.Concat(released(1, 0, 10, 9), released(2, 20, 30, 7))
	records = append(records,
		Record{Op: OpWrote, Worker: 1, Lock: "l", Hold: 1, Value: 1, Seq: seq},
		Record{Op: OpWrote, Worker: 2, Lock: "l", Hold: 21, Value: 1, Seq: late})
	var v Verdict
	must.Succeed(t, CheckStore(NewHistory(nil, records), "l", s, &v))
	must.Same(t, v.checks(), []string{"fence", "lost update"}, "found", v.Violations)
}

// checks names the checks that found the violations.
func (v Verdict) checks() []string {
	return each.Of(v.Violations, func(found Violation) string { return found.Check })
}
