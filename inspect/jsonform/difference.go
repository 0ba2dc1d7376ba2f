package jsonform

import (
	"github.com/lockscope/lockscope/inspect"

	"github.com/lockscope/lockscope/internal/each"
)

// Difference formats the Differences of two snapshots as in the contract, docs/diff.schema.json.
// fromName and toName identify the snapshots, such as a file or a moment.
func Difference(from, to *inspect.Snapshot, fromName, toName string) any {
	list, skipped := inspect.Differences(from, to)
	j := jsonDifference{
		From:        jsonMoment{inspect.Escape(fromName), stamp(from.TakenAt)},
		To:          jsonMoment{inspect.Escape(toName), stamp(to.TakenAt)},
		NotCompared: []jsonNotCompared{}, Backends: []jsonBackendChange{}, Appeared: []jsonLock{}, Gone: []jsonLock{},
		Changed: []jsonLockChange{},
	}
	for _, s := range skipped {
		j.NotCompared = append(j.NotCompared, jsonNotCompared(s))
	}
	for i := range list {
		switch d := &list[i]; {
		case d.Lock == (inspect.ID{}):
			j.Backends = append(j.Backends,
				jsonBackendChange{d.Backend, jsonStates{string(d.Was), string(d.Is)}, copies(d.New), copies(d.Gone)})
		case d.From == nil:
			j.Appeared = append(j.Appeared, lockJSON(to, d.To))
		case d.To == nil:
			j.Gone = append(j.Gone, lockJSON(from, d.From))
		default:
			j.Changed = append(j.Changed, lockChangeJSON(d, from, to))
		}
	}
	return j
}

func lockChangeJSON(d *inspect.Difference, from, to *inspect.Snapshot) jsonLockChange {
	contenders := func(s *inspect.Snapshot, list []*inspect.Contender) []jsonContender {
		b := s.Backend(d.Backend)
		return each.Of(list, func(c *inspect.Contender) jsonContender { return contenderJSON(c, s.TakenAt, b) })
	}
	return jsonLockChange{
		Lock: d.Lock.String(), State: jsonStates{string(d.From.State), string(d.To.State)},
		Acquired: contenders(to, d.Acquired), Ended: contenders(from, d.Ended), Joined: contenders(to, d.Joined),
		Left: contenders(from, d.Left),
		New:  copies(d.New), Gone: copies(d.Gone),
	}
}

func copies(list []*inspect.Finding) []jsonFinding {
	return each.Of(list, func(f *inspect.Finding) jsonFinding { return findingJSON(*f) })
}

type jsonDifference struct {
	From        jsonMoment          `json:"from"`
	To          jsonMoment          `json:"to"`
	NotCompared []jsonNotCompared   `json:"not_compared"`
	Backends    []jsonBackendChange `json:"backends"`
	Appeared    []jsonLock          `json:"appeared"`
	Gone        []jsonLock          `json:"gone"`
	Changed     []jsonLockChange    `json:"changed"`
}

type jsonMoment struct {
	Recording string `json:"recording"`
	At        string `json:"at"`
}

type jsonNotCompared struct {
	Backend string `json:"backend"`
	Reason  string `json:"reason"`
}

type jsonStates struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type jsonBackendChange struct {
	Backend string        `json:"backend"`
	State   jsonStates    `json:"state"`
	New     []jsonFinding `json:"new_findings"`
	Gone    []jsonFinding `json:"gone_findings"`
}

type jsonLockChange struct {
	Lock     string          `json:"lock"`
	State    jsonStates      `json:"state"`
	Acquired []jsonContender `json:"acquired"`
	Ended    []jsonContender `json:"ended"`
	Joined   []jsonContender `json:"joined"`
	Left     []jsonContender `json:"left"`
	New      []jsonFinding   `json:"new_findings"`
	Gone     []jsonFinding   `json:"gone_findings"`
}
