package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// blind reports refused and failed reads (Unseen of a lock or backend). It names the facts that
// stay unknown and the right that would allow the read. It also reports masters that did not
// answer. For a one-shot command, it reports a contended ZooKeeper lock whose watch table or
// sessions were not requested. A continuous watch reads tables only for open locks.
func blind() rule {
	r := rule{
		name: "blind", severity: inspect.Info,
		means:    "A right or a feature is missing, or a server did not answer. Everything that depends on it is unknown, never free.",
		sure:     "`doctor --access` prints what the account sees, and the missing right.",
		do:       "Grant the right. Until then, treat the hidden facts as unknown.",
		not:      "Do not act on a lock whose holder is unknown.",
		evidence: "unseen (the aspects), reads, rights, reason, masters of a Redis lock, else servers (addr, error)",
	}.ofLocks(func(c *inspect.Case) []inspect.Finding {
		found := gapFindings(unseenOf(c.Lock), userOf(c.Backend), func(g *gap) inspect.Finding { return g.ofLock(c) })
		return append(found, neverAsked(c)...)
	})
	return r.ofBackends(func(b *inspect.Backend, _ time.Time) []inspect.Finding {
		return gapFindings(b.Unseen, userOf(b), (*gap).finding)
	})
}

// unseenOf lists what could not be read of a lock, including the masters that did not answer.
func unseenOf(l *inspect.Lock) []inspect.Unseen {
	list := slices.Clip(l.Unseen)
	for i := range l.Masters {
		m := &l.Masters[i]
		if !m.Up && !slices.ContainsFunc(list,
			func(u inspect.Unseen) bool { return u.Aspect == inspect.AspectVotes && u.Where == m.Addr }) {
			list = append(list, inspect.Unseen{Aspect: inspect.AspectVotes, Where: m.Addr, Reason: m.Error})
		}
	}
	return list
}

// gap joins the unknown aspects of reads that were all refused, or all failed.
type gap struct {
	aspects []inspect.Aspect
	from    []inspect.Unseen // each right or read once per server
	user    string           // our name on the servers; empty if unknown
}

// refused reports whether the cause is a missing right.
func (g *gap) refused() bool { return g.from[0].Right != "" }

// gapsOf groups unseen aspects. It first collects what one missing right or failed read hides,
// then merges the reads that hide the same aspects.
func gapsOf(list []inspect.Unseen) []gap {
	type read struct{ right, where, read string }
	hides := make(map[read][]inspect.Aspect, len(list))
	var reads []inspect.Unseen
	for _, u := range list {
		key := read{u.Right, u.Where, u.Read}
		if _, known := hides[key]; !known {
			reads = append(reads, u)
		}
		if !slices.Contains(hides[key], u.Aspect) {
			hides[key] = append(hides[key], u.Aspect)
		}
	}
	var gaps []gap
	for _, u := range reads {
		aspects := hides[read{u.Right, u.Where, u.Read}]
		slices.Sort(aspects)
		at := slices.IndexFunc(gaps, func(g gap) bool {
			return g.refused() == (u.Right != "") && g.answered() == answered(&u) && g.from[0].Advice == u.Advice &&
				slices.Equal(g.aspects, aspects)
		})
		if at < 0 {
			at, gaps = len(gaps), append(gaps, gap{aspects: aspects})
		}
		gaps[at].from = append(gaps[at].from, u)
	}
	return gaps
}

// userOf is our name on a backend's servers; empty if unknown.
func userOf(b *inspect.Backend) string {
	if b == nil {
		return ""
	}
	return b.User
}

func gapFindings(list []inspect.Unseen, user string, finding func(*gap) inspect.Finding) []inspect.Finding {
	if len(list) == 0 {
		return nil
	}
	gaps := gapsOf(list)
	found := make([]inspect.Finding, len(gaps))
	for i := range gaps {
		gaps[i].user = user
		found[i] = finding(&gaps[i])
	}
	return found
}

// ofLock is the finding about a lock. For silent masters it says how many, and how to check them.
func (g *gap) ofLock(c *inspect.Case) inspect.Finding {
	f := g.finding()
	if masters := len(c.Lock.Masters); masters > 0 {
		f.Evidence["masters"] = f.Evidence["servers"]
		delete(f.Evidence, "servers")
		if g.silent() {
			what, first := "did not answer", by(configure("see why it does not answer"),
				redisCLI(c, g.from[0].Where, "PING"))
			if word, advice := redisreply.Advice(g.from[0].Reason); word != "" {
				what, first = "answered only "+word, configure(advice)
			}
			if n := len(g.from); n > 1 {
				f.Message = fmt.Sprintf("%d of %d masters %s: %s", n, masters, what, g.unknown())
			}
			f.Steps = do(first, wait("until then do not count its vote"))
		}
	}
	return f
}

// silent reports whether servers did not answer at all.
func (g *gap) silent() bool { return !g.refused() && g.from[0].Read == "" }

// answered is the error code with which otherwise silent servers replied; empty if there was none.
func (g *gap) answered() string { return answered(&g.from[0]) }

func answered(u *inspect.Unseen) string {
	if u.Read != "" {
		return ""
	}
	word, _ := redisreply.Advice(u.Reason)
	return word
}

func (g *gap) finding() inspect.Finding {
	e := evidence{"unseen": aspectNames(g.aspects)}
	var servers []evidence
	for _, u := range g.from {
		if u.Where != "" && len(servers) < listed {
			reason := inspect.Untrusted(strings.TrimPrefix(u.Reason, "master "+u.Where+": ")).Cut(120)
			servers = append(servers, evidence{"addr": inspect.Escape(u.Where), "error": reason})
		}
	}
	if servers != nil {
		e["servers"] = servers
	}
	if reason := g.from[0].Reason; servers == nil && reason != "" {
		e["reason"] = inspect.Untrusted(reason).Cut(120)
	}
	if reads := g.texts(func(u *inspect.Unseen) string { return u.Read }); reads != nil {
		e["reads"] = reads
	}
	f := inspect.Finding{
		Confidence: recipe.Certain, Evidence: e, Subject: inspect.Subject{Unseen: g.aspects},
		Message: g.cause() + ": " + g.unknown(),
		Steps:   do(wait("find out why it failed, then check again; until then its state is unknown")),
	}
	if rights := g.texts(func(u *inspect.Unseen) string { return u.Right }); rights != nil {
		e["rights"] = rights
		f.Steps = do(configure(g.grant(rights)))
	}
	if advice := g.from[0].Advice; advice != "" {
		f.Steps = do(configure(inspect.Escape(advice)))
	}
	return f
}

// texts returns the first few distinct values of a field, escaped.
func (g *gap) texts(field func(*inspect.Unseen) string) []string {
	var list []string
	for i := range g.from {
		text := inspect.Untrusted(field(&g.from[i])).Cut(120)
		if text != "" && !slices.Contains(list, text) && len(list) < listed {
			list = append(list, text)
		}
	}
	return list
}

// cause names the server and the refusal or the failure.
func (g *gap) cause() string {
	first := &g.from[0]
	where, what := at(first.Where), inspect.Untrusted(first.Read).Cut(40)
	reads := map[string]bool{}
	for i := range g.from {
		reads[g.from[i].Read] = true
	}
	if n := g.servers() - 1; n > 0 {
		where += " and " + describe.Count(n, "other")
	}
	if n := len(reads) - 1; n > 0 {
		what += fmt.Sprintf(" and %d more", n)
	}
	switch {
	case first.Advice != "":
		return where + ": " + inspect.Untrusted(first.Reason).Cut(160)
	case g.answered() != "":
		return where + " answered only " + g.answered()
	case what == "":
		return where + " did not answer"
	case g.refused() && where == "":
		return what + " was refused"
	case g.refused():
		return where + " refused " + what
	case where == "":
		return what + " could not be read" + because(first.Reason)
	default:
		return where + " did not answer " + what + because(first.Reason)
	}
}

// servers counts the servers. Each may appear twice, with its AdminServer's URL and its client
// port.
func (g *gap) servers() int {
	admins, seen := 0, map[string]bool{}
	for i := range g.from {
		where := g.from[i].Where
		if !seen[where] && strings.HasPrefix(where, "http") {
			admins++
		}
		seen[where] = true
	}
	return max(admins, len(seen)-admins)
}

// because puts a reason in brackets.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + inspect.Untrusted(reason).Cut(48) + ")"
}

// unknown lists the unknown aspects in words.
func (g *gap) unknown() string {
	words := each.Of(g.aspects, describe.Aspect)
	if len(words) > 3 {
		words = append(words[:3], "more")
	}
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1] + " are unknown"
	}
	return words[0] + " is unknown"
}

func aspectNames(list []inspect.Aspect) []string {
	return each.Of(list, func(a inspect.Aspect) string { return string(a) })
}

// nodeRight is the prefix of the right to read a znode.
const nodeRight = "READ on "

// grant advises how to grant the missing rights. It quotes names and rules, which users type, but
// not sentences.
func (g *gap) grant(rights []string) string {
	acl := true
	quoted := make([]string, len(rights))
	for i, r := range rights {
		quoted[i] = r
		if node, ok := strings.CutPrefix(r, nodeRight); ok {
			quoted[i] = nodeRight + describe.Quote(node)
		}
		if strings.HasPrefix(r, "+") || strings.HasPrefix(r, "~") {
			quoted[i] = describe.Quote(r)
		} else {
			acl = false
		}
	}
	switch {
	case acl:
		user := describe.Quote(inspect.Untrusted(cmp.Or(g.user, "NAME")).Cut(120))
		return "allow it: ACL SETUSER " + user + " " + strings.Join(quoted, " ")
	case strings.HasPrefix(rights[0], nodeRight):
		return "give credentials with " + strings.Join(quoted, ", ") + " (LOCKSCOPE_ZK_AUTH=digest:USER:PASSWORD)"
	default:
		return describe.Allow(strings.Join(quoted, ", "))
	}
}

// neverAsked reports what a one-shot command had no way to read.
func neverAsked(c *inspect.Case) []inspect.Finding {
	l, b := c.Lock, c.Backend
	if b == nil || b.Mode != inspect.ModeOnce || b.Kind != inspect.ZooKeeper ||
		!slices.ContainsFunc(l.Waiters, hasSession) {
		return nil
	}
	// for unknown aspects the reason is already reported
	known := func(a inspect.Aspect) bool { return !l.Unknown(a) && !b.Unknown(a) }
	var unseen []inspect.Aspect
	var what []string
	if c.Watches == nil && known(inspect.AspectWatches) {
		unseen, what = append(unseen, inspect.AspectWatches), append(what, "who watches whom")
	}
	if n := c.Watches.Lacks(l); n > 0 && known(inspect.AspectWatches) {
		unseen = append(unseen, inspect.AspectWatches)
		what = append(what, fmt.Sprintf("whom %d of the waiters watch", n))
	}
	if c.Sessions == nil && known(inspect.AspectSessions) {
		unseen, what = append(unseen, inspect.AspectSessions), append(what, "which clients the sessions belong to")
	}
	if unseen == nil {
		return nil
	}
	return one(inspect.Finding{
		Confidence: recipe.Certain,
		Message: "no server reported " + strings.Join(what, " and ") +
			": a lost wake-up or a dead client would go unnoticed",
		Evidence: evidence{"unseen": aspectNames(unseen)},
		Subject:  inspect.Subject{Unseen: unseen},
		Steps: do(configure("list every server and its AdminServer in the target (admin=http://HOST:8080,…), " +
			"or allow cons, wchs and wchp in 4lw.commands.whitelist")),
	})
}

// hasSession reports whether a contender has a session, which may watch.
func hasSession(c inspect.Contender) bool { return c.Owner.Session != 0 }
