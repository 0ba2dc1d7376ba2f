package config

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
)

// largestFile is the size in bytes up to which a file is read.
const largestFile = 256 << 10

// decode reads YAML strictly: a key that it has no place for is an error.
func decode(text []byte, into any) (err error) {
	defer func() {
		if recover() != nil { // the library's
			err = errors.New("it cannot be read as YAML")
		}
	}()
	if err := yaml.UnmarshalWithOptions(text, into, yaml.Strict()); err != nil {
		return errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
	}
	return nil
}
