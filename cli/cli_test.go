package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

// programName is the name under which the test binary is the program.
const programName = "lockscope"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == programName {
		os.Exit(Main(context.Background(), os.Args[1:], app.OS()))
	}
	servertest.Main(m)
}

// outcome of a run of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// wants demands an exit code, and a text of what was printed; empty: any.
func (o outcome) wants(t *testing.T, code int, stdout, stderr string) {
	t.Helper()
	if o.code != code || !strings.Contains(o.stdout, stdout) || !strings.Contains(o.stderr, stderr) {
		t.Errorf("want %d, %q and %q: %+v", code, stdout, stderr, o)
	}
}

// run runs one command line in this process, with its own empty home.
func run(t *testing.T, args ...string) outcome {
	t.Helper()
	return runIn(t, t.Context(), map[string]string{"XDG_STATE_HOME": t.TempDir(), "XDG_CONFIG_HOME": t.TempDir()}, args...)
}

func runIn(t *testing.T, ctx context.Context, env map[string]string, args ...string) outcome {
	t.Helper()
	var stdout, stderr output
	code := Main(ctx, args, app.Environment{
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return env[name] }, Now: time.Now,
	})
	return outcome{code, stdout.String(), stderr.String()}
}

// output is a buffer that the program and a command that it runs may write to at once.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// badUses are wrong command lines, each with its error.
var badUses = []struct{ args, says string }{
	{"", "lockscope demo"},
	{"ls", "no target given"},
	{"ls -p nope", "config"},
	{"ls ftp://x", "zk://host:2181"},
	{"ls redis://h --via bastion", "ssh://[user@]host[:port]"},
	{"ls redis+unix:///s --via ssh://bastion", "socket of this host"},
	{"ls zk://h?via=ssh://-x", "ssh://[user@]host[:port]"},
	{"ls demo", "lockscope demo --headless"},
	{"show zk:/a demo", "lockscope demo"},
	{"ls none.jsonl", "none.jsonl"},
	{"watch ../screenshots/tour.jsonl.gz", "lockscope replay"},
	{"ls zk://h ../screenshots/tour.jsonl.gz", "one at a time"},
	{"ls ../cli/cli_test.go", "lockscope record"},
	{"replay none.jsonl", "none.jsonl: there is no such file (make one with: lockscope record"},
	{"replay zk://h", "there is no such file"},
	{"replay testdata", "lockscope record"},
	{"ls redis://user:secret@host", "LOCKSCOPE_REDIS_PASSWORD"},
	{"ls redis://h?color=red", `option "color" is unknown`},
	{"ls zk://h?match=x", `option "match" is unknown`},
	{"ls redis://h:0", "port"},
	{"ls redis://h,h", "twice"},
	{"ls redis://h?ca=x", "rediss://"},
	{"ls zk://h -o yaml", "table, wide, json, csv"},
	{"ls zk://h --budget fast", "default, gentle or off"},
	{"ls zk://h --timeout 0s", "--timeout"},
	{"ls --nonsense", "unknown flag"},
	{"ls zk://h --sort size", "finding, held, queue, wait, grants"},
	{"ls zk://h --sort grants", "lockscope record FILE"},
	{"ls zk://h --sort held -o json", "jq"},
	{"orders", "neither a command nor a target"},
	{"../screenshots/tour.jsonl.gz", "lockscope replay ../screenshots/tour.jsonl.gz"},
	{"show", "lockscope: show needs a LOCK"},
	{"diff a", "diff needs two recordings"},
	{"diff none.jsonl none.jsonl", "there is no such file"},
	{"diff ../screenshots/tour.jsonl.gz@x ../screenshots/tour.jsonl.gz", "such as 90s"},
	{"help nonsense", `there is no command "nonsense" (see lockscope --help)`},
	{"completion tcsh", `completion has no command "tcsh" (did you mean`},
	{"help lss", "(did you mean ls? see lockscope --help)"},
	{"help config chek", "(did you mean check? see lockscope config --help)"},
	{"config chek", "did you mean check?"},
	{"lss", `"lss" is neither a command nor a target (did you mean ls? see lockscope --help)`},
	{"lss zk://h", "did you mean ls?"},
	{"lss zk://h -o json", "did you mean ls?"},
	{"rel", "did you mean release?"},
	{"show orders zk://h", "BACKEND:PATH"},
	{"show zk2:/a zk://h", `"zk2"`},
	{`show zk:/a\q zk://h`, "backslash"},
	{"release zk:/a zk://h", "--owner"},
	{"acquire zk:/a zk://h --kind fair", "--kind"},
	{"acquire redis:a redis://h --wait -1s", "--wait"},
	{"acquire redis:a redis://h --ttl 1ms", "--ttl"},
	{"acquire zk:/a zk://h --ttl 20s", "--ttl"},
	{"contend zk:/a zk://h --ttl 20s", "--ttl"},
	{"acquire redis:a redis://h --acl world:anyone:r", "--acl"},
	{"acquire zk:/a zk://h --acl world:anyone", "--acl"},
	{"acquire redis:a redis://h --recipe kazoo", "--recipe"},
	{"acquire zk:/a zk://h --recipe nope", "--recipe"},
	{"acquire zk:/a zk://h --kind read --recipe go-zookeeper", "curator, kazoo"},
	{"acquire zk:/a zk://h --recipe madelson", "--kind mutex takes curator, kazoo, go-zookeeper, sequential"},
	{"acquire zk:/a zk://h --kind write --recipe sequential --prefix x-", "--prefix"},
	{"acquire zk:/a zk://h --kind read,write", "mutex, read, write"},
	{"acquire zk:/a zk://h --prefix x", "--prefix"},
	{"demo nope", "fair"},
	{"demo fair redlock", "one scenario"},
	{"--linear", "no target given"},
	{"--linear --write zk://h", "leave out --write"},
	{"demo --linear --headless", "not both"},
	{"config nope", "config"},
	{"version x", "no arguments"},
	{"zk://127.0.0.1:1", "terminal"},
}

func TestBadUseIsOneLineAndExitCode2(t *testing.T) {
	t.Parallel()
	for _, tt := range badUses {
		got := run(t, strings.Fields(tt.args)...)
		if got.code != 2 || !strings.Contains(got.stderr, tt.says) || got.stdout != "" {
			t.Errorf("lockscope %s: code %d, says %q, prints %q; want 2 and %q", tt.args, got.code, got.stderr, got.stdout, tt.says)
		}
		if !strings.HasPrefix(got.stderr, "lockscope: ") || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("lockscope %s: not one line: %q", tt.args, got.stderr)
		}
		if strings.Contains(got.stderr, "secret") {
			t.Errorf("lockscope %s tells the password: %q", tt.args, got.stderr)
		}
	}
}

func TestServersThatDoNotAnswerAreExitCode3(t *testing.T) {
	t.Parallel()
	run(t, "acquire", "redis:a", "redis://127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", "--wait", "0").wants(t, 3, "", "")
	const check = " (check the address, and that the server runs)\n"
	for args, want := range map[string]string{
		"ls zk://127.0.0.1:1":                                             "backend zk is down: zookeeper 127.0.0.1:1: connection refused",
		"ls redis://127.0.0.1:1":                                          "backend redis is down: master 127.0.0.1:1: connection refused",
		"doctor zk://127.0.0.1:1":                                         "backend zk is down: zookeeper 127.0.0.1:1: connection refused",
		"show zk:/a zk://127.0.0.1:1":                                     "backend zk is down: zookeeper 127.0.0.1:1: connection refused",
		"acquire zk:/a zk://127.0.0.1:1":                                  "no session with zookeeper 127.0.0.1:1: connection refused",
		"acquire redis:a redis://127.0.0.1:1":                             "redis: 127.0.0.1:1: connection refused",
		"release zk:/a zk://127.0.0.1:1 --owner x --yes":                  "zk:/a: server could not be asked: no session with zookeeper 127.0.0.1:1: connection refused",
		"release redis:a redis://127.0.0.1:1 --owner x --yes":             "redis:a: server could not be asked: master 127.0.0.1:1: connection refused",
		"contend zk:/a zk://127.0.0.1:1 -n 2":                             "zk:/a: no session with zookeeper 127.0.0.1:1: connection refused",
		"contend redis:a redis://127.0.0.1:1 -n 2":                        "redis:a: redis a: 127.0.0.1:1: connection refused",
		"ls redis://127.0.0.1:1,127.0.0.1:2 --timeout 1s":                 "backend redis is down: master 127.0.0.1:1: connection refused; master 127.0.0.1:2: connection refused",
		"acquire redis:a redis://no-such-host.invalid --wait 0 --ttl 20s": "redis: no-such-host.invalid:6379: there is no such host",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			got := run(t, append(strings.Fields(args), "--timeout", "1s")...)
			if got.code != 3 || got.stderr != "lockscope: "+want+check {
				t.Errorf("code %d, says\n%s, want\n%s", got.code, got.stderr, "lockscope: "+want+check)
			}
			if strings.HasPrefix(args, "doctor") && got.stdout != "nothing could be seen\n" || strings.HasPrefix(args, "ls") && got.stdout != "" {
				t.Errorf("prints %q", got.stdout)
			}
		})
	}
	got := run(t, "ls", "-o", "json", "redis://127.0.0.1:1", "--timeout", "1s")
	if s := parse(t, got.stdout); got.code != 3 || s.Backends[0].State != "down" || s.Backends[0].Error == "" {
		t.Errorf("what was read is not printed: %+v", got)
	}
}

// A server that answers and refuses us is there: the advice is about the login, and nothing else.
func TestARefusedLoginSaysWhatToCheck(t *testing.T) {
	t.Parallel()
	server := servertest.StartEmbeddedRedis(t)
	server.Mini.RequireAuth("secret")
	for _, command := range []string{"ls", "doctor"} {
		got := run(t, command, "redis://"+server.Addr)
		if got.code != 3 || strings.Count(got.stderr, "(") != 1 || !strings.HasSuffix(got.stderr, " (check the profile's username and password_file, password_command or password, or LOCKSCOPE_REDIS_USERNAME and LOCKSCOPE_REDIS_PASSWORD)\n") {
			t.Errorf("%s: %+v", command, got)
		}
	}
}

func TestProfiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	path := filepath.Join(home, "lockscope", "config.yaml")
	write := func(text string) {
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	env := map[string]string{"XDG_CONFIG_HOME": home, "XDG_STATE_HOME": t.TempDir()}
	server := servertest.StartEmbeddedRedis(t)
	write("default: dev\nprofiles:\n  dev:\n    read_only: true\n    targets: [redis://" + server.Addr + "]\n")
	runIn(t, t.Context(), env, "ls", "-o", "json").wants(t, 0, "", "")
	runIn(t, t.Context(), env, "acquire", "redis:lock:a", "--wait", "0").wants(t, 1, "", "read_only")
	runIn(t, t.Context(), env, "release", "redis:lock:a", "--owner", "x", "--yes", "-o", "json").wants(t, 1, `"reason": "read-only"`, "")
	redisDo(t, server.Addr, "SET", "lock:free", "x", "PX", "600000")
	if got := runIn(t, t.Context(), env, "doctor"); strings.Contains(got.stdout, "read_only") {
		t.Errorf("nothing is advised that changes anything: %+v", got)
	}
	redisDo(t, server.Addr, "SET", "lock:orders", "Y2NjY2NjY2NjY2NjY2NjYw==")
	if got := runIn(t, t.Context(), env, "doctor"); !strings.Contains(got.stdout, "lockscope ttl") ||
		!strings.HasSuffix(got.stdout, "profile \"dev\" is read_only and refuses lockscope ttl: that needs another profile (-p NAME)\n") {
		t.Errorf("a TTL is advised: %+v", got)
	}
	for _, args := range [][]string{{"release", "redis:lock:orders"}, {"ttl", "redis:lock:orders", "--set", "1m"}} {
		args = append(args, "--owner", "Y2NjY2NjY2NjY2NjY2NjYw==", "--dry-run")
		if got := runIn(t, t.Context(), env, args...); got.code != 0 || !strings.Contains(got.stdout, "sends") || server.Mini.TTL("lock:orders") != 0 || !server.Mini.Exists("lock:orders") {
			t.Errorf("a dry run changes nothing, and is allowed: %+v", got)
		}
	}
	runIn(t, t.Context(), env, "config", "check").wants(t, 0, "dev", "")
	for _, bad := range []string{
		"default: none\n", "profiles: {a: {targets: []}}\n", "profiles: {a: {targets: ['ftp://x']}}\n", "colour: red\n",
		"profiles: {a: {targets: ['redis://x'], environment: moon}}\n", "{", "profiles: {a: {targets: ['redis://u:secret@x']}}\n",
	} {
		write(bad)
		if got := runIn(t, t.Context(), env, "config", "check"); got.code != 2 || strings.Count(got.stderr, "\n") != 1 || strings.Contains(got.stderr, "secret") {
			t.Errorf("%q: %+v", bad, got)
		}
	}
	write(strings.ReplaceAll(run(t, "config", "example").stdout, "~/.config", home))
	runIn(t, t.Context(), env, "config", "check").wants(t, 0, "", "")
}

// snapshot is as much of the contract's JSON as the tests look at.
type snapshot struct {
	Backends []struct {
		Name, State, Error, Mode string
		Findings                 []reportedFinding
		Servers                  []struct{ Addr, State, Role string }
	}
	Locks []lock
}

type lock struct {
	ID, Kind, Recipe, State string
	Confidence              string `json:"recipe_confidence"`
	Holders, Waiters        []contender
	Findings                []reportedFinding
	Masters                 []struct {
		Addr, State, Value string
		Vote               bool
		TTL                *int64 `json:"ttl_ms"`
	}
	Quorum, Margin *int
	Validity       *int64 `json:"validity_ms"`
}

type contender struct {
	Name, State string
	Sequence    *int
	Owner       struct{ Label, Session, Client, Host string }
	Age         *int64  `json:"age_ms"`
	Watches     *string `json:"watches"`
	Confirmed   *bool   `json:"watch_confirmed"`
	Blocked     int     `json:"blocked_below"`
	TTL         *int64  `json:"ttl_ms"`
}

// parse checks a snapshot against the contract's schema and reads it.
func parse(t *testing.T, text string) snapshot {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema := must.Have(compiler.Compile("../docs/snapshot.schema.json"))(t)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("the contract's schema says: %v\n%s", err, text)
	}
	var s snapshot
	must.Succeed(t, json.Unmarshal([]byte(text), &s))
	return s
}

func (s snapshot) lock(t *testing.T, id string) lock {
	t.Helper()
	for _, l := range s.Locks {
		if l.ID == id {
			return l
		}
	}
	t.Fatalf("%s is not among the %d locks", id, len(s.Locks))
	return lock{}
}
