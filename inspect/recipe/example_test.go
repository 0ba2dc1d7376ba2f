package recipe_test

import (
	"fmt"

	"github.com/lockscope/lockscope/inspect/recipe"
)

// Read returns the children of a lock's directory in queue order, and the recipe that they follow.
func ExampleRead() {
	queue, entries := recipe.Read([]string{
		"_c_6ec4c6b4-2b3b-4d0e-9a51-5a8a3f0c1d22-lock-0000000008",
		"_c_0b0f1c7e-6f5c-4a60-8a4e-0f6d0a9be111-lock-0000000007",
		"config",
	})
	for _, e := range entries {
		fmt.Println(queue.Name, e.Sequence)
	}
	// Output:
	// curator 7
	// curator 8
}
