package screen

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/lockscope/lockscope/cli/app"
	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recording"
)

// saver makes files for the screen.
type saver struct{ *app.App }

// text writes text to a new file that only its owner may read. The file is in the working directory
// or, if that is read-only, in the one for temporary files. It is named after its subject and the
// time, such as lockscope-zk-locks-orders-20260504T120000Z.md.
func (s saver) text(ctx context.Context, about, extension, text string) (path string, err error) {
	return s.writeFile(ctx, about, extension, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// writeFile creates a file and fills it with write. It removes an incomplete file.
func (s saver) writeFile(
	ctx context.Context, about, extension string, write func(io.Writer) error,
) (path string, err error) {
	name := app.FileName(about, s.Now()) + extension
	var file *os.File
	var errs []error
	for _, dir := range []string{".", os.TempDir()} {
		if path, err = filepath.Abs(filepath.Join(dir, name)); err == nil {
			file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
		if err == nil {
			break
		}
		errs = append(errs, err)
	}
	if file == nil {
		return "", errors.Join(errs...)
	}
	err = write(file)
	if err == nil {
		err = ctx.Err()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// past writes the kept past to a file, in the same place as text.
func (s saver) past(ctx context.Context, past *inspect.Past) (path string, err error) {
	return s.writeFile(ctx, "past", ".jsonl", func(w io.Writer) error {
		return recording.Save(w, func(yield func(time.Time, inspect.Update) bool) {
			for at, u := range recording.Updates(past) {
				if ctx.Err() != nil || !yield(at, u) {
					return
				}
			}
		})
	})
}
