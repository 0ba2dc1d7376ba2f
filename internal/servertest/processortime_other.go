//go:build !linux

package servertest

import (
	"errors"
	"time"
)

func processorTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
