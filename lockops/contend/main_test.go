package contend

import (
	"testing"

	"lockscope/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
