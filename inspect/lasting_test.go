package inspect

import "testing"

func TestOnlyWhatLastsIsFoundByTwoLooks(t *testing.T) {
	look := func(fs ...Finding) *Snapshot {
		l := queueOf(t, "11 12")
		l.Findings = fs
		return NewSnapshot(now, nil, []*Lock{l})
	}
	passing := func(rule string) bool { return rule == "passes" }
	about := func(rule, contender string) Finding {
		return Finding{Rule: rule, Subject: Subject{Contender: Untrusted(contender)}}
	}
	votes := func(says string) Finding {
		return Finding{Rule: "passes", Evidence: map[string]any{"masters": []map[string]any{{"addr": "r1", "says": says}}}}
	}
	for _, c := range []struct {
		name           string
		before, after  Finding
		want           int
		nothingAtFirst bool
	}{
		{name: "it lasts", before: about("passes", "a"), after: about("passes", "a"), want: 1},
		{name: "it is another's", before: about("passes", "a"), after: about("passes", "b")},
		{name: "it came since", after: about("passes", "a"), nothingAtFirst: true},
		{name: "what stays is sure at once", after: about("stays", "a"), nothingAtFirst: true, want: 1},
		{name: "the same votes", before: votes("x"), after: votes("x"), want: 1},
		{name: "the votes of another attempt", before: votes("x"), after: votes("y")},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := look(c.before), look(c.after)
			if c.nothingAtFirst {
				before = NewSnapshot(now, nil, nil)
			}
			id := queueOf(t, "11").ID
			if got := after.Lasting(before, passing).Lock(id).Findings; len(got) != c.want {
				t.Errorf("%d findings: %+v, want %d", len(got), got, c.want)
			}
			if len(after.Lock(id).Findings) != 1 {
				t.Error("the later snapshot was changed")
			}
		})
	}
}
