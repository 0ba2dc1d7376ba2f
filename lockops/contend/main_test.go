package contend

import (
	"testing"

	"github.com/lockscope/lockscope/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
