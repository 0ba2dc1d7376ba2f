// A program that uses lockscope as a module, as README.md says.
package main

import (
	"context"
	"fmt"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/lockops"
	"github.com/lockscope/lockscope/lockops/lockopstest"
)

func main() {
	err := lockops.Do(context.Background(), lockopstest.New("deploy"), func(context.Context) error {
		fmt.Println(inspect.ID{Backend: "zk", Path: "/locks/deploy"})
		return nil
	})
	if err != nil {
		panic(err)
	}
}
