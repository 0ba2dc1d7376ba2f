package app

import (
	"strings"

	"github.com/spf13/cobra"
)

// NoArguments and its like are cobra's checks with the exit code for bad use.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, got %q", NameOf(cmd), args[0])
	}
	return nil
}

// LockFirst wants a LOCK and then any number of targets.
func LockFirst(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return Usagef("%s needs a LOCK, such as zk:/locks/orders or redis:lock:orders", NameOf(cmd))
	}
	return nil
}

// NameOf is a command's name without the program's, which begins every error.
func NameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
