package screen

import (
	"context"
	"errors"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
)

// screenMutes mutes findings for the screen, which learns of it at once.
type screenMutes struct {
	app      *app.App
	setup    app.Setup
	observer *inspect.Observer
}

// Mute implements release.Mutes.
func (s screenMutes) Mute(_ context.Context, list []inspect.Mute) error {
	for _, m := range list {
		if span := m.Until.Sub(s.app.Now()); span <= 0 || span > app.LongestMute {
			return errors.New("use a time up to 720h, such as 2h")
		}
	}
	_, err := s.app.AddMutes(s.setup, list)
	return s.follow(err)
}

// Unmute implements release.Mutes.
func (s screenMutes) Unmute(_ context.Context, list []inspect.Mute) error {
	_, err := s.app.RemoveMutes(s.setup, list)
	return s.follow(err)
}

// follow passes the current mutes to the observer.
func (s screenMutes) follow(err error) error {
	if err != nil {
		return err
	}
	list, err := s.app.LoadMutes(s.setup)
	s.observer.Mute(list)
	return err
}
