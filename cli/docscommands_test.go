package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
	"github.com/lockscope/lockscope/internal/zkserver"
)

// notRun has the prefixes of documented commands that this test does not run, with the reasons.
var notRun = map[string]string{
	"go run . demo":  "needs a terminal: TestDemoInATerminal runs it",
	"make ":          "runs this test",
	"go build ":      "builds the program that the other lines run",
	"lockscope demo": "needs a terminal: TestDemoInATerminal runs it",
	"sha256sum ":     "checks the output of `make release`",
	"sudo dpkg ":     ".ci/release-try.sh installs the package, into an empty root",
}

// shownCommand is a command line on a page.
type shownCommand struct{ page, line string }

var fence = regexp.MustCompile("(?ms)^( *)```sh\n(.*?)^ *```")

// shownCommands returns the lines of the shell blocks in README.md and docs, without scripts that
// begin with #!.
func shownCommands(t *testing.T) (all []shownCommand) {
	t.Helper()
	pages := must.Have(filepath.Glob("../docs/*.md"))(t)
	for _, page := range append(pages, "../README.md") {
		text := must.Have(os.ReadFile(page))(t)
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(strings.TrimSpace(block[2]), "#!") {
				continue
			}
			for line := range strings.Lines(block[2]) {
				line, _, _ = strings.Cut(line, " #")
				if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
					all = append(all, shownCommand{page, line})
				}
			}
		}
	}
	return all
}

// Readers copy these lines, so each must run. Our own servers replace the named ones.
func TestEveryDocumentedCommandRuns(t *testing.T) {
	servertest.Slow(t)
	if runtime.GOOS == "windows" {
		t.Skip("the lines need a Unix shell")
	}
	t.Parallel()
	path := must.Have(program())(t)
	dir := t.TempDir()
	env := documentedWorld(t, dir, path)
	ran, unused := 0, maps.Clone(notRun)
	delete(unused, "lockscope demo")
	for _, shown := range shownCommands(t) {
		if begins := notRunPrefix(shown.line); begins != "" {
			delete(unused, begins)
			continue
		}
		ran++
		t.Run(filepath.Base(shown.page)+" "+shown.line, func(t *testing.T) { runShown(t, dir, env, shown.line) })
	}
	must.True(t, ran >= 20, "only", ran, "lines ran")
	must.Equal(t, len(unused), 0, "prefixes of notRun that begin no line", unused)
}

func notRunPrefix(line string) string {
	for begins := range notRun {
		if strings.HasPrefix(line, begins) {
			return begins
		}
	}
	return ""
}

// documentedWorld starts servers with the documented data and a configuration with the documented
// profiles. It returns the environment for a shell in dir.
func documentedWorld(t *testing.T, dir, program string) []string {
	t.Helper()
	zookeeper := servertest.StartEmbeddedZooKeeper(t, zkserver.Config{})
	conn := servertest.ConnectZooKeeper(t, zookeeper.Addr, 30*time.Second)
	for _, p := range []string{"/locks", "/locks/orders"} {
		must.Have(conn.Create(p, nil, 0, zk.WorldACL(zk.PermAll)))(t)
	}
	held := must.Have(conn.CreateProtectedEphemeralSequential("/locks/orders/lock-", nil, zk.WorldACL(zk.PermAll)))(t)
	world := map[string]string{"ZK": zookeeper.Addr, "ZKADMIN": zookeeper.Admin, "HOLDER": filepath.Base(held)}
	for i := range 3 {
		server := servertest.StartEmbeddedRedis(t)
		must.Succeed(t, server.Mini.Set("lock:report", documentedValue))
		world[fmt.Sprint("R", i+1)] = server.Addr
	}
	write := func(name, text string, mode os.FileMode) {
		must.Succeed(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must.Succeed(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("config/lockscope/config.yaml", fmt.Sprintf("profiles:\n  prod:\n    read_only: true\n    targets: ['zk://%[1]s/locks', 'redis://%[2]s?match=lock:*']\n"+
		"  prod-acting:\n    targets: [{url: 'zk://%[1]s/locks', username: operator, password: x}, 'redis://%[2]s?match=lock:*']\n", world["ZK"], world["R1"]), 0o600)
	write("deploy.sh", "#!/bin/sh\n", 0o700)
	write("page-oncall", "#!/bin/sh\ncat > /dev/null\n", 0o700)
	write("age", "#!/bin/sh\ngzip -t\n", 0o700) // fails on a truncated recording
	write("webhook-url", "http://127.0.0.1:1/\n", 0o600)
	must.Succeed(t, os.Symlink(program, filepath.Join(dir, "lockscope")))
	env := append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	for name, value := range world {
		env = append(env, "WORLD_"+name+"="+value)
	}
	return env
}

const documentedValue = "Y2NjY2NjY2NjY2NjY2NjYw=="

// shownTargets replaces the pages' server names with variables that hold the servers' addresses.
var shownTargets = strings.NewReplacer(
	"http://zk1:8080,http://zk2:8080,http://zk3:8080", "$WORLD_ZKADMIN", "zk1:2181,zk2:2181,zk3:2181", "$WORLD_ZK", "zk://localhost:2181", "zk://$WORLD_ZK",
	"zk://localhost", "zk://$WORLD_ZK", "redis://r1:6379,r2:6379,r3:6379", "redis://$WORLD_R1,$WORLD_R2,$WORLD_R3", "redis://r1,r2,r3", "redis://$WORLD_R1,$WORLD_R2,$WORLD_R3",
	"redis://r1", "redis://$WORLD_R1", "redis://localhost", "redis://$WORLD_R1", "127.0.0.1:9487", "127.0.0.1:0", "-n 8 --for 30s", "-n 3 --for 1s", "--for 5s", "--for 1s",
	"/usr/local/bin/page-oncall", "page-oncall", "/etc/lockscope/webhook-url", "webhook-url",
	"dev --config config.yaml", "prod",
)

// runShown runs a line to its end. It interrupts commands that watch, and quits the screen.
func runShown(t *testing.T, dir string, env []string, line string) {
	owner := "$WORLD_HOLDER"
	if strings.Contains(line, " redis:") {
		owner = documentedValue
	}
	line = strings.ReplaceAll(shownTargets.Replace(line), "--owner NAME", "--owner "+owner)
	if strings.Contains(line, "$WORLD_") {
		line = strings.ReplaceAll(line, "'", `"`) // the shell must expand the variables
	}
	words := strings.Fields(line)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if strings.Contains(words[1], "://") {
		cmd := exec.CommandContext(ctx, "bash", "-c", "exec "+line)
		cmd.Dir, cmd.Env = dir, env
		r := startInTerminal(t, 120, 30, cmd)
		r.awaitText("locks", "HOLDER", "quit")
		r.keys("q")
		must.Equal(t, r.exit(), 0, "exit code")
		return
	}
	if !strings.Contains(line, "> config.yaml") {
		line = "exec " + line
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", line)
	cmd.Dir, cmd.Env = dir, env
	said := must.Have(cmd.StderrPipe())(t)
	must.Succeed(t, cmd.Start())
	var errors strings.Builder
	for scanner := bufio.NewScanner(said); scanner.Scan(); {
		errors.WriteString(scanner.Text() + "\n")
		if strings.Contains(scanner.Text(), "press Ctrl-C to stop") && words[1] != "bundle" {
			_ = cmd.Process.Signal(os.Interrupt)
		}
	}
	_, _ = io.Copy(io.Discard, said)
	err := cmd.Wait()
	allowed := map[string]int{"doctor": app.ExitNo} // these locks have findings
	if code := cmd.ProcessState.ExitCode(); code != 0 && (code != allowed[words[1]] || code == 0) {
		t.Errorf("%s: exit code %d, %v: %s", line, code, err, errors.String())
	}
}

var profileFence = regexp.MustCompile("(?ms)^( *)```yaml\n( *profiles:.*?)^ *```")

func TestDocumentedProfilesPassConfigCheck(t *testing.T) {
	t.Parallel()
	pages := must.Have(filepath.Glob("../docs/*.md"))(t)
	shown := 0
	for _, page := range pages {
		text := must.Have(os.ReadFile(page))(t)
		for _, block := range profileFence.FindAllStringSubmatch(string(text), -1) {
			shown++
			file := filepath.Join(t.TempDir(), "config.yaml")
			must.Succeed(t, os.WriteFile(file, []byte(block[2]), 0o600))
			run(t, "config", "check", "--config", file).wants(t, 0, "", "")
		}
	}
	must.True(t, shown != 0, "the pages have no profile")
}
