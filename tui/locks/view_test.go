package locks

import (
	"cmp"
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
		{View{Sort: "kind"}, "sort kind", "", "kind", "lock holder held wait queue finding"},
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
		must.True(t, strings.HasPrefix(err, cmp.Or(test.problem, "<nil>")), err)
		must.Equal(t, test.v.String(), test.text)
		must.Equal(t, p.view().Sort, test.order, test.text)
		must.Equal(t, strings.Join(p.view().Columns, " "), test.shown, test.text)
		must.Equal(t, p.view().Filter, test.v.Filter, test.text)
	}
	const want = "  NAME:\n    filter: \"redis\"\n    sort: -held\n    columns: [held, lock]\n"
	must.Equal(t, (View{Filter: "redis", Sort: "-held", Columns: []string{"held", "lock"}}).configuration(), want)
}
