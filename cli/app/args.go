package app

import (
	"strings"

	"github.com/spf13/cobra"
)

// NoArguments refuses all arguments, with the exit code for bad use.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, got %q", NameOf(cmd), args[0])
	}
	return nil
}

// LockFirst requires a LOCK, followed by any number of targets.
func LockFirst(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return Usagef("%s needs a LOCK, such as zk:/locks/orders or redis:lock:orders", NameOf(cmd))
	}
	return nil
}

// NameOf returns a command's name without the program's.
func NameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
