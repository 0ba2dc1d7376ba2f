package app

import (
	"strings"

	"github.com/spf13/cobra"
)

// NoArguments refuses all arguments, with the exit code for wrong usage.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, got %q", NameOf(cmd), args[0])
	}
	return nil
}

// LockFirst requires a LOCK, followed by any number of targets.
func LockFirst(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.Contains(args[0], "://") {
		return Usagef("%s needs a LOCK first, such as zk:/locks/orders or redis:lock:orders", NameOf(cmd))
	}
	return nil
}

// RootFirst requires a ROOT, followed by any number of targets.
func RootFirst(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.Contains(args[0], "://") {
		return Usagef("%s needs a ROOT first, such as zk:/locks", NameOf(cmd))
	}
	return nil
}

// ClientFirst requires a CLIENT, followed by any number of targets.
func ClientFirst(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || strings.Contains(args[0], "://") {
		return Usagef("%s needs a CLIENT first: BACKEND:HOST:PORT, as show prints it", NameOf(cmd))
	}
	return nil
}

// NameOf returns a command's name without the program's.
func NameOf(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}
