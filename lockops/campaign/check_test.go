//go:build unix

package campaign

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/failpoint"
	"github.com/lockscope/lockscope/internal/must"
)

// ms converts milliseconds to the time of histories.
func ms(n int64) int64 { return n * int64(time.Millisecond) }

// held returns the records of a worker's hold, which ended with a release or a loss.
func held(worker int, from, to int64, token uint64, lost bool) []Record {
	r := Record{Worker: worker, Lock: "l", Kind: "mutex", Hold: from + 1, Token: token, Name: "n"}
	with := func(at int64, op Op, err string) Record {
		c := r
		c.At, c.Op, c.Err = ms(at), op, err
		return c
	}
	if lost {
		return []Record{with(from, OpAcquire, ""), with(from+1, OpGranted, ""), with(to, OpEnded, "lost")}
	}
	return []Record{with(from, OpAcquire, ""), with(from+1, OpGranted, ""), with(to, OpRelease, ""), with(to+1, OpReleased, "")}
}

// The checks find exactly the faults planted in made-up histories.
func TestChecksFindPlantedFaults(t *testing.T) {
	stall := Record{Worker: 1, Op: OpStall, Since: ms(120), At: ms(300)}
	forced := Record{Op: OpForced, Lock: "l", Since: ms(60), At: ms(70)}
	stood := Record{Worker: 2, Op: OpStood, Text: failpoint.Granted, At: ms(55)}
	// slow is granted its lock long after asking for it.
	slow := held(2, 50, 200, 2, false)
	slow[1].At = ms(150)
	older := held(2, 50, 200, 1, false)
	older[1].At = ms(150)
	stalled := Record{Worker: 2, Op: OpStall, Since: ms(40), At: ms(149)}
	awake := Record{Worker: 2, Op: OpStall, Since: ms(60), At: ms(90)}
	cut := Record{Op: OpFault, Text: "one direction between two members is cut", At: ms(30)}
	late := Record{Op: OpFault, Text: cut.Text, At: ms(90)}
	elsewhere := Record{Op: OpFault, Text: "clients are silently cut off from a server", At: ms(30)}
	long := held(2, 50, 600, 1, false)
	long[1].At = ms(400)
	ofAnother := forced
	ofAnother.Name = "another"
	for _, tt := range []struct {
		name    string
		records [][]Record
		rule    Rule
		want    []string
	}{
		{"one after the other", [][]Record{held(1, 0, 100, 1, false), held(2, 50, 200, 2, false)[:1], held(2, 110, 200, 2, false)}, mutexRule, nil},
		{"two at once", [][]Record{held(1, 0, 300, 1, false), held(2, 150, 200, 2, false)}, mutexRule, []string{"two holders", "history"}},
		{"lost and reported late", [][]Record{held(1, 0, 300, 1, true), held(2, 150, 200, 2, false)}, mutexRule, []string{"two holders"}},
		{"lost and reported in time", [][]Record{held(1, 0, 140, 1, true), held(2, 150, 200, 2, false)}, mutexRule, nil},
		{"reported late by a stopped process", [][]Record{held(1, 0, 300, 1, true), {stall}, held(2, 150, 200, 2, false)}, mutexRule, nil},
		{"reported long after its process resumed", [][]Record{held(1, 0, 600, 1, true), {stall}, held(2, 150, 200, 2, false)}, mutexRule, []string{"two holders"}},
		{"reported late while another process was stopped", [][]Record{held(2, 0, 300, 1, true), {stall}, held(3, 150, 200, 2, false)}, mutexRule, []string{"two holders"}},
		{"reported late, and forced", [][]Record{held(1, 0, 300, 1, true), {forced}, held(2, 150, 200, 2, false)}, mutexRule, nil},
		{"reported late, another was forced", [][]Record{held(1, 0, 300, 1, true), {ofAnother}, held(2, 150, 200, 2, false)}, mutexRule, []string{"two holders"}},
		{"forced while the report of its grant was delayed", [][]Record{held(1, 80, 300, 1, false), {stood, forced}, slow}, mutexRule, nil},
		{"delayed report of a grant", [][]Record{held(1, 80, 300, 1, false), {stood}, slow}, mutexRule, []string{"two holders", "history"}},
		{"an older token, forced while its report was delayed", [][]Record{held(1, 80, 100, 2, false), {stood, forced}, older}, mutexRule, nil},
		{"an older token with a delayed report", [][]Record{held(1, 80, 100, 2, false), {stood}, older}, mutexRule, []string{"tokens"}},
		{"an older token after a forced release", [][]Record{held(1, 80, 100, 2, false), {forced}, older}, mutexRule, []string{"tokens"}},
		{"an older token after a forced release, from a member that may lag", [][]Record{{cut}, held(1, 80, 100, 2, false), {forced}, older}, mutexRule, nil},
		{"an older token after a forced release before the cut", [][]Record{{late}, held(1, 80, 100, 2, false), {forced}, older}, mutexRule, []string{"tokens"}},
		{"an older token after a forced release while clients were cut off", [][]Record{{elsewhere}, held(1, 80, 100, 2, false), {forced}, older}, mutexRule, []string{"tokens"}},
		{"an older token behind a cut, without a forced release", [][]Record{{cut}, held(1, 80, 100, 2, false), older}, mutexRule, []string{"tokens"}},
		{"an older token behind a cut, long after a forced release", [][]Record{{cut}, held(1, 80, 100, 2, false), {forced}, long}, mutexRule, []string{"tokens"}},
		{"two at once, one of them forced behind a cut", [][]Record{{cut}, held(1, 80, 300, 1, false), {forced}, slow}, mutexRule, nil},
		{"granted before its process stopped, reported after", [][]Record{{stalled}, held(1, 80, 300, 2, false), older}, mutexRule, nil},
		{"an older token, reported after a stall", [][]Record{{stalled}, held(1, 80, 100, 2, false), older}, mutexRule, nil},
		{"an older token, reported long after a stall", [][]Record{{awake}, held(1, 80, 85, 2, false), older}, mutexRule, []string{"tokens"}},
		{"tokens that fall", [][]Record{held(1, 0, 100, 2, false), held(2, 110, 200, 1, false)}, mutexRule, []string{"tokens"}},
		{"tokens that stay", [][]Record{held(1, 0, 100, 2, false), held(2, 110, 200, 2, false)}, mutexRule, []string{"tokens"}},
		{"two of two permits", [][]Record{held(1, 0, 300, 0, false), held(2, 150, 200, 0, false)}, Rule{Permits: 2}, nil},
		{"three of two permits", [][]Record{held(1, 0, 300, 0, false), held(2, 150, 300, 0, false), held(3, 200, 300, 0, false)}, Rule{Permits: 2}, []string{"two holders", "history"}},
		{"readers together", [][]Record{held(1, 0, 300, 0, false), held(2, 150, 200, 0, false)}, Rule{Permits: 1, Readers: "mutex"}, nil},
		{"left behind", [][]Record{{{Op: OpExit, Goroutines: 1}}}, mutexRule, []string{"left behind"}},
	} {
		v := Check(NewHistory(nil, tt.records...), func(string) Rule { return tt.rule })
		must.Same(t, v.checks(), tt.want, tt.name, "found", v.Violations)
	}
	killed := NewHistory(map[int]int64{1: ms(120)}, held(1, 0, 300, 1, true)[:2], held(2, 150, 200, 2, false))
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
	for _, tt := range []struct {
		name    string
		records [][]Record
		want    bool
	}{
		{"no waiter", [][]Record{{healed}, held(2, 1500, 2100, 1, false)}, false},
		{"one waits in vain", [][]Record{{healed}, held(2, 1500, 2100, 1, false), waits(1, 1600, 4200)}, true},
		{"one gives up soon", [][]Record{{healed}, held(2, 1500, 2100, 1, false), waits(1, 1600, 4000)}, false},
		{"one is granted late", [][]Record{{healed}, held(2, 1500, 2100, 1, false), waits(1, 1600, 4200)[:1], held(3, 4000, 4300, 2, false)}, false},
		{"one waits behind another that is granted late", [][]Record{{healed}, held(2, 1500, 2100, 1, false), waits(1, 1600, 5000), held(3, 4199, 4300, 2, false)}, true},
		{"its process was stopped", [][]Record{{healed}, held(2, 1500, 2100, 1, false), waits(1, 1600, 4200), {stall}}, false},
		{"while faults go on", [][]Record{held(2, 1500, 2100, 1, false), waits(1, 1600, 4200)}, false},
		{"before all has settled", [][]Record{{healed}, waits(1, 100, 1990)}, false},
		{"it is held", [][]Record{{healed}, held(2, 1500, 5000, 1, false), waits(1, 1600, 4900)}, false},
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
	records := slices.Concat(held(1, 0, 10, 9, false), held(2, 20, 30, 7, false))
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
