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

// script is a Lua script and the digest that servers know it by, a string that is an argument of every request.
type script struct {
	source string
	sha    any
	// answers are all that it may say, of one that compare runs.
	answers []string
}

func newScript(source string, answers ...string) *script {
	sum := sha1.Sum([]byte(source)) //nolint:gosec // what EVALSHA takes
	return &script{source, hex.EncodeToString(sum[:]), answers}
}

// scriptKeys are the keys of a script: strings, made arguments of its requests once.
type scriptKeys []any

func keysOf(names ...string) scriptKeys {
	keys := make(scriptKeys, len(names))
	for i, n := range names {
		keys[i] = n
	}
	return keys
}

func (k scriptKeys) name(i int) string { return k[i].(string) }

func (k scriptKeys) names() []string {
	names := make([]string, len(k))
	for i := range k {
		names[i] = k.name(i)
	}
	return names
}

var (
	acquireScript     = newScript(acquireLua)
	releaseScript     = newScript(wakeLua+releaseLua, "1", "0", "-1")
	voteReleaseScript = newScript(wakeLua+voteReleaseLua, "1", "2", "3", "0", "-1")
	turnScript        = newScript(wakeLua+turnLua, "1", "0")
	extendScript      = newScript(extendLua, "1", "0", "-1")
	fairAcquireScript = newScript(fairLua + fairAcquireLua)
	fairReleaseScript = newScript(fairLua+fairReleaseLua, "1", "0", "-1")
	clockScript       = newScript(clockLua)
)
