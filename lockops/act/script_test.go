package act

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

var update = flag.Bool("update", false, "write what the steps of the scripts print")

// script runs the steps of a file in testdata/script; its README explains them.
type script struct {
	*testing.T
	out      strings.Builder
	releaser Releaser
	audit    *Audit
	shown    Preview
	values   func(step string) string // puts values in the place of names
	request  func(lock, owner string) Request
	step     func(verb string, args []string) bool // a step of one kind of server; false if it is unknown
}

// variable matches what differs from run to run.
var variable = regexp.MustCompile(`0x[0-9a-f]+|"(at|action_id|user|host|pid|sum|prev)":("[^"]*"|\d+),?`)

// run compares a script with what its steps print. names has pairs of a text and its name in the
// script.
func (s *script) run(file string, names ...string) {
	s.Helper()
	text := string(must.Have(os.ReadFile(file))(s))
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		step, isStep := strings.CutPrefix(line, "$ ")
		if isStep || line == "" || line[0] == '#' {
			s.out.WriteString(line + "\n")
		}
		if isStep {
			s.do(strings.Fields(s.values(step)))
		}
	}
	got := strings.NewReplacer(append(names, capitals()...)...).Replace(s.out.String())
	got = variable.ReplaceAllStringFunc(got, func(found string) string {
		return map[bool]string{true: "0xN"}[found[0] == '0']
	})
	if *update {
		must.Succeed(s, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	lines, want := strings.Split(got, "\n"), strings.Split(text, "\n")
	must.Equal(s, len(lines), len(want), file, "lines")
	for i := range min(len(lines), len(want)) {
		must.Equal(s, lines[i], want[i], file, "line", i+1)
	}
}

func (s *script) say(what, format string, args ...any) {
	text := fmt.Sprintf("%-8s %s", what, fmt.Sprintf(format, args...))
	s.out.WriteString(strings.TrimRight(text, ": ") + "\n")
}

func (s *script) list(what string, texts []string) {
	for _, text := range texts {
		s.say(what, "%s", text)
	}
}

// trues lists what is true.
func trues(all map[string]bool) string {
	var list []string
	for what, is := range all {
		if is {
			list = append(list, what)
		}
	}
	return strings.Join(slices.Sorted(slices.Values(list)), ", ")
}

func (s *script) do(words []string) {
	s.Helper()
	switch verb, args := words[0], words[1:]; verb {
	case "preview":
		s.preview(args)
	case "execute":
		s.execute()
	case "release":
		s.preview(args)
		s.execute()
	case "audit":
		s.out.WriteString(string(must.Have(os.ReadFile(s.audit.path))(s)))
	default:
		must.True(s, s.step(verb, args), "unknown step", words)
	}
}

func (s *script) preview(args []string) {
	s.Helper()
	r := s.request(args[0], args[1])
	r.Why = "a\ttest"
	for _, word := range args[2:] {
		switch word {
		case "waiter":
			r.Waiter = true
		case "ask":
			r.Ask, r.Wait = true, time.Millisecond
		case "elects":
			r.Elects = true
		case "two-leaders":
			r.TwoLeaders = true
		default:
			r.TTL = must.Have(time.ParseDuration(word))(s)
		}
	}
	p, err := s.releaser.Preview(s.Context(), r)
	s.shown = p
	must.Equal(s, p.Request.Owner, r.Owner, "owner of the preview")
	if err != nil {
		s.say("error", "%v", err)
		return
	}
	if p.Seen != nil {
		s.say("seen", "%s, %s, by %s", p.Seen.Name, p.Seen.State, p.Seen.Who())
	}
	s.list("sends", p.Sends)
	s.list("warns", p.Warnings)
	if p.Refused != "" {
		s.say("refused", "%s: %s", p.Refused, p.Detail)
	}
	for _, c := range p.Alike {
		s.say("alike", "%s", c.Name)
	}
	switch {
	case p.Next != nil:
		s.say("next", "%s", p.Next.Name)
	case p.Refused == "" && p.Seen.State == inspect.Holding:
		s.say("next", "%s", p.NoNext())
	}
}

func (s *script) execute() {
	s.Helper()
	r, err := s.releaser.Execute(s.Context(), s.shown, "typed")
	s.say("result", "%s: %s", trues(map[string]bool{
		string(r.Reason): r.Reason != "", "released": r.Released, "set": r.Set, "asked": r.Asked, "let go": r.LetGo, "unknown": r.Unknown,
	}), r.Detail)
	for i, m := range r.Masters {
		s.say("result", "of server %d: %s", i+1, trues(map[string]bool{
			"deleted": m.Deleted, "lacked": m.Lacked, "set": m.Set, "other expiry": m.OtherExpiry, "failed": m.Err != nil,
		}))
	}
	if r.Next != nil {
		s.say("then", "%s, %s", r.Next.Name, r.Next.State)
	}
	for _, h := range r.HoldersAfter {
		s.say("holds", "%s", h.Name)
	}
	if err != nil {
		s.say("error", "%v", err)
	}
}

// end ends a client.
func (s *script) end(r *Redis, client string) {
	s.Helper()
	p, err := r.PreviewEnd(s.Context(), ClientRequest{Backend: "redis", Client: client, Why: "a\ttest"})
	must.Equal(s, p.Request.Client, client, "client of the preview")
	if err != nil {
		s.say("error", "%v", err)
		return
	}
	s.list("sends", p.Sends)
	s.list("warns", p.Warnings)
	result, err := r.EndClient(s.Context(), p, "typed")
	why := trues(map[string]bool{string(result.Reason): result.Reason != "", "unknown": result.Unknown})
	s.say("result", "%s: %s", why, result.Detail)
	if len(result.Ended) > 0 {
		s.say("ended", "%s", named(result.Ended))
	}
	if len(result.Again) > 0 {
		s.say("again", "%s", named(result.Again))
	}
	if err != nil {
		s.say("error", "%v", err)
	}
}

// deny denies these commands to all clients of a server, and no others.
func deny(t *testing.T, s *servertest.Redis, denied ...string) {
	t.Helper()
	if s.Real {
		command(t, s.Client(t), strings.TrimSuffix("ACL SETUSER default +@all -"+strings.Join(denied, " -"), " -"))
		return
	}
	s.Mini.Server().SetPreHook(func(c *server.Peer, name string, args ...string) bool {
		name = strings.ToLower(name)
		isDenied := slices.Contains(denied, name)
		if name == "pubsub" {
			name += "|" + strings.ToLower(args[0])
		}
		if isDenied {
			c.WriteError("NOPERM User default has no permissions to run the '" + name + "' command")
		}
		return isDenied
	})
}

// listing answers CLIENT LIST with its lists, one after the other, and CLIENT KILL with success or an error. INFO
// counts the clients of the first list, if it has any.
type listing struct {
	servertest.Hook
	say    func(what, format string, args ...any)
	before map[string]func() // called once, right before a command
	lists  []string
	info   string
	kill   error
}

// set takes connections as ID:PORT:NAME:FLAGS. Lists are separated by "then".
func (l *listing) set(text string) {
	l.lists, l.info = nil, ""
	if first, _, _ := strings.Cut(text, " then "); first != "" {
		l.info = fmt.Sprintf("# Clients\r\nconnected_clients:%d\r\n", len(strings.Fields(first)))
	}
	for list := range strings.SplitSeq(text, " then ") {
		var lines []string
		for _, connection := range strings.Fields(list) {
			f := strings.Split(connection, ":")
			if len(f) == 1 {
				lines = f
				break
			}
			lines = append(lines, fmt.Sprintf("id=%s addr=10.0.0.1:%s name=%s flags=%s cmd=get", f[0], f[1], f[2], f[3]))
		}
		l.lists = append(l.lists, strings.Join(lines, "\n"))
	}
}

func (l *listing) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error {
		if meanwhile := l.before[c.Name()]; meanwhile != nil {
			delete(l.before, c.Name())
			meanwhile()
		}
		switch fmt.Sprint(append(c.Args(), "")[:2]) {
		case "[client list]":
			if c.(*redis.StringCmd).SetVal(l.lists[0]); l.lists[0] == "refused" {
				c.SetErr(errorReply("NOPERM"))
			}
			l.lists = l.lists[min(1, len(l.lists)-1):]
			return c.Err()
		case "[info clients]":
			c.(*redis.StringCmd).SetVal(l.info)
			c.SetErr(l.kill)
			return l.kill
		case "[client kill]":
			c.(*redis.Cmd).SetVal(int64(1))
			c.SetErr(l.kill)
			return l.kill
		default:
			return next(ctx, c)
		}
	}
}

// ProcessPipelineHook prints how waiters are woken.
func (l *listing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, c := range cmds {
			if cmds[0].Name() == "del" {
				l.say("wakes", "%v", c.Args())
			}
		}
		return next(ctx, cmds)
	}
}

// eachScript runs the scripts of one kind of server.
func eachScript(t *testing.T, kind string, f func(t *testing.T, file string)) {
	files := must.Have(filepath.Glob("testdata/script/" + kind + "-*.txt"))(t)
	must.True(t, len(files) > 0, "no scripts")
	for _, file := range files {
		t.Run(strings.TrimSuffix(path.Base(file), ".txt"), func(t *testing.T) { f(t, file) })
	}
}

func TestRedisScripts(t *testing.T) {
	t.Parallel()
	eachScript(t, "redis", func(t *testing.T, file string) {
		t.Run("embedded", func(t *testing.T) { redisScript(t, file, servertest.StartEmbeddedMasters(t, 3)) })
		t.Run("real", func(t *testing.T) {
			redisScript(t, file, []*servertest.Redis{servertest.StartRedis(t), servertest.StartRedis(t), servertest.StartRedis(t)})
		})
	})
}

func redisScript(t *testing.T, file string, servers []*servertest.Redis) {
	clients, three := onServers(t, servers...)
	one := onMaster(t, clients[0], servers[0].Addr)
	one.audit = three.audit
	s := &script{T: t, releaser: one, audit: one.audit, request: ofKey}
	s.values = func(step string) string { return fill(step, "a") }
	var heard *redis.PubSub
	var listings []*listing
	for _, c := range clients {
		listings = append(listings, &listing{say: s.say, before: map[string]func(){}})
		c.AddHook(listings[len(listings)-1])
	}
	s.step = func(verb string, args []string) bool {
		switch verb {
		case "clients":
			for _, l := range listings {
				l.set(strings.Join(args, " "))
			}
		case "kill", "kill2":
			errs := map[string]error{"lost": errLostAnswer, "refused": errorReply("NOPERM")}
			listings[len(verb)-len("kill")].kill = errs[args[0]]
		case "list":
			list, err := one.Connections(t.Context(), must.Have(strconv.Atoi(args[0]))(t))
			s.say("listed", "%s, refused %v: %v", named(list), errors.Is(err, ErrRefused), err)
		case "end":
			s.end(s.releaser.(*Redis), args[0])
		case "masters":
			s.releaser = map[string]Releaser{"1": one, "3": three}[args[0]]
		case "redis":
			for _, c := range clients {
				command(t, c, strings.Join(args, " "))
			}
		case "before":
			listings[0].before[args[0]] = func() { command(t, clients[0], strings.Join(args[1:], " ")) }
		case "redis1", "redis2", "redis3":
			command(t, clients[verb[5]-'1'], strings.Join(args, " "))
		case "deny":
			for _, server := range servers {
				deny(t, server, args...)
			}
		case "deny1", "deny2", "deny3":
			deny(t, servers[verb[4]-'1'], args...)
		case "custom":
			patterns := recipe.Patterns{Lock: args[0], Contender: args[1], Wakes: recipe.Waking{Channel: args[2], Message: args[3]}}
			one.recipes = []recipe.Custom{must.Have(recipe.NewCustom("acme", "redis", "", patterns))(t)}
		case "hear":
			heard = hear(t, clients[0], args...)
		case "heard":
			m := must.Have(heard.ReceiveMessage(t.Context()))(t)
			s.say("heard", "%s on %s", m.Payload, m.Channel)
		case "show":
			var words []any
			for _, word := range args {
				words = append(words, word)
			}
			for i, c := range clients {
				reply, err := c.Do(t.Context(), words...).Result()
				if list, ok := reply.([]any); ok {
					slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
				}
				if err == nil {
					s.say("shows", "%d: %v", i+1, reply)
				}
			}
		default:
			return false
		}
		return true
	}
	var names []string
	for i, server := range servers {
		names = append(names, server.Addr, fmt.Sprint("server", i+1))
	}
	s.run(file, names...)
}

func TestZooKeeperScripts(t *testing.T) {
	t.Parallel()
	eachScript(t, "zookeeper", func(t *testing.T, file string) {
		servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) { zkScript(t, file, server) })
	})
}

func zkScript(t *testing.T, file string, server *servertest.ZooKeeper) {
	sessions := map[string]*zk.Conn{"1": connectZooKeeper(t, server.Addr), "2": connectZooKeeper(t, server.Addr)}
	conn, root := sessions["1"], servertest.UniquePath(t)
	create(t, conn, root, "", 0)
	releaser := onEnsemble(t, conn, server.Addr)
	s := &script{T: t, releaser: releaser, audit: releaser.audit}
	session := fmt.Sprint(conn.SessionID())
	s.values = func(step string) string { return strings.ReplaceAll(fill(step, "a"), "SESSION", session) }
	s.request = func(lock, owner string) Request { return ofNode(root+lock, owner) }
	flags := map[string]int32{"create": 0, "ephemeral": zk.FlagEphemeral, "sequential": sequential}
	s.step = func(verb string, args []string) bool {
		name, data, _ := strings.Cut(strings.Join(args, " "), " ")
		node := root + name
		switch verb {
		case "session":
			conn = sessions[name]
		case "create", "ephemeral", "sequential":
			create(t, conn, node, data, flags[verb])
		case "set":
			must.Have(conn.Set(node, []byte(data), -1))(t)
		case "delete":
			must.Succeed(t, conn.Delete(node, -1))
		case "deny":
			right := map[string]int32{"read": zk.PermRead, "write": zk.PermWrite, "delete": zk.PermDelete}[name]
			must.Have(conn.SetACL(root+data, zk.WorldACL(zk.PermAll&^right), -1))(t)
		case "show":
			data, _, err := conn.Get(node)
			s.say("shows", "%s %v", data, err)
		case "custom":
			patterns := recipe.Patterns{Lock: args[1], Contender: args[2]}
			releaser.recipes = []recipe.Custom{must.Have(recipe.NewCustom("acme", "zookeeper", args[0], patterns))(t)}
		case "recipe":
			d := must.Have(releaser.look(t.Context(), s.request(name, "")))(t)
			s.say("recipe", "%s", d.lock().Recipe)
		case "led":
			for _, l := range Led(s.audit.path) {
				s.say("led", "%s of %s by %#x", l.Name, l.Lock, uint64(l.Session))
			}
		case "children":
			names, _, err := conn.Children(node)
			must.Succeed(t, err)
			slices.Sort(names)
			s.say("shows", "%v", names)
		default:
			return false
		}
		return true
	}
	s.run(file, server.Addr, "server1", root, "", session, "SESSION")
}
