package foreign

import (
	"bufio"
	"context"
	"flag"
	"fmt"
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
		start(t, p, runIn, server.Addr)
		entries = recordZooKeeper(t, server)
		version = "zookeeper 3.8.0"
	} else {
		server := servertest.StartRedis(t)
		start(t, p, runIn, server.Addr)
		entries = recordRedis(t, server)
		version = "redis 7.0.15"
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

// start runs a program in a directory until it reports that it is ready. It ends with the test, and
// still holds its locks.
func start(t *testing.T, p program, dir, addr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	script, file := must.Have(filepath.Abs("run.sh"))(t), must.Have(filepath.Abs("programs/"+p.file))(t)
	packages := slices.Concat(p.packages["npm"], p.packages["go"])
	cmd := exec.CommandContext(ctx, script, append([]string{file, addr}, packages...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "MODULES="+*modules)
	in := must.Have(cmd.StdinPipe())(t)
	out := must.Have(cmd.StdoutPipe())(t)
	must.Succeed(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			t.Cleanup(func() {
				in.Close()
				cmd.Process.Kill()
				cmd.Wait()
			})
			return
		}
		t.Log(lines.Text())
	}
	t.Fatalf("it ended and was never ready: %v", cmd.Wait())
}

// recognised lists the programs for which we have a recipe.
var recognised = []string{"bull.js", "ioredis-lock.js", "redis-semaphore.js", "rq.py", "kazoo.py"}

// At least fifteen programs use libraries without a recipe of ours. Other tests replay their data.
func TestFifteenForeignProgramsAreRecorded(t *testing.T) {
	var unknown []string
	for _, p := range append(programs(t, "redis"), programs(t, "zookeeper")...) {
		if len(p.packages) > 0 && !slices.Contains(recognised, p.file) {
			unknown = append(unknown, p.file)
		}
	}
	must.True(t, len(unknown) >= 15, "only", len(unknown), "programs", unknown)
}
