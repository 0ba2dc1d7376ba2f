package app

import (
	"errors"
	"io"
)

func openSyslog(string) (io.Writer, error) {
	return nil, errors.New("Windows has no syslog")
}
