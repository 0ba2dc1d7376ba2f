package zksource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/internal/sourcetest"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/zksource"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

func TestHostileNamesAndDataAreEscaped(t *testing.T) {
	t.Parallel()
	servertest.EachZooKeeper(t, func(t *testing.T, zks *servertest.ZooKeeper) {
		c, root := client(t, zks), servertest.UniquePath(t)
		dir := root + "/\u202elock\u200b[31m"
		huge := strings.Repeat("\xff\x1b]0;x\a", 1<<20/7-200) // near the server's packet limit
		create(t, c, root, "", 0)
		create(t, c, dir, "", 0)
		for _, name := range []string{
			"_c_x", "_c_" + uuid + "-lock-", "\u2066", "x--99999999999", "lock--99999999999", "\u00ad0000000001", "__lock__0000000001",
		} {
			create(t, c, dir+"/"+name, huge[:64], 0)
		}
		holder := create(t, c, dir+"/_c_"+uuid+"-lock--2147483648", huge, 1)
		create(t, c, dir+"/\u202e-note", huge, 1)
		create(t, c, root+"/\u202eleader", huge, 1)
		create(t, c, root+"/leases", "", 0)
		create(t, c, root+"/leases/_c_x", "", 0)

		ctx, cancel := context.WithTimeout(t.Context(), sourcetest.Limit)
		defer cancel()
		o := inspect.NewObserver(time.Now, zksource.New(zksource.Config{Backend: "zk", Servers: []string{zks.Addr}, Roots: []string{root}, Once: true}))
		must.Succeed(t, o.Run(ctx))
		s := o.Snapshot()
		l := s.Lock(inspect.ID{Backend: "zk", Path: dir})
		if l == nil || l.Recipe != "curator" || len(l.Holders) != 1 || l.Node(&l.Holders[0]) != holder || l.Holders[0].Sequence != -2147483648 || len(l.Aliens) == 0 {
			t.Fatalf("%+v", l)
		}
		if lone := s.Lock(inspect.ID{Backend: "zk", Path: root + "/\u202eleader"}); lone == nil || len(lone.Holders[0].Owner.Label) > 1<<10 {
			t.Errorf("lone node: %+v", lone)
		}
		text := must.Have(json.Marshal(jsonform.Snapshot(s)))(t)
		for _, r := range string(text) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%U is printed: %s", r, text[:min(len(text), 1000)])
			}
		}
		if !strings.Contains(string(text), `\\u{202E}lock`) && !strings.Contains(string(text), `\\u{202e}lock`) {
			t.Errorf("the escaped name is missing: %s", fmt.Sprintf("%.1000s", text))
		}
	})
}
