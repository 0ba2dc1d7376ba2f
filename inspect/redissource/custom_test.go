package redissource_test

import (
	"testing"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Only a custom recipe knows these keys. Keys that merely look similar are not listed.
func TestCustomRecipeKeysAreFound(t *testing.T) {
	acme := must.Have(recipe.NewCustom("acme", "redis", "", recipe.Patterns{Lock: `acme:[a-z]+:leader`, Contender: `(?P<host>[^/]+)/(?P<pid>\d+)`}))(t)
	elsewhere := must.Have(recipe.NewCustom("other", "zookeeper", "", recipe.Patterns{Lock: `.*`}))(t)
	custom := []recipe.Custom{elsewhere, acme}
	eachRedis(t, 1, func(t *testing.T, masters []*servertest.Redis) {
		set(t, masters[0], "acme:orders:leader", "web-1/42", time.Minute)
		set(t, masters[0], "acme:7:leader", "web-1/42", time.Minute)
		set(t, masters[0], "lock:a", guid, time.Minute)
		cfg := config(masters...)
		cfg.Match, cfg.Custom = nil, custom
		must.Same(t, keysOf(look(t, cfg)), []string{"acme:orders:leader", "lock:a"}, "found")
		cfg.Match = []string{"lock:*"}
		must.Same(t, keysOf(look(t, cfg)), []string{"lock:a"}, "found with Match set")
		cfg.Match = nil
		v := sourcetest.Watch(t, inspect.Recognise(redissource.New(cfg), custom))
		held := func(key string) bool {
			l := v.Locks[key]
			return l != nil && l.State == inspect.StateHeld && l.Recipe == "acme" && l.Holders[0].Owner.Host == "web-1" && l.Holders[0].Owner.PID == "42"
		}
		v.Await("held", func() bool { return held("acme:orders:leader") })
		set(t, masters[0], "acme:refunds:leader", "web-1/42", time.Minute)
		v.Await("a new one held", func() bool { return held("acme:refunds:leader") && v.Locks["acme:7:leader"] == nil })
	})
}
