package recipe

import "testing"

func TestElectionsByTheirPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/app/leader": true, "/services/jobs/election": true, "/kafka/leader-election": true, "/a/Leader_Selector/x": true, "/elect": true,
		"/locks/orders": false, "/leaderboard": false, "/leader/a/b": false, "/locks/elections-report": true, "/": false, "/misleader": false,
		"/druid/indexer/leaderLatchPath": true, "/ledgers/auditorelection": true, "/jobs/selection": false, "/app/LEADER": true,
		"/hbase/master": true, "/db/orders-primary": true, "/locks/master-data": false, "/locks/primary_key": false,
		"app:leader": true, "leader:election:lock": true, "lock:orders": false, "lock:masterdata": false,
	} {
		if got := ElectsByPath(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
