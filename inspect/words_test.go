package inspect

import (
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestBestKnownNameIsShown(t *testing.T) {
	c := Contender{Name: "value"}
	for _, step := range []struct {
		learn func(*Owner)
		want  Untrusted
	}{
		{func(*Owner) {}, "value"},
		{func(o *Owner) { o.Session = -1 }, "0xffffffffffffffff"},
		{func(o *Owner) { o.Process = Process{Host: "host"} }, "host"},
		{func(o *Owner) { *o = Owner{Process: Process{Host: "02:fc:00:00:00:01"}} }, "value"}, // shared by several owners
		{func(o *Owner) { o.Client = "10.0.0.1:5" }, "10.0.0.1:5"},
		{func(o *Owner) { o.Label = "me" }, "me 10.0.0.1:5"},
	} {
		step.learn(&c.Owner)
		must.Equal(t, c.Who(), step.want)
	}
	must.Equal(t, (&Contender{Name: "1"}).Who(), "unknown")
	must.Equal(t, (&Contender{Name: "1", Count: 3}).Who(), "3 unknown")
}
