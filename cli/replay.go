package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"lockscope/inspect"
	"lockscope/inspect/finding"
	"lockscope/inspect/recording"
)

func (a *app) replayCommand() *cobra.Command {
	var speed float64
	command := &cobra.Command{
		Use:   "replay FILE",
		Short: "Open the screen on a recording",
		Long: "replay opens the screen on what record kept, as if it happened now. Nothing is asked of any server and nothing can\n" +
			"be acted on. At the end the screen stays, with the clock stopped.",
		Example: "  lockscope replay incident.jsonl\n  lockscope replay night.jsonl --speed 60",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("%s needs one FILE, made by lockscope record", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if speed <= 0 {
				return usageError("--speed %v: give a number above 0", speed)
			}
			return a.replay(cmd.Context(), args[0], speed)
		},
	}
	command.Flags().Float64Var(&speed, "speed", 1, "how many times as fast as it was")
	return command
}

func (a *app) replay(ctx context.Context, path string, speed float64) error {
	played, err := recording.Open(path, recording.Speed(speed))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, recording.ErrFormat) {
		return usageError("%w", err)
	}
	if err != nil {
		return err
	}
	s := &stage{Replay: played}
	screen := *a
	screen.Now, screen.write = s.Now, false
	observer := inspect.NewObserver(s.Now, s)
	observer.Diagnose(finding.Rules(), a.stuckAfter)
	return screen.showScreen(ctx, observer, setup{}, screenOptions{
		title: filepath.Base(path), replay: true, caption: s.caption,
	})
}

// stage is a recording that is played, with a clock that stops at its end.
type stage struct {
	*recording.Replay
	mu    sync.Mutex
	ended time.Time
}

// Run plays the recording, then stops the clock.
func (s *stage) Run(ctx context.Context, emit func(inspect.Update)) error {
	err := s.Replay.Run(ctx, emit)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = s.Replay.Now()
	return err
}

// Now is the recording's clock.
func (s *stage) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended.IsZero() {
		return s.ended
	}
	return s.Replay.Now()
}

// caption says when the recording has ended.
func (s *stage) caption(time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended.IsZero():
		return ""
	case s.Cut():
		return "The recording ends here, in the middle of an update: whoever recorded it was stopped. The clock stands still."
	default:
		return "The recording ends here. The clock stands still."
	}
}
