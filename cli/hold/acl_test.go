package hold

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
)

func TestParseACL(t *testing.T) {
	got, err := parseACL("world:anyone:r,auth::cdrwa,digest:user:aGFzaA==:rw")
	want := []zk.ACL{
		{Perms: zk.PermRead, Scheme: "world", ID: "anyone"},
		{Perms: zk.PermAll, Scheme: "auth", ID: ""},
		{Perms: zk.PermRead | zk.PermWrite, Scheme: "digest", ID: "user:aGFzaA=="},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"world", "world:anyone", "world:anyone:x", ":anyone:r", "world:anyone:", ","} {
		if got, err := parseACL(bad); err == nil {
			t.Errorf("%q is %+v", bad, got)
		}
	}
}
