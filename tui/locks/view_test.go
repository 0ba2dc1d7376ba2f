package locks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockscope/lockscope/internal/must"
)

func TestViewsAreNamedAndChecked(t *testing.T) {
	const names = " is not one of lock, kind, library, holder, held, wait, queue, ttl, finding, client, session, backend"
	for _, test := range []struct {
		v             View
		text, problem string
		order         string
		shown         string
	}{
		{View{Filter: "redis", Sort: "-held", Columns: []string{"held", "lock"}}, "redis, sort -held, columns held lock", "", "-held", "held lock"},
		{View{}, "", "", "finding", "lock holder held wait queue finding"},
		{View{Filter: "held>x"}, "held>x", "filter: ", "finding", "lock holder held wait queue finding"},
		{View{Sort: "size"}, "sort size", `sort: "size"` + names, "finding", "lock holder held wait queue finding"},
		{View{Columns: []string{"held"}}, "columns held", "columns: lock is missing: without it, rows would look alike", "finding", "lock holder held wait queue finding"},
		{View{Columns: []string{"lock", "lock"}}, "columns lock lock", "columns: lock is listed twice", "finding", "lock holder held wait queue finding"},
		{View{Columns: []string{"size"}}, "columns size", `columns: "size"` + names, "finding", "lock holder held wait queue finding"},
	} {
		p := open(t, some(), 80, 12)
		p.ShowView(test.v)
		p.SetSize(80, 12)
		err := fmt.Sprint(test.v.Check())
		if test.problem == "" && err != "<nil>" || !strings.HasPrefix(err, test.problem) || test.v.String() != test.text {
			t.Errorf("%+v: %q, %s", test.v, test.v, err)
		}
		if got := p.view(); got.Sort != test.order || strings.Join(got.Columns, " ") != test.shown || got.Filter != test.v.Filter {
			t.Errorf("%+v: %+v", test.v, got)
		}
	}
	const want = "  NAME:\n    filter: \"redis\"\n    sort: -held\n    columns: [held, lock]\n"
	must.Equal(t, (View{Filter: "redis", Sort: "-held", Columns: []string{"held", "lock"}}).configuration(), want)
}
