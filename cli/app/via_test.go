package app

import (
	"testing"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/must"
)

// --via applies to targets without their own jump host, and appears in advised commands.
func TestViaFillsInMissingJumpHosts(t *testing.T) {
	targets := must.Have(connect.ParseTargets([]string{"redis://r1", "zk://z1?via=ssh://other"}))(t)
	a := App{Options: Options{Via: "ssh://ops@bastion:2222"}}
	must.Succeed(t, a.goVia(targets))
	if targets[0].Via.String() != "ssh://ops@bastion:2222" || targets[1].Via.String() != "ssh://other" {
		t.Errorf("%v, %v", targets[0].Via, targets[1].Via)
	}
	s := Setup{Targets: targets, Named: true}
	must.Contain(t, s.targetWords(targets[0]), "via=ssh://ops@bastion:2222")
}
