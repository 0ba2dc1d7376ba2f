// Lockscope shows and manages distributed locks in ZooKeeper and Redis.
package main

import (
	"context"
	"os"

	"lockscope/cli"
	"lockscope/cli/app"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], app.OS()))
}
