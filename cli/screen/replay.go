package screen

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
)

// Replay returns the replay command.
func Replay(a *app.App) *cobra.Command {
	var speed float64
	var at time.Duration
	command := &cobra.Command{
		Use:   "replay FILE",
		Short: "Open the screen on a recording",
		Long: "replay opens the screen on a recording. No server is contacted and nothing can be changed. Space\n" +
			"plays or stops, [ ] { } seek, < > change the speed, backspace goes to the end. FILE may be\n" +
			"compressed (gzip, zstd). ls, show and doctor also accept a recording instead of targets.",
		Example: "  lockscope replay incident.jsonl\n  lockscope replay night.jsonl.zst --speed 60\n  lockscope " +
			"replay incident.jsonl --at 4m30s",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return app.Usagef("%s needs one FILE, made by lockscope record", app.NameOf(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if speed <= 0 {
				return app.Usagef("--speed %v: use a number above 0", speed)
			}
			if cmd.Flags().Changed("at") {
				if at < 0 {
					return app.Usagef("--at %v: use a time since the recording began", at)
				}
				return showMoment(cmd.Context(), a, args[0], at)
			}
			return replay(cmd.Context(), a, args[0], speed)
		},
	}
	command.Flags().Float64Var(&speed, "speed", 1, "playback speed; 1 is real time")
	command.Flags().DurationVar(&at, "at", 0, "show the moment this long after the beginning, and stop there")
	return command
}

// recordingTitle names a recording on the screen.
func recordingTitle(path string) string { return strings.TrimSuffix(filepath.Base(path), ".gz") }

// showMoment opens the screen on a moment of a recording, with the clock at that moment.
func showMoment(ctx context.Context, a *app.App, path string, at time.Duration) error {
	played, err := a.OpenRecording(path, recording.Speed(0), recording.Kept())
	if err != nil {
		return err
	}
	screen := *a
	screen.Now, screen.Write = played.Now, false
	observer := a.Diagnosing(played.Now, played)
	feed := observer.Subscribe()
	if _, err := feed.Next(ctx); err != nil { // the first one, which has no events
		return err
	}
	past := inspect.NewPast(inspect.PastKept, inspect.PastStep, inspect.PastBudget)
	play := func(emit func(inspect.Update)) error { return played.To(at, emit) }
	if err := observer.Film(inspect.PastStep, play, past.Add); err != nil {
		return err
	}
	return showScreen(ctx, &screen, observer, app.Setup{}, screenOptions{
		title: recordingTitle(path), replay: true, still: feed, past: past,
	})
}

func replay(ctx context.Context, a *app.App, path string, speed float64) error {
	played, err := a.OpenRecording(path, recording.Speed(0), recording.Kept())
	if err != nil {
		return err
	}
	observer := a.Diagnosing(played.Now, played)
	screen := *a
	screen.Write = false
	f := newFilm(played)
	end, err := f.seekable(a, path)
	if err != nil {
		return err
	}
	defer end()
	return showScreen(ctx, &screen, observer, app.Setup{}, screenOptions{
		title: recordingTitle(path), replay: true, caption: f.caption, film: f, speed: speed,
	})
}
