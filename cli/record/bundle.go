package record

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/cli/render"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/describe"
	"github.com/lockscope/lockscope/inspect/jsonform"
	"github.com/lockscope/lockscope/inspect/recording"
	"github.com/lockscope/lockscope/inspect/ticket"
	"github.com/lockscope/lockscope/internal/connect"
)

// bundle is one run of the command bundle.
type bundle struct {
	*app.App
	span time.Duration
	to   string

	id       inspect.ID
	source   string // the targets or the recording, in words
	snapshot *inspect.Snapshot
	recorded bytes.Buffer // compressed
}

// Bundle returns the bundle command.
func Bundle(a *app.App) *cobra.Command {
	b := &bundle{App: a}
	command := &cobra.Command{
		Use:   "bundle LOCK [TARGET…]",
		Short: "Put everything known about a lock into an archive or a directory for a ticket",
		Long: "bundle watches the backend of a lock for a few seconds and writes what it saw into an archive or a\n" +
			"directory. It has a summary with the findings (README.md), the lock as JSON, its queue as Mermaid, the whole\n" +
			"backend as JSON, the recording, and versions. It also reads a recording instead of targets, such as\n" +
			"one saved with R on the screen.\n\n" +
			"It contains no passwords, but it does contain names, addresses and the first 1 KiB of values: anyone\n" +
			"with the value of a Redis lock can release it.",
		Example: "  lockscope bundle zk:/locks/orders zk://localhost:2181\n" +
			"  lockscope bundle redis:lock:orders -p prod --for 1m --to ticket-7.tar.gz\n" +
			"  lockscope bundle zk:/locks/orders incident.jsonl --to ticket-7",
		Args: app.LockFirst, ValidArgsFunction: a.CompleteLock,
		RunE: func(cmd *cobra.Command, args []string) error { return b.run(cmd.Context(), args[0], args[1:]) },
	}
	command.Flags().DurationVar(&b.span, "for", 10*time.Second, "watch for this long after the initial scan")
	command.Flags().StringVar(&b.to, "to", "", "write to this `PATH`: an archive if it ends in .tar.gz or .tgz, else a "+
		"new directory")
	return command
}

func (b *bundle) run(ctx context.Context, lock string, targets []string) error {
	var err error
	if b.id, err = inspect.ParseID(lock); err != nil {
		return err
	}
	if b.span <= 0 {
		return app.Usagef("--for %v: use a time above 0", b.span)
	}
	b.to = cmp.Or(b.to, app.FileName(b.id.String(), b.Now())+".tar.gz")
	if _, err := os.Lstat(b.to); err == nil {
		return app.Usagef("%s already exists (name another with --to)", b.to)
	}
	s, err := b.SetUpLook(ctx, targets)
	if err != nil {
		return err
	}
	if s.Recording != "" {
		err = b.fromRecording(s)
	} else {
		err = b.watch(ctx, s)
	}
	if err != nil {
		return err
	}
	l := b.snapshot.Lock(b.id)
	if l == nil {
		return app.Exitf(app.ExitNo, "%s: no such lock (see: lockscope ls)", b.id)
	}
	files, err := b.files(l, s)
	if err != nil {
		return err
	}
	if err := writeBundle(b.to, b.snapshot.TakenAt, files); err != nil {
		return err
	}
	_, err = fmt.Fprintln(b.Stdout, b.to)
	return err
}

// fromRecording reads the lock from a recording.
func (b *bundle) fromRecording(s app.Setup) error {
	snapshot, err := b.LookAtRecording(s.Recording)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(s.Recording)
	if err != nil {
		return err
	}
	b.snapshot, b.source = snapshot, "the recording "+filepath.Base(s.Recording)
	if bytes.HasPrefix(text, []byte("\x1f\x8b")) {
		b.recorded.Write(text)
		return nil
	}
	packed := gzip.NewWriter(&b.recorded)
	_, err = packed.Write(text)
	return errors.Join(err, packed.Close())
}

// watch records the lock's backend for a while.
func (b *bundle) watch(ctx context.Context, s app.Setup) error {
	target, err := s.BackendOf(b.id)
	if err != nil {
		return err
	}
	s.Targets = []connect.Target{target}
	sources, err := b.Sources(s, false, "")
	if err != nil {
		return err
	}
	ctx, stop := app.Interruptible(ctx)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var end *time.Timer // starts once everything has been read
	packed := gzip.NewWriter(&b.recorded)
	observer := b.Diagnosing(b.Now, recording.New(b.Now, packed, sources...))
	observer.Advise(s.Reach())
	observer.Expect(s.Expectations())
	observer.Mute(b.Mutes(s))
	observer.Focus(b.id)
	b.Say("watching %s for %v; press Ctrl-C to stop", b.id, b.span)
	var last *inspect.Snapshot
	err = b.Follow(ctx, s, observer, func(s *inspect.Snapshot) error {
		if s.Lock(b.id) != nil || last == nil || last.Lock(b.id) == nil {
			last = s
		}
		if end == nil && app.LookedAt(s) {
			end = time.AfterFunc(b.span, cancel)
			if s.Lock(b.id) == nil {
				cancel() // there is nothing to watch
			}
		}
		return nil
	})
	if end != nil {
		end.Stop()
	}
	if err = errors.Join(err, packed.Close()); err != nil {
		return err
	}
	last = cmp.Or(last, observer.Snapshot())
	b.snapshot, b.source = last, target.URL()
	if last.Lock(b.id) == nil {
		return b.ExitOf(last.Backends)
	}
	return nil
}

// bundleFile is a file of a bundle.
type bundleFile struct {
	name, about string
	data        []byte
}

const recordingName = "recording.jsonl.gz"

// files of the bundle; the first lists the others.
func (b *bundle) files(l *inspect.Lock, s app.Setup) ([]bundleFile, error) {
	t := ticket.Of(describe.View{Snapshot: b.snapshot, Now: b.snapshot.TakenAt}, l, nil)
	forms := make(map[string]string)
	for _, form := range ticket.Forms() {
		text, err := t.In(form)
		if err != nil {
			return nil, err
		}
		forms[form] = text
	}
	var all bytes.Buffer
	if err := jsonform.Write(&all, b.snapshot); err != nil {
		return nil, err
	}
	versions, err := json.MarshalIndent(b.versions(s), "", " ")
	if err != nil {
		return nil, err
	}
	files := []bundleFile{
		{"lock.json", "the lock, as `lockscope show -o json` prints it", []byte(forms["json"])},
		{"lock.mmd", "its queue as Mermaid", []byte(render.LockGraph(l, "mermaid"))},
		{"snapshot.json", "its whole backend, as `lockscope ls -o json` prints it", all.Bytes()},
		{recordingName, "the recording: `lockscope replay recording.jsonl.gz`", b.recorded.Bytes()},
		{"versions.json", "versions of the program and of the servers", append(versions, '\n')},
	}
	var readme strings.Builder
	readme.WriteString(forms["markdown"])
	readme.WriteString("\n## Files\n\n")
	for _, f := range files {
		fmt.Fprintf(&readme, "- `%s`: %s\n", f.name, f.about)
	}
	return append([]bundleFile{{name: "README.md", data: []byte(readme.String())}}, files...), nil
}

// BundleVersions is versions.json.
type BundleVersions struct {
	Lockscope string          `json:"lockscope"`
	Source    string          `json:"source"`
	Profile   string          `json:"profile"`
	TakenAt   string          `json:"taken_at"`
	Servers   []serverVersion `json:"servers"`
}

type serverVersion struct {
	Backend string `json:"backend"`
	Addr    string `json:"addr"`
	Version string `json:"version"`
	Role    string `json:"role"`
}

func (b *bundle) versions(s app.Setup) BundleVersions {
	v := BundleVersions{
		Lockscope: app.VersionText(), Source: b.source, Profile: s.ProfileName,
		TakenAt: b.snapshot.TakenAt.UTC().Format(time.RFC3339), Servers: []serverVersion{},
	}
	for _, backend := range b.snapshot.Backends {
		for i := range backend.Servers {
			server := &backend.Servers[i]
			v.Servers = append(v.Servers, serverVersion{
				backend.Name, inspect.Escape(server.Addr), cmp.Or(inspect.Escape(server.Version), "unknown"),
				cmp.Or(inspect.Escape(server.Role), "unknown"),
			})
		}
	}
	return v
}

// writeBundle makes an archive or a directory that only its owner may read. It removes what it
// could not write in full.
func writeBundle(path string, at time.Time, files []bundleFile) error {
	if !isArchive(path) {
		if err := os.Mkdir(path, 0o700); err != nil {
			return app.Usagef("%w", err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(path, f.name), f.data, 0o600); err != nil {
				return errors.Join(err, os.RemoveAll(path))
			}
		}
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return app.Usagef("%w", err)
	}
	err = archive(file, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".tar.gz"), ".tgz"), at, files)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func isArchive(path string) bool {
	return strings.HasSuffix(path, ".tar.gz") || strings.HasSuffix(path, ".tgz")
}

// archive writes the files to a compressed tar archive, in a directory of that name.
func archive(to io.Writer, dir string, at time.Time, files []bundleFile) error {
	packed := gzip.NewWriter(to)
	w := tar.NewWriter(packed)
	for _, f := range files {
		h := &tar.Header{
			Name: dir + "/" + f.name, Mode: 0o600, Size: int64(len(f.data)),
			ModTime: at.Truncate(time.Second), Format: tar.FormatPAX,
		}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}
