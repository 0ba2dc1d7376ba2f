package tui

import (
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/tui/internal/fixture"
)

func TestFiltersAreChosenByName(t *testing.T) {
	o := Options{Look: Look{Filters: map[string]string{"stuck": "held>5m waiting"}}}
	must.Succeed(t, CheckLook(o.Look))
	m := model(t, o, 120, 36, fixture.Everything())
	press(m, ":", "stuck", "enter")
	wantText(t, m, "1 of 8 locks", "/ held>5m waiting")
}

func TestBadLooksAreReported(t *testing.T) {
	err := CheckLook(Look{Filters: map[string]string{"f2": "age>"}})
	if err == nil || !strings.Contains(err.Error(), ":") {
		t.Errorf("%v", err)
	}
}
