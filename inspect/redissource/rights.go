package redissource

import "github.com/lockscope/lockscope/inspect/redissource/node"

// Rights returns what an account needs to see everything, as ACL SETUSER takes it: a rule for each command
// that is sent. Not in it are those of connections, which every user has.
func Rights() []string { return node.Rights() }
