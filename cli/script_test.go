package cli

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// tour is a recording of the demonstration.
const tour = "../screenshots/tour.jsonl.gz"

// Each page of testdata/script is a shell session; its README lists the commands. All pages run on
// embedded servers. Those that start servers also run on real ones if installed; with `require`
// only there, since `make test-all` runs the others separately.
func TestPages(t *testing.T) {
	t.Parallel()
	pages := must.Have(filepath.Glob("testdata/script/*.txtar"))(t)
	servertest.EachZooKeeper(t, func(t *testing.T, server *servertest.ZooKeeper) {
		t.Parallel()
		testscript.Run(t, pageParams(server, pages))
	})
}

var startsServers = regexp.MustCompile(`(?m)^(zookeeper|redis)\b`)

func pageParams(server *servertest.ZooKeeper, pages []string) testscript.Params {
	params := testscript.Params{
		Cmds: pageCommands(),
		Condition: func(name string) (bool, error) {
			if name != "real" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return server.Real, nil
		},
		Setup: func(env *testscript.Env) error {
			program, err := program()
			env.Values[pageKey{}] = newPage(env.T().(testing.TB), server)
			env.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("HERE", must.Have(os.Getwd())(env.T().(testing.TB)))
			env.Setenv("TOUR", tour)
			env.Setenv("KAZOO", "0c4f1b2e9d8a4f6fb1f0a7c3d5e60718__lock__")
			for client, letter := range map[string]string{"CLIENT_A": "a", "CLIENT_B": "b", "CLIENT_C": "c"} {
				env.Setenv(client, base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 16))))
			}
			return err
		},
	}
	onlyReal := os.Getenv("LOCKSCOPE_REAL") == "require" || server.Real
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if starts := startsServers.Match(text); err != nil || !starts && !server.Real || starts && server.Real == onlyReal {
			params.Files = append(params.Files, page)
		}
	}
	return params
}

// page is a running page, with everything that its commands have started.
type page struct {
	ts       *testscript.TestScript
	tb       testing.TB
	server   *servertest.ZooKeeper
	masters  map[string]*servertest.Redis
	clients  map[string]*redis.Client
	sessions map[string]*zk.Conn
	peers    map[string]*servertest.Peer
	clocks   map[string]*servertest.Clock
	running  map[string]*background
}

type pageKey struct{}

func newPage(tb testing.TB, server *servertest.ZooKeeper) *page {
	return &page{
		tb: tb, server: server,
		masters: map[string]*servertest.Redis{}, clients: map[string]*redis.Client{}, sessions: map[string]*zk.Conn{},
		peers: map[string]*servertest.Peer{}, clocks: map[string]*servertest.Clock{}, running: map[string]*background{},
	}
}

func pageCommands() map[string]func(ts *testscript.TestScript, neg bool, args []string) {
	commands := map[string]func(ts *testscript.TestScript, neg bool, args []string){}
	for name, do := range map[string]struct {
		least int // minimum number of arguments
		run   func(p *page, args []string)
	}{
		"zookeeper": {0, (*page).zookeeper}, "redis": {0, (*page).redis}, "cluster": {0, (*page).cluster},
		"stop": {1, (*page).stop}, "restart": {1, (*page).restart},
		"crash": {1, (*page).crash},
		"clock": {1, (*page).clock}, "node": {1, (*page).node}, "rmnode": {1, (*page).rmnode},
		"join": {2, (*page).join}, "watches": {2, (*page).watches}, "end": {1, (*page).end},
		"lease": {2, (*page).lease}, "queue": {2, (*page).queue}, "hoard": {3, (*page).hoard},
		"settle": {2, (*page).settle}, "restrict": {2, (*page).restrict},
		"ahead": {2, (*page).ahead}, "granted": {2, (*page).granted},
		"balancer": {2, (*page).balancer}, "twemproxy": {2, (*page).twemproxy},
		"login": {2, (*page).login}, "peer": {2, (*page).peer},
		"expect": {2, (*page).expect}, "tell": {1, (*page).tell},
		"exits": {2, (*page).exits}, "until": {2, (*page).until},
		"start": {2, (*page).start}, "await": {2, (*page).await}, "type": {2, (*page).typed}, "signal": {2, (*page).signal},
		"ended": {2, (*page).ended},
		"let":   {2, (*page).let}, "capture": {2, (*page).capture}, "valid": {1, (*page).valid}, "sorted": {1, (*page).sorted},
		"refused": {1, (*page).refused}, "expand": {1, (*page).expand},
	} {
		commands[name] = onPage(func(p *page, neg bool, args []string) {
			if neg || len(args) < do.least {
				p.ts.Fatalf("%s: it cannot be negated, and needs %d arguments", name, do.least)
			}
			do.run(p, args)
		})
	}
	for name := range pageOutcomes() {
		commands[name] = onPage(func(p *page, neg bool, args []string) {
			if neg {
				p.ts.Fatalf("say which exit code: exits 1 %s …", name)
			}
			p.exits(append([]string{"0", name}, args...))
		})
	}
	commands["json"] = onPage((*page).json)
	return commands
}

func onPage(run func(p *page, neg bool, args []string)) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		p := ts.Value(pageKey{}).(*page)
		p.ts = ts
		run(p, neg, args)
	}
}

// pageOutcomes are commands with output and an exit code, for exits and until.
func pageOutcomes() map[string]func(p *page, args []string) outcome {
	return map[string]func(p *page, args []string) outcome{
		"lockscope": (*page).lockscope, "advised": (*page).advised, "redis-cli": (*page).redisCLI,
		"children": (*page).children,
		"acl":      (*page).acl, "four-letters": (*page).fourLetters, "get": (*page).get, "cat": (*page).cat,
	}
}

// lockscope runs the program in this process.
func (p *page) lockscope(args []string) outcome {
	var stdout, stderr output
	environment := writingTo(&stdout, &stderr, nil)
	environment.Getenv = p.ts.Getenv
	code := Main(p.tb.Context(), args, environment)
	return outcome{code, stdout.String(), stderr.String()}
}

// advised runs the last printed lockscope command as a shell would, with more arguments.
func (p *page) advised(more []string) outcome {
	commands := advisedCommand.FindAllString(p.ts.ReadFile("stdout")+p.ts.ReadFile("stderr"), -1)
	if len(commands) == 0 {
		p.ts.Fatalf("no lockscope command was printed")
	}
	return p.lockscope(append(wordsOf(p.tb, strings.TrimSuffix(commands[len(commands)-1], ")")), more...))
}

var advisedCommand = regexp.MustCompile(`lockscope (release|ttl|ask|sweep|acquire|kill-client) .*`)

func (p *page) once(args []string) outcome {
	do := pageOutcomes()[args[0]]
	if do == nil {
		p.ts.Fatalf("unknown command %q", args[0])
	}
	return do(p, args[1:])
}

func (p *page) print(got outcome) {
	fmt.Fprint(p.ts.Stdout(), got.stdout)
	fmt.Fprint(p.ts.Stderr(), got.stderr)
}

// exits CODE COMMAND…
func (p *page) exits(args []string) {
	got := p.once(args[1:])
	p.print(got)
	if fmt.Sprint(got.code) != args[0] {
		p.ts.Fatalf("exit code %d, want %s", got.code, args[0])
	}
}

// until PATTERN COMMAND… repeats the command until it prints the pattern.
func (p *page) until(args []string) {
	wanted := p.pattern(args[0])
	for limit := time.Now().Add(pageLimit); ; time.Sleep(2 * time.Millisecond) {
		got := p.once(args[1:])
		if wanted.MatchString(got.stdout + got.stderr) {
			p.print(got)
			return
		}
		if time.Now().After(limit) {
			p.print(got)
			p.ts.Fatalf("%q was not printed within %v", args[0], pageLimit)
		}
	}
}

// pageLimit bounds each wait, with room for a busy machine.
const pageLimit = time.Minute

func (p *page) pattern(text string) *regexp.Regexp {
	pattern, err := regexp.Compile("(?m)" + text)
	p.ts.Check(err)
	return pattern
}

func (p *page) cat(args []string) outcome {
	text, err := os.ReadFile(p.ts.MkAbs(args[0]))
	if err != nil {
		return outcome{1, "", err.Error() + "\n"}
	}
	return outcome{0, string(text), ""}
}

// expand FILE… replaces variables in files of the page.
func (p *page) expand(files []string) {
	for _, file := range files {
		text := os.Expand(p.ts.ReadFile(file), p.ts.Getenv)
		p.ts.Check(os.WriteFile(p.ts.MkAbs(file), []byte(text), 0o600))
	}
}

// refused FILE [CODE] runs each line ARGUMENTS => TEXT. It must exit with code 2, or CODE, and
// print one line with the text.
func (p *page) refused(args []string) {
	code := app.ExitUsage
	if len(args) > 1 {
		code, _ = strconv.Atoi(args[1])
	}
	for line := range strings.Lines(p.ts.ReadFile(args[0])) {
		words, says, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=> ")
		got := p.lockscope(strings.Fields(os.Expand(words, p.ts.Getenv)))
		if got.code != code || !strings.Contains(got.stderr, says) || got.stdout != "" {
			p.ts.Fatalf("lockscope %s: %+v, want exit code %d and %q", words, got, code, says)
		}
		oneLine := strings.HasPrefix(got.stderr, "lockscope: ") && strings.Count(got.stderr, "\n") == 1
		if !oneLine || strings.Contains(got.stderr, "secret") {
			p.ts.Fatalf("lockscope %s: not one line without the password: %q", words, got.stderr)
		}
	}
}
