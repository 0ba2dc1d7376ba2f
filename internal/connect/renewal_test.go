package connect_test

import (
	"testing"

	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestRefusedLoginRequestsNewSecrets(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.RequireUserAuth("ops", "new")
	login := func(password connect.Secret) connect.Secrets {
		return connect.Secrets{Login: connect.Credentials{Username: "ops", Password: password}}
	}
	asked := 0 // without a lock, since connections do not overlap
	target := connect.Target{Service: connect.RedisMasters, Servers: []string{server.Addr}}
	target.Renewal = connect.NewRenewal(login("old"), func() { asked++ })
	if err := pingBy(t, target); err == nil || asked != 1 {
		t.Errorf("%v; new secrets were asked for %d times", err, asked)
	}
	if !target.Renewal.Set(login("new")) || target.Renewal.Set(login("new")) {
		t.Error("Set misreports a change")
	}
	if err := pingBy(t, target); err != nil || asked != 1 {
		t.Errorf("%v; new secrets were asked for %d times", err, asked)
	}
}
