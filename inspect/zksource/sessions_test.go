package zksource_test

import (
	"testing"

	"lockscope/inspect/zksource"
	"lockscope/internal/servertest"
)

func TestAllSessionsAreKnownWhenEveryServerTold(t *testing.T) {
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		dead := "http://127.0.0.1:1"
		for _, tt := range []struct {
			admins []string
			all    bool
		}{{[]string{zks.Admin}, true}, {[]string{zks.Admin, dead}, false}} {
			v := once(t, zksource.Config{Servers: []string{zks.Addr}, Admin: tt.admins, Roots: []string{"/zookeeper"}})
			if len(v.Sessions) == 0 || v.All != tt.all {
				t.Errorf("%v: %d sessions, all of them: %v", tt.admins, len(v.Sessions), v.All)
			}
		}
	})
}
