// Lockscope shows and manages distributed locks in ZooKeeper and Redis.
package main

import (
	"context"
	"os"

	"github.com/lockscope/lockscope/cli"
	"github.com/lockscope/lockscope/cli/app"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], app.OS()))
}
