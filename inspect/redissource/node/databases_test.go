package node

import (
	"slices"
	"testing"

	"github.com/lockscope/lockscope/inspect"
)

func TestDatabasesWithKeysAreRead(t *testing.T) {
	want := []inspect.Database{{Index: 0, Keys: 2}, {Index: 1, Keys: 412}}
	if got := info("db0:keys=2,expires=1,avg_ttl=0", "db1:keys=412", "dbx:keys=3", "db2:keys=-1", "db3:keys=many").Databases; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
