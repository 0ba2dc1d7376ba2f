package recipe

import "testing"

func TestElectionsByTheirPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/app/leader": true, "/services/jobs/election": true, "/kafka/leader-election": true, "/a/Leader_Selector/x": true, "/elect": true,
		"/locks/orders": false, "/leaderboard": false, "/leader/a/b": false, "/locks/elections-report": true, "/": false, "/misleader": false,
	} {
		if got := ElectsByPath(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
