package zksource

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/zksource/ensemble"
	"github.com/lockscope/lockscope/inspect/zksource/tree"
	"github.com/lockscope/lockscope/internal/connect"
	"github.com/lockscope/lockscope/internal/each"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/zkwire"
)

// mishaps are the errors of a script, by name.
var mishaps = map[string]error{
	"ok": nil, "refused": errors.New("connection refused"), "banned": &connect.RefusedError{Why: "banned"},
	"hung": os.ErrDeadlineExceeded, "nonsense": connect.Nonsense("odd"),
	"closed": zk.ErrConnectionClosed, "unknown": zkwire.ErrUnimplemented,
	"throttled": zkwire.ErrThrottled, "long": zkwire.ErrTooLong, "denied": zk.ErrNoAuth, "missing": zk.ErrNoNode,
	"odd": errors.New("zk: odd"),
}

// scripted is a run that plays a script of testdata/scripts.txtar.
type scripted struct {
	*watched
	first *link
	shown map[string]string
	log   strings.Builder
}

// config reads the words of a script's first line.
func config(words []string) (cfg Config) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "once":
			cfg.Once = true
		case "unlimited":
			cfg.Budget.Unlimited = true
		case "servers":
			cfg.Servers = strings.Split(value, ",")
		case "timeout":
			cfg.Timeout, _ = time.ParseDuration(value)
		case "user":
			cfg.Auth = []byte(value)
		case "then":
			cfg.NewAuth = func() []byte { return []byte(value) }
		}
	}
	return cfg
}

// step plays a line of a script.
func (s *scripted) step(t *testing.T, words ...string) {
	l, job := s.conn.link, tree.Job{Kind: tree.JobList, Dir: s.tree.Dir("/l")}
	at, err := s.now(), mishaps[append(words, "ok")[1]]
	switch words[0] {
	case "at":
		s.pass(noon.Add(must.Have(time.ParseDuration(words[1]))(t)))
	case "stalls":
		s.set(noon.Add(must.Have(time.ParseDuration(words[1]))(t)))
		s.attend()
	case "dials":
		for _, word := range words[1:] {
			s.dials <- mishaps[word]
		}
		s.connect(at)
		for l = s.conn.link; l != nil && l == s.conn.link; {
			<-s.inbox.ready
			for _, e := range s.inbox.take() {
				s.event(e)
			}
		}
	case "late":
		b := s.request(at, secondNode)
		s.event(linkEvent{link: s.first, at: at, kind: linkAnswered, batch: b})
		s.event(linkEvent{link: s.first, at: at, kind: linkFired, path: "/l/" + secondNode, what: zk.EventNodeDeleted})
		s.event(linkEvent{link: s.first, at: at, kind: linkLost})
		s.pacing.batches--
	case "lost":
		s.event(linkEvent{link: l, at: at, kind: linkLost})
	case "session":
		if s.connect(at); l != s.conn.link {
			<-s.dialled
		}
		s.event(linkEvent{link: s.conn.link, at: at, kind: linkUp})
	case "login":
		s.result(result{Reply: tree.Reply{At: at, Err: err}, link: l, login: true})
	case "password":
		s.cfg.NewAuth = func() []byte { return []byte(words[1]) }
	case "watch":
		s.event(linkEvent{link: l, at: at, kind: linkNoWatch, err: err})
	case "list":
		s.pacing.flying++
		s.result(result{Reply: tree.Reply{Job: job, Sent: at, At: at, Err: replyError(err)}, link: l})
	case "reads":
		s.tree.Queue = tree.Queue{}
		b := s.request(at, firstNode, secondNode)
		if b.err = err; len(words) == 3 {
			b.err, b.results[must.Have(strconv.Atoi(words[2]))(t)].Err = nil, err
		}
		s.event(linkEvent{link: l, at: at, kind: linkAnswered, batch: b})
	case "walks":
		s.tree.FirstPass, s.pacing.flying = false, 1
	case "idle":
		s.tree.Queue, s.pacing.flying = tree.Queue{}, 0
	case "focus":
		s.refocus(map[string]bool{words[1]: true})
	case "asks":
		s.startInquiry(at)
	case "waits":
		s.pacing.flying++
		s.results <- result{Reply: tree.Reply{Job: job, Sent: at, At: at}, link: l}
		s.inbox.add(linkEvent{link: l, at: at, kind: linkLost})
	case "inquiry":
		timeout, _ := time.ParseDuration(words[len(words)-1])
		inquiry, ours := s.ensemble.Inquiry(ensemble.Inquiry{Now: s.now, Spawn: s.tasks.Go}), s.conn.session()
		report := inquiry.Run(s.ended) // too late for answers
		report.Sessions = map[int64]inspect.Session{7: {ID: 7, Timeout: timeout}, ours: {ID: ours, Timeout: time.Second}}
		s.identify(report)
	}
	s.tree.Build(s.now())
	s.renewAuth(s.now())
	s.finishPass(s.now())
	s.flush(s.now())
	fmt.Fprintln(&s.log, strings.Join(words, " "))
	for _, line := range s.state() {
		what, value, _ := strings.Cut(line, ": ")
		if s.shown[what] != value {
			fmt.Fprintf(&s.log, "  %s\n", line)
		}
		s.shown[what] = value
	}
}

// state describes the run, a fact a line.
func (s *scripted) state() []string {
	b, q, asks := s.describe(), &s.tree.Queue, &s.inquiries
	server, cost := b.Servers[0], b.Cost
	requests, _ := s.conn.cost() // others are those of inquiries
	when := func(at time.Time) string {
		if at.IsZero() {
			return "never"
		}
		return at.Sub(noon).String()
	}
	reads := func(jobs []tree.Job) string {
		return strings.Join(each.Of(jobs, func(j tree.Job) string {
			text := [...]string{"stat", "list", "data", "get", "compare"}[j.Kind] + strings.TrimPrefix(j.Name, guid+"__lock__")
			if j.Denied {
				text += " denied"
			}
			return text
		}), ", ")
	}
	var gaps []string
	locks, tables, reports := 0, 0, 0
	for _, u := range s.emitted {
		locks += len(u.Put)
		if u.Sessions != nil {
			tables++
		}
		if u.Backend != nil {
			reports++
		}
		if u.Gap != nil {
			gaps = append(gaps, when(u.Gap.From)+" to "+when(u.Gap.Until))
		}
	}
	beats := s.beats
	s.beats = usualBeats()
	allows := fmt.Sprint("allows: ", s.sessionTimeout(), " for a session, ", s.queryTime(), " for a question")
	s.beats = beats
	return []string{
		fmt.Sprintf("budget: %+v", s.cfg.Budget),
		fmt.Sprintf("beats: %+v", usualBeats()),
		allows,
		fmt.Sprint("gaps: ", gaps, ", locks: ", locks, ", session tables: ", tables),
		fmt.Sprint("reports: ", reports),
		fmt.Sprint("backend: ", b.State, " ", b.Error),
		fmt.Sprint("reads: ", b.Mode, ", ", b.Reading, "; watches: ", cost.Watches),
		fmt.Sprint("sought: ", b.Sought.For, " among ", b.Sought.Among, " ", b.Sought.Counted),
		fmt.Sprint("first server: ", server.State, " ", server.Fault, " ", server.Error, ", latency ", int64(server.Latency)),
		fmt.Sprint("limits: ", cost.Limit, " requests, ", cost.ItemLimit, " reads and ", cost.ByteLimit, " bytes a second"),
		fmt.Sprint("spent: ", requests, " requests, ", cost.Items, " reads and ", cost.Bytes, " bytes"),
		fmt.Sprint("in flight: ", s.pacing.flying, " reads, ", s.pacing.batches, " requests"),
		fmt.Sprint("urgent: ", reads(q.Urgent)),
		fmt.Sprint("alone: ", reads(q.Alone)),
		fmt.Sprint("found: ", reads(q.Reads)),
		fmt.Sprint("paused until: ", when(s.pacing.paused.until)),
		fmt.Sprint("connects next: ", when(s.conn.retryAt), ", for ", s.patience()),
		fmt.Sprint("wakes after: ", s.untilNext(s.now())),
		fmt.Sprint("credentials: ", string(s.conn.auth)),
		fmt.Sprint("inquires next: ", when(asks.askAt), ", now: ", asks.asking,
			", asked for watches: ", when(asks.watchesAt)),
		fmt.Sprint("disturbed: ", when(b.DisturbedAt), ", connections lost: ", b.Lost),
		fmt.Sprint("first pass done: ", b.FirstPass, ", ends: ", s.done),
	}
}

// Scripts lead a run into states that a network reaches rarely.
func TestScriptsLeadToTheirStates(t *testing.T) {
	t.Parallel()
	const file = "testdata/scripts.txtar"
	update := flag.Lookup("update").Value.String() == "true"
	scripts := must.Have(txtar.ParseFile(file))(t)
	plain := map[string]string{} // the state of the first script at its start
	for i, script := range scripts.Files {
		got := play(t, string(script.Data), plain)
		must.True(t, update || got == string(script.Data), script.Name, cmp.Diff(string(script.Data), got))
		scripts.Files[i].Data = []byte(got)
	}
	if update {
		must.Succeed(t, os.WriteFile(file, txtar.Format(scripts), 0o600))
	}
}

// play returns a script with what changes at each step. The first line configures the run, and changes
// what differs from plain.
func play(t *testing.T, script string, plain map[string]string) string {
	var s *scripted
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, " ") { // a state
			continue
		}
		words := strings.Fields(line)
		if s == nil {
			s = &scripted{watched: watchedRun(t, config(words[1:])), shown: maps.Clone(plain)}
			s.first = s.conn.link
		}
		if s.step(t, words...); len(plain) == 0 {
			maps.Copy(plain, s.shown)
		}
	}
	s.dropLink() // all close at the same time
	return s.log.String()
}
