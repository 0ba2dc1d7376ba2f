package node

import (
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/inspect/recipe"
	"github.com/lockscope/lockscope/internal/redisreply"
)

// fault classifies the error of a request.
type fault int8

const (
	noFault      fault = iota // no error, or a reply that the key or script does not exist
	otherType                 // WRONGTYPE: the key holds another type
	elsewhere                 // another cluster node has the key, or none has it
	commandFault              // this command, or this key, is refused; others may be answered
	serverFault               // the server cannot be read: it is gone, refuses our login, or is loading its data
)

// whole lists the error codes of a server that cannot be read.
var whole = []string{"NOAUTH", "WRONGPASS", "LOADING", "MASTERDOWN", "BUSY"}

func faultOf(err error) fault {
	if err == nil {
		return noFault // the usual case; reply below is allocated
	}
	var reply redis.Error
	switch {
	case errors.Is(err, redis.Nil):
		return noFault
	case !errors.As(err, &reply), err.Error() != reply.Error():
		return serverFault // no reply, or one to a command that sets up the connection
	case redisreply.Starts(err, whole...):
		return serverFault
	case redisreply.WrongType(err):
		return otherType
	case redisreply.Starts(err, "MOVED", "ASK", "CLUSTERDOWN", "TRYAGAIN"):
		return elsewhere
	}
	return commandFault
}

// serverError returns the first error that concerns the whole server.
func serverError(err error, cmds []redis.Cmder) error {
	for _, cmd := range cmds {
		if e := cmd.Err(); faultOf(e) == serverFault {
			return e
		}
	}
	if err != nil && !redisreply.Is(err) {
		return err
	}
	return nil
}

// serverError returns the error of a whole request about keys. In a cluster it may concern other
// nodes, so this one has failed only if no node answered.
func (m *Master) serverError(err error, cmds []redis.Cmder) error {
	answered := func(cmd redis.Cmder) bool { return faultOf(cmd.Err()) != serverFault }
	if m.keys != nil && slices.ContainsFunc(cmds, answered) {
		return nil
	}
	return serverError(err, cmds)
}

// miss describes something that could not be read.
func (m *Master) miss(aspect inspect.Aspect, cmd redis.Cmder, right string) inspect.Unseen {
	return inspect.Unseen{
		Aspect: aspect, Where: m.Address(), Read: readName(cmd), Reason: reason(cmd.Err()), Right: right,
	}
}

// reason explains a command without an answer, in the server's words.
func reason(err error) string {
	if err == nil {
		return "no answer"
	}
	return err.Error()
}

// readName returns the displayed name of a command, such as PUBSUB NUMSUB.
func readName(cmd redis.Cmder) string {
	return strings.ToUpper(strings.ReplaceAll(commandName(cmd.Args()), "|", " "))
}

// rightFor returns the ACL rule that would allow a command; empty if no right is missing. keys is
// the pattern of the keys that it reads; empty if it reads none.
func rightFor(cmd redis.Cmder, keys string) string {
	err, name := cmd.Err(), commandName(cmd.Args())
	switch {
	case redisreply.UnknownCommand(err):
		return strings.ToUpper(strings.ReplaceAll(name, "|", " ")) + " under its own name (rename-command)"
	case !redisreply.Denied(err):
		return ""
	}
	if said := redisreply.DeniedCommand(err.Error()); said != "" {
		return "+" + said
	}
	return "~" + keys
}

// helperPattern returns the pattern for the same helper key of other locks.
func helperPattern(helper, lock string) string {
	if helper == lock || lock == "" {
		return helper
	}
	return strings.ReplaceAll(helper, lock, "*")
}

// aspectOf returns which aspect of a lock is unknown without a helper key or channel.
func aspectOf(p recipe.Aspect) inspect.Aspect {
	switch p {
	case recipe.Waiters:
		return inspect.AspectWaiters
	case recipe.Limit:
		return inspect.AspectKind
	default:
		return inspect.AspectHolders
	}
}
