package tree

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
)

var update = flag.Bool("update", false, "rewrite testdata/scripts.txtar")

// played is a tree that plays a script of testdata/scripts.txtar.
type played struct {
	*world
	tree  *Tree
	locks view
	built int // how often locks were shown
	shown map[string]string
	gone  map[string]string
	log   strings.Builder
}

// start begins to read the world as configured by the words of a script's first line.
func (s *played) start(words []string) {
	cfg, server := Config{Roots: []string{"/"}}, Server{Addr: "zk", Many: true, Since: s.now}
	limits := map[string]*int{"depth": &cfg.Depth, "children": &cfg.Children, "dirs": &cfg.Dirs}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "once":
			cfg.Once = true
		case "eager":
			cfg.Eager = true
		case "old":
			server.Many = false
		case "only":
			cfg.Only = value
		case "chroot":
			cfg.Chroot = Chroot(value)
		case "roots":
			cfg.Roots = strings.Split(value, ",")
		default:
			*limits[name], _ = strconv.Atoi(value)
		}
	}
	s.tree, s.toHear = grown(cfg), nil
	if server.Many && !cfg.Once {
		server.Watched = s.tree.cfg.Roots
	}
	s.tree.Start(server)
}

// wanted takes a read out of the queue, by its text.
func (s *played) wanted(t *testing.T, text string) Job {
	q := &s.tree.Queue
	for _, list := range []*[]Job{&q.Urgent, &q.Reads, &q.Lists, &q.Walk, &q.Polls, &q.Alone} {
		if i := slices.IndexFunc(*list, func(j Job) bool { return textOf(j) == text }); i >= 0 {
			j := (*list)[i]
			*list = slices.Delete(*list, i, i+1)
			return j
		}
	}
	t.Fatalf("no read %q in %+v", text, q)
	return Job{}
}

func textOf(j Job) string {
	return [...]string{"stat ", "list ", "data ", "get ", "compare "}[j.Kind] + j.Node()
}

// step plays a line of a script.
func (s *played) step(t *testing.T, words ...string) {
	fmt.Fprintln(&s.log, strings.Join(words, " "))
	p := append(words, "")[1]
	rest := strings.Join(words[min(2, len(words)):], " ")
	owner, _ := strconv.ParseInt(rest, 10, 64)
	switch words[0] {
	case "start":
		s.start(words[1:])
	case "create":
		s.create(p, owner)
	case "many":
		for i := range owner {
			d := fmt.Sprintf("%s%02d", p, i)
			s.create(d, 0)
			s.create(d+"/x", 0)
			s.shut[d] = true
		}
	case "remove":
		s.remove(p)
	case "write":
		s.write(p, rest)
	case "shut", "open":
		s.shut[p] = words[0] == "shut"
		if stat := s.nodes[p]; stat != nil {
			stat.Aversion++
		}
	case "break", "mend":
		s.odd[p] = words[0] == "break"
	case "unchroot":
		delete(s.nodes, "/")
	case "unreported":
		s.toHear = nil
	case "read":
		s.answer(s.wanted(t, p+" "+rest))
	case "arrive":
		for s.deliver(s.tree) {
		}
	case "settle":
		for s.deliver(s.tree) || s.serve(s.tree) {
			s.take()
		}
	case "at":
		s.now = noon.Add(must.Have(time.ParseDuration(p))(t))
		s.tree.Wake(s.now)
	case "poll":
		s.tree.Poll(s.now)
	case "focus":
		focus := map[string]bool{}
		for _, p := range words[1:] {
			focus[p] = true
		}
		s.tree.Focus(focus)
	case "passed":
		s.tree.FirstPass = true
		s.tree.CountEmpty(s.now)
	case "lost":
		s.tree.Stop("zk,other")
		server := s.tree.server
		server.Addr, server.Since, server.Lost = "other", s.now, server.Lost+1
		s.tree.Start(server)
	case "watches":
		s.watch(words[1:])
	case "without":
		s.without(s.tree.Dir(p), rest)
	}
	if s.tree != nil {
		s.print()
	}
}

// watch handles a table of watches. Sessions of "deaf" servers are missing from it.
func (s *played) watch(words []string) {
	w := Watches{Covers: s.tree.Covers(), Asked: s.now, On: map[string][]int64{}}
	deaf := map[int64]bool{}
	for _, word := range words {
		p, text, _ := strings.Cut(word, "=")
		session, _ := strconv.ParseInt(text, 10, 64)
		if deaf[session] = p == "deaf"; !deaf[session] {
			w.On[p] = append(w.On[p], session)
		}
	}
	w.Hears = func(session int64, _ time.Time) bool { return !deaf[session] }
	table := s.tree.WatchTable(w)
	fmt.Fprintf(&s.log, "  (covers %d locks, has %v, unheard %v)\n", len(table.Covers), table.Sessions, table.Unheard)
	s.tree.Recheck(table, s.now)
}

// without shows a lock without a node.
func (s *played) without(d *Dir, name string) {
	is := func(n inspect.Znode) bool { return n.Name == name }
	n, found := d.Find(name, is)
	left := view{}
	if l := d.Without(inspect.ID{}, s.now, is); l != nil {
		left["left"] = l
	}
	fmt.Fprintf(&s.log, "  (found %v, of session %d; %v)\n", found, n.EphemeralOwner, left.words())
}

// take notes the changed locks.
func (s *played) take() {
	c := s.locks.take(s.tree, s.now)
	s.built += len(c.Put)
	for p, withdrawn := range c.Gone {
		s.gone["lock "+p] = map[bool]string{true: "never was one", false: "no more"}[withdrawn]
	}
}

// print adds what has changed to the log.
func (s *played) print() {
	s.take()
	state := s.state()
	for _, what := range slices.Sorted(maps.Keys(state)) {
		if s.shown[what] != state[what] {
			fmt.Fprintf(&s.log, "  %s: %s\n", what, state[what])
		}
		s.shown[what] = state[what]
	}
}

// state describes the tree, by fact.
func (s *played) state() map[string]string {
	r, e := s.tree, s.tree.Empty()
	state := maps.Clone(s.gone)
	clear(s.gone)
	maps.Copy(state, map[string]string{
		"counts": fmt.Sprintf("%d read, %d covered, %d shown", r.Scanned, len(r.Covers()), s.built),
		"unseen": unseenText(r.Unseen()), "refusal": "", "empty": "", "next": "",
	})
	if root, err := r.Refusal(); err != nil {
		state["refusal"] = root + " " + err.Error()
	}
	if e.Count > 0 {
		state["empty"] = fmt.Sprintf("%d, %d of them under %s, from %v", e.Count, e.UnderCount, e.Under, e.Oldest.UTC())
	}
	if next := r.Next(); !next.IsZero() {
		state["next"] = next.Sub(noon).String()
	}
	q := &r.Queue
	for name, list := range map[string][]Job{
		"urgent": q.Urgent, "reads": q.Reads, "lists": q.Lists, "walk": q.Walk, "polls": q.Polls, "alone": q.Alone,
	} {
		list, state["queue "+name] = slices.Clone(list), ""
		slices.SortStableFunc(list, func(a, b Job) int { return strings.Compare(a.Dir.Path, b.Dir.Path) })
		for _, j := range list {
			state["queue "+name] += textOf(j) + ", "
		}
	}
	for p, text := range s.locks.words() {
		l := s.locks[p]
		state["lock "+p] = fmt.Sprintf("%s %s %s of %d, polled %v: %s %s",
			l.Recipe, l.Kind, l.Confidence, l.Limit, l.Polled, text, unseenText(l.Unseen))
	}
	return state
}

func unseenText(list []inspect.Unseen) string {
	var texts []string
	for _, u := range list {
		texts = append(texts, fmt.Sprintf("no %s: %s at %s, %s, %s", u.Aspect, u.Read, u.Where, u.Reason, u.Right))
	}
	return strings.Join(texts, "; ")
}

// Scripts read a server's tree step by step.
func TestScriptsReadTheirTrees(t *testing.T) {
	t.Parallel()
	const file = "testdata/scripts.txtar"
	scripts := must.Have(txtar.ParseFile(file))(t)
	for i, script := range scripts.Files {
		s := &played{world: newWorld(), locks: view{}, shown: map[string]string{}, gone: map[string]string{}}
		for line := range strings.Lines(strings.ReplaceAll(string(script.Data), "GUID", guid)) {
			if !strings.HasPrefix(line, " ") { // otherwise a state
				s.step(t, strings.Fields(line)...)
			}
		}
		got := strings.ReplaceAll(s.log.String(), guid, "GUID")
		must.True(t, *update || got == string(script.Data), script.Name, cmp.Diff(string(script.Data), got))
		scripts.Files[i].Data = []byte(got)
	}
	if *update {
		must.Succeed(t, os.WriteFile(file, txtar.Format(scripts), 0o600))
	}
}
