package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockscope/lockscope/inspect"
	"github.com/lockscope/lockscope/internal/must"
	"github.com/lockscope/lockscope/internal/redisreply"
	"github.com/lockscope/lockscope/internal/servertest"
)

// Real writes confirm the reported refusal.
func TestRefusedWritesAreReported(t *testing.T) {
	for name, tt := range map[string]struct {
		does []string
		want inspect.WriteRefusal
		// whether SET and DEL are refused
		set, del bool
	}{
		"nothing is wrong":                               {does: nil},
		"a snapshot failed":                              {does: []string{"config set save 3600:1", "bgsave"}, want: inspect.RefusedForSave, set: true, del: true},
		"failed, but writes are allowed":                 {does: []string{"config set save 3600:1", "config set stop-writes-on-bgsave-error no", "bgsave"}},
		"failed, without a save schedule":                {does: []string{"bgsave"}},
		"no replica":                                     {does: []string{"config set min-replicas-to-write 1"}, want: inspect.RefusedForReplicas, set: true, del: true},
		"no replica, without a lag limit":                {does: []string{"config set min-replicas-to-write 1", "config set min-replicas-max-lag 0"}},
		"memory is full":                                 {does: []string{"config set maxmemory 1"}, want: inspect.RefusedForMemory, set: true},
		"memory is limited":                              {does: []string{"config set maxmemory 100mb"}},
		"full, but keys can be evicted":                  {does: []string{"config set maxmemory-policy allkeys-lru", "filled", "config set maxmemory 4mb"}},
		"a replica":                                      {does: []string{"replicaof 127.0.0.1 1"}, set: true, del: true},
		"a replica whose snapshot failed":                {does: []string{"config set save 3600:1", "replicaof 127.0.0.1 1", "bgsave"}, set: true, del: true},
		"a full replica":                                 {does: []string{"config set maxmemory 1", "replicaof 127.0.0.1 1"}, set: true, del: true},
		"no disk space for the append-only file":         {does: []string{"set new a"}, want: inspect.RefusedForAOF, set: true, del: true},
		"append-only file turned off without disk space": {does: []string{"set new a", "config set appendonly no"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "appendonlydir", "appendonly.aof.1.incr.aof")
			args := []string{"--dir", dir}
			if strings.Contains(name, "disk space") {
				args = append(args, "--appendonly", "yes")
				must.Succeed(t, os.Mkdir(filepath.Dir(file), 0o755))
				must.Succeed(t, os.Symlink("/dev/full", file)) // every write finds the disk full
			}
			server := servertest.StartRedis(t, args...)
			c := server.Client(t)
			must.Succeed(t, os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o755)) // makes snapshots fail
			c.Set(t.Context(), "old", "a", time.Hour)
			for _, line := range tt.does {
				prepare(t, c, line)
			}
			st := must.Have(testMaster(t, at(server.Addr)).ReadStatus(t.Context()))(t)
			must.Equal(t, st.WritesRefused, tt.want, "refused")
			must.Equal(t, len(st.Unseen), 0, "unseen", st.Unseen)
			set, del := c.Set(t.Context(), "lock:new", "a", time.Minute).Err(), c.Del(t.Context(), "old").Err()
			if (set != nil) != tt.set || (del != nil) != tt.del {
				t.Errorf("SET: %v, DEL: %v", set, del)
			}
		})
	}
}

// prepare sends a command. A colon is a space within a word.
func prepare(t *testing.T, c *redis.Client, line string) {
	t.Helper()
	if line == "filled" {
		for i := range 600 {
			must.Succeed(t, c.Set(t.Context(), fmt.Sprint("cached:", i), strings.Repeat("x", 10_000), time.Hour).Err())
		}
		return
	}
	var words []any
	for word := range strings.FieldsSeq(line) {
		words = append(words, strings.ReplaceAll(word, ":", " "))
	}
	if err := c.Do(t.Context(), words...).Err(); err != nil && !redisreply.Starts(err, "MISCONF") {
		t.Fatalf("%s: %v", line, err)
	}
	must.Become(t, "the save fails", func() bool {
		return line != "bgsave" || infoField(c.Info(t.Context(), "persistence").Val(), "rdb_last_bgsave_status") == "err"
	})
}

// When memory is full, a library's commands decide whether its locks can be renewed and released.
func TestFullMasterRefusesSomeLockCommands(t *testing.T) {
	t.Parallel()
	server := servertest.StartRedis(t)
	c := server.Client(t)
	const redisson, value, queue = "lock:redisson", "lock:value", "lock:queue"
	send(t, c, [][]any{
		{"hset", redisson, "owner:1", 1},
		{"pexpire", redisson, 3600_000},
		{"set", value, "a", "px", 3600_000},
		{"zadd", queue, 1, "a"},
		{"config", "set", "maxmemory", 1},
	}...)
	const (
		renewHash = `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
			return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`
		unlockHash = `if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
			if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then return 0 end return redis.call('DEL', KEYS[1])`
		renewValue = `if redis.call('GET', KEYS[1]) == ARGV[1] then
			return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`
		deleteValue = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`
	)
	for _, tt := range []struct {
		name    string
		refused bool
		command []any
	}{
		{"Redisson's renewal", false, []any{"eval", renewHash, 1, redisson, "owner:1", 30_000}},
		{"Redisson's unlock", true, []any{"eval", unlockHash, 1, redisson, "owner:1"}},
		{"SET XX as a renewal", true, []any{"set", value, "a", "px", 3600_000, "xx"}},
		{"ZADD as a renewal", true, []any{"zadd", queue, 2, "a"}},
		{"GET and PEXPIRE", false, []any{"eval", renewValue, 1, value, "a", 30_000}},
		{"GET and DEL", false, []any{"eval", deleteValue, 1, value, "a"}},
	} {
		err := c.Do(t.Context(), tt.command...).Err()
		if (err != nil) != tt.refused || err != nil && !strings.Contains(err.Error(), "OOM") {
			t.Errorf("%s: %v, refused should be %v", tt.name, err, tt.refused)
		}
	}
	must.True(t, c.PTTL(t.Context(), redisson).Val() > 0, "Redisson's key is gone")
}

// proto is an error reply of a server.
type proto string

func (p proto) Error() string { return string(p) }
func (p proto) RedisError()   {}
