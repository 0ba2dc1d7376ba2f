package lockops

import (
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
)

//go:embed lua/acquire.lua
var acquireLua string

//go:embed lua/release.lua
var releaseLua string

//go:embed lua/wake.lua
var wakeLua string

//go:embed lua/turn.lua
var turnLua string

//go:embed lua/vote_release.lua
var voteReleaseLua string

//go:embed lua/extend.lua
var extendLua string

//go:embed lua/fair.lua
var fairLua string

//go:embed lua/fair_acquire.lua
var fairAcquireLua string

//go:embed lua/fair_release.lua
var fairReleaseLua string

//go:embed lua/clock.lua
var clockLua string

// script is a Lua script and the digest that servers know it by.
type script struct {
	source string
	sha    string
	// answers are all that it may say, of one that compare runs.
	answers []string
}

func newScript(source string, answers ...string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // what EVALSHA takes
	return &script{source, hex.EncodeToString(sum[:]), answers}
}

var (
	acquireScript     = newScript(acquireLua)
	releaseScript     = newScript(wakeLua+releaseLua, "1", "0", "-1")
	voteReleaseScript = newScript(voteReleaseLua, "1", "2", "0", "-1")
	turnScript        = newScript(wakeLua+turnLua, "1", "0")
	extendScript      = newScript(extendLua, "1", "0", "-1")
	fairAcquireScript = newScript(fairLua + fairAcquireLua)
	fairReleaseScript = newScript(fairLua+fairReleaseLua, "1", "0", "-1")
	clockScript       = newScript(clockLua)
)
