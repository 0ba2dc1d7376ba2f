package foreign

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/servertest"
)

var record = flag.String("record", "", "run this `SCRIPT` in programs and record the data that it writes")

var modules = flag.String("modules", "", "the node_modules `DIRECTORY` with npm's packages; they are installed if not given")

// TestRecord records the data of a program again. Without -record it checks that every script has
// its data.
func TestRecord(t *testing.T) {
	if *record == "" {
		scripts := must.Have(filepath.Glob("programs/*"))(t)
		for _, s := range scripts {
			if strings.HasSuffix(s, ".data") {
				continue
			}
			if _, err := os.Stat(s + ".data"); err != nil {
				t.Errorf("%s was never recorded: %v", s, err)
			}
		}
		return
	}
	p, runIn := readProgram(t, *record), t.TempDir()
	var entries []entry
	var version string
	if p.store == "zookeeper" {
		server := servertest.StartZooKeeper(t)
		program := start(t, p, runIn, server.Addr)
		entries = recordZooKeeper(t, server)
		version = "zookeeper 3.8.0"
		end(t, program)
	} else {
		server := servertest.StartRedis(t)
		program := start(t, p, runIn, server.Addr)
		entries = recordRedis(t, server)
		version = "redis 7.0.15"
		end(t, program)
	}
	if len(entries) == 0 {
		t.Fatal("it wrote nothing")
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# What %s wrote to %s.\n", p.file, version)
	for _, from := range []string{"npm", "debian", "go"} {
		for _, pkg := range p.packages[from] {
			fmt.Fprintf(&text, "# %s %s\n", from, pkg)
		}
	}
	fmt.Fprintf(&text, "at %d\n", time.Now().UnixMilli())
	for _, e := range entries {
		for i, f := range e.fields { // the directory where it ran is private
			for _, place := range []string{runIn, *modules} {
				if place != "" {
					f = strings.ReplaceAll(f, place, "/app")
				}
			}
			e.fields[i] = f
		}
		fmt.Fprintln(&text, e)
	}
	must.Succeed(t, os.WriteFile(filepath.Join("programs", p.file+".data"), []byte(text.String()), 0o644))
}

// javaPath is the class path of the Java programs.
const javaPath = "/usr/share/java/curator-recipes.jar:/usr/share/java/curator-framework.jar:/usr/share/java/curator-client.jar:" +
	"/usr/share/java/curator-discovery.jar:/usr/share/java/zookeeper.jar:/usr/share/java/zookeeper-jute.jar:/usr/share/java/guava.jar:" +
	"/usr/share/java/slf4j-api.jar:/usr/share/java/slf4j-nop.jar:/usr/share/java/jackson-databind.jar:/usr/share/java/jackson-core.jar:" +
	"/usr/share/java/jackson-annotations.jar"

// running is a program that has written its data and still holds its locks.
type running struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// start runs a program until it reports that it is ready. It gets the server's address as its
// argument.
func start(t *testing.T, p program, dir, addr string) running {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := command(ctx, t, p, dir, addr)
	cmd.Stderr = os.Stderr
	in := must.Have(cmd.StdinPipe())(t)
	out := must.Have(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			return running{cmd, in}
		}
		t.Log(lines.Text())
	}
	t.Fatalf("it ended and was never ready: %v", cmd.Wait())
	return running{}
}

// command returns the command that runs a program in its own directory, after fetching or building
// what it needs there.
func command(ctx context.Context, t *testing.T, p program, dir, addr string) *exec.Cmd {
	t.Helper()
	file := must.Have(filepath.Abs(filepath.Join("programs", p.file)))(t)
	sh := func(name string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	switch filepath.Ext(p.file) {
	case ".js":
		source := must.Have(os.ReadFile(file))(t) // it looks for its packages relative to its folder
		must.Succeed(t, os.WriteFile(filepath.Join(dir, p.file), source, 0o600))
		if *modules == "" {
			sh("npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "--legacy-peer-deps"}, p.packages["npm"]...)...)
		} else if err := os.Symlink(*modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		return exec.CommandContext(ctx, "node", filepath.Join(dir, p.file), addr)
	case ".py":
		return exec.CommandContext(ctx, "/usr/bin/python3", "-P", file, addr)
	case ".rb":
		return exec.CommandContext(ctx, "ruby", file, addr)
	case ".php":
		return exec.CommandContext(ctx, "php", file, addr)
	case ".java":
		return exec.CommandContext(ctx, "java", "-cp", javaPath, file, addr)
	case ".gosrc": // not .go, since this module lacks its imports
		source := must.Have(os.ReadFile(file))(t)
		must.Succeed(t, os.WriteFile(filepath.Join(dir, "main.go"), source, 0o600))
		sh("go", "mod", "init", "foreign")
		sh("go", append([]string{"get"}, p.packages["go"]...)...)
		sh("go", "mod", "tidy")
		sh("go", "build", "-o", "program", ".")
		return exec.CommandContext(ctx, filepath.Join(dir, "program"), addr)
	default:
		t.Fatalf("%s: unknown kind of script", p.file)
		return nil
	}
}

func end(t *testing.T, r running) {
	t.Helper()
	r.in.Close()
	r.cmd.Process.Kill()
	r.cmd.Wait()
}

// recognised lists the programs for which we have a recipe.
var recognised = []string{"bull.js", "ioredis-lock.js", "redis-semaphore.js", "rq.py", "kazoo.py"}

// At least fifteen programs without a recipe of ours are really run, and their data is replayed.
func TestFifteenForeignProgramsAreReplayed(t *testing.T) {
	var ran []string
	for _, p := range append(programs(t, "redis"), programs(t, "zookeeper")...) {
		if len(p.packages) > 0 && !slices.Contains(recognised, p.file) {
			ran = append(ran, p.file)
		}
	}
	if len(ran) < 15 {
		t.Errorf("only %d: %v", len(ran), ran)
	}
}
