package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// TestReadings plays the scripts in testdata/readings; its README explains them. Each section begins
// with the lines before the first section.
func TestReadings(t *testing.T) {
	paths := must.Have(filepath.Glob("testdata/readings/*.txt"))(t)
	must.True(t, len(paths) > 0, "no readings")
	for _, path := range paths {
		sections := strings.Split(string(must.Have(os.ReadFile(path))(t)), "\n== ")
		for _, section := range sections[1:] {
			title, script, _ := strings.Cut(section, "\n")
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt")+"/"+title, func(t *testing.T) {
				t.Parallel()
				r := &scripted{t: t, clock: first, server: servertest.StartEmbeddedRedis(t), replies: map[string]string{}}
				r.server.Mini.Server().SetPreHook(r.answer)
				r.Master = New("m0", at(r.server.Addr), Settings{Timeout: 10 * time.Second, Now: r.now})
				t.Cleanup(r.Close)
				r.play(sections[0])
				r.play(script)
			})
		}
	}
}

// scripted is a master on an embedded server that gives some scripted replies. Its clock stands
// still.
type scripted struct {
	*Master
	t       *testing.T
	server  *servertest.Redis
	mu      sync.Mutex
	clock   time.Time
	replies map[string]string // by the beginning of a command
	sent    []string
}

func (r *scripted) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clock
}

// answer notes a command, and gives the scripted reply to it. TIME is our clock's.
func (r *scripted) answer(c *server.Peer, cmd string, args ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	command := strings.ToLower(strings.Join(append([]string{cmd}, args...), " "))
	r.sent = append(r.sent, command)
	for begin, reply := range r.replies {
		if command != begin && !strings.HasPrefix(command, begin+" ") {
			continue
		}
		reply, then, more := strings.Cut(reply, " | ")
		if more {
			r.replies[begin] = then
		}
		switch kind, text := reply[0], reply[1:]; kind {
		case '-':
			c.WriteError(text)
		case ':':
			var n int
			fmt.Sscan(text, &n)
			c.WriteInt(n)
		case '$':
			c.WriteBulk(text)
		case '*':
			c.WriteStrings(strings.Fields(text))
		default:
			c.WriteBulk(strings.ReplaceAll(reply, " ", "\r\n"))
		}
		return true
	}
	if command == "time" {
		c.WriteStrings([]string{fmt.Sprint(r.clock.Unix()), "0"})
		return true
	}
	return false
}

func (r *scripted) reply(command, reply string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replies[command] = reply
}

func (r *scripted) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock = r.clock.Add(d)
}

// drain returns the commands that were sent since the last call.
func (r *scripted) drain() (sent []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent, r.sent = r.sent, nil
	return sent
}

// play plays lines of a script.
func (r *scripted) play(script string) {
	r.t.Helper()
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		subject, want, check := strings.Cut(line+" ", ": ")
		command, reply, answers := strings.Cut(line, " > ")
		switch {
		case line == "" || line[0] == '#':
		case answers:
			r.reply(command, reply)
		case words[0] == "deny":
			for _, word := range words[1:] {
				name := strings.ReplaceAll(word, "|", " ")
				r.reply(name, "-NOPERM User viewer has no permissions to run the '"+word+"' command")
			}
		case words[0] == "wait":
			r.advance(must.Have(time.ParseDuration(words[1]))(r.t))
		case line == "cluster":
			joinAlone(r.t, r.Master, at(r.server.Addr))
		case check:
			got := strings.TrimSpace(r.shown(strings.Fields(subject)))
			must.Equal(r.t, got, strings.TrimSpace(want), subject)
		default:
			var args []any
			for _, word := range words {
				if d, err := time.ParseDuration(word); err == nil && strings.HasSuffix(word, "s") {
					word = fmt.Sprint(first.Add(d).UnixMilli())
				}
				if text, n, ok := strings.Cut(word, "*"); ok {
					word = strings.Repeat(text, must.Have(strconv.Atoi(n))(r.t))
				}
				args = append(args, strings.Trim(word, `"`))
			}
			must.Succeed(r.t, r.server.Client(r.t).Do(r.t.Context(), args...).Err())
			r.drain()
		}
	}
}

// shown is what a read shows about a subject.
func (r *scripted) shown(subject []string) string {
	ctx := r.t.Context()
	switch subject[0] {
	case "vote":
		votes, err := r.Votes(ctx, subject[1:])
		if err != nil {
			return "error: " + err.Error()
		}
		var texts []string
		for _, v := range votes {
			texts = append(texts, shownVote(v))
		}
		return strings.Join(texts, "; ")
	case "sent":
		return strings.Join(r.drain(), "; ")
	case "status":
		st, err := r.ReadStatus(ctx)
		if err != nil {
			return "error: " + err.Error()
		}
		st.Latency, st.ClockWithin = 0, 0
		return fmt.Sprintf("%q %s, clock %v %v, cluster %v, writes %q, clients %v%s", st.Role, st.Version,
			st.ClockOffset, st.ClockKnown, st.Cluster, st.WritesRefused, st.Clients, shownUnseen(st.Unseen))
	case "pass":
		s := NewScanner(r.Master, subject[1:], NewMatcher(subject[1:], nil), ScanLimits{Unlimited: true, Keys: 2}, nil)
		var found []string
		unsought, err := s.Pass(ctx, func(keys []string) { found = append(found, keys...) })
		text := fmt.Sprint(strings.Join(found, " "), " of ", s.Keys())
		if unsought != nil {
			text += shownUnseen([]inspect.Unseen{*unsought})
		}
		if err != nil {
			text += " error: " + err.Error()
		}
		return text
	case "gone":
		keys, err := r.Gone(ctx, subject[1:])
		return fmt.Sprint(keys, err)
	case "joined":
		return fmt.Sprint(r.Joined(ctx))
	case "traffic":
		return fmt.Sprint(r.Traffic())
	case "locks":
		return fmt.Sprint(r.LockKeys(subject[1:]))
	case "cost":
		return fmt.Sprint(r.Cost(subject[1]))
	case "several":
		return fmt.Sprint(r.SeveralServers(ctx, subject[1]))
	case "slots":
		slots, err := r.ClusterSlots(ctx)
		return fmt.Sprint(len(slots), " ", err)
	case "tracking":
		return r.tracking(subject[1:])
	case "key", "cluster-key": // as by the caller's client
		options := at(r.server.Addr)
		options.MaxRetries, options.IsClusterMode = -1, subject[0] == "cluster-key"
		c := redis.NewUniversalClient(&options)
		defer c.Close()
		v, err := ReadKey(ctx, r.now, c, "m0", subject[1], 10*time.Second)
		return fmt.Sprint(shownVote(v), " ", err)
	}
	r.t.Fatalf("unknown subject %q", subject)
	return ""
}

// tracking shows the first report of a pusher.
func (r *scripted) tracking(prefixes []string) (text string) {
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	p := &Pusher{Master: r.Master, Prefixes: prefixes, Heard: func(time.Time) {}, Late: func() {}}
	p.Run(ctx, func(armed bool, refused *inspect.Unseen) {
		if ctx.Err() == nil {
			text = fmt.Sprint("armed ", armed)
		}
		if refused != nil {
			text += shownUnseen([]inspect.Unseen{*refused})
		}
		cancel()
	})
	return text
}

func shownVote(v inspect.Vote) string {
	text := fmt.Sprintf("up %v, present %v, %q", v.Up, v.Present, v.Value.Cut(40))
	if v.Error != "" {
		text += ", error " + v.Error
	}
	if v.Foreign {
		text += ", foreign"
	}
	if v.Digest != "" {
		text += ", " + v.Digest[:14]
	}
	if v.NoExpiry {
		text += ", forever"
	}
	if !v.ExpiresAt.IsZero() {
		text += fmt.Sprint(", ends in ", v.ExpiresAt.Sub(first).Round(time.Minute))
	}
	if v.Held != nil {
		text += fmt.Sprintf(", %s aux %v doubtful %v", v.Held.Recipe, v.Held.Auxiliary, v.Held.Doubtful)
		for _, c := range v.Held.Claims {
			text += fmt.Sprintf(" %.12s", c.Name)
			if c.Waiting {
				text += "<"
			}
			if c.Dead {
				text += "!"
			}
		}
	}
	return text + shownUnseen(v.Unseen)
}

func shownUnseen(list []inspect.Unseen) (text string) {
	for _, u := range list {
		text += fmt.Sprintf("; unseen %s, %s, %s: %s [%s]", u.Aspect, u.Where, u.Read, inspect.Escape(u.Reason), u.Right)
	}
	return text
}
