package redissource

import "github.com/lockscope/lockscope/inspect/redissource/node"

// Rights returns the ACL SETUSER rules of an account that sees everything, one for each command
// that is sent. The connection commands that every user has are left out.
func Rights() []string { return node.Rights() }
