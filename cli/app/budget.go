package app

import (
	"github.com/lockscope/lockscope/inspect/redissource"
	"github.com/lockscope/lockscope/inspect/zksource"
)

// zkBudget returns the limits of --budget for ZooKeeper; once means a single pass.
func (a *App) zkBudget(once bool) zksource.Budget {
	switch {
	case a.Budget == "off":
		return zksource.Budget{Unlimited: true}
	case a.Budget != "gentle":
		return zksource.Budget{}
	case once: // the defaults of a screen
		return zksource.Budget{Discovering: 500, Requests: 1000, Items: 40_000, Bytes: 4 << 20}
	default:
		return zksource.Budget{
			Discovering: 200, Steady: 20, Requests: 250, Items: 10_000, Bytes: 1 << 20, Relists: 1,
		}
	}
}

// redisBudget returns the limits of --budget for each master of a Redis backend.
func (a *App) redisBudget(once bool) redissource.Budget {
	switch {
	case a.Budget == "off":
		return redissource.Budget{Unlimited: true}
	case a.Budget != "gentle":
		return redissource.Budget{}
	case once:
		return redissource.Budget{Duty: 0.05, Polls: 10, Reads: 20}
	default:
		return redissource.Budget{Duty: 0.02, Polls: 10, Reads: 20}
	}
}
