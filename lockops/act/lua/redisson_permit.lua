-- Gives the permit ARGV[1] of the Redisson semaphore KEYS[1] back, if its timeout is still in KEYS[2], and tells channel
-- ARGV[2] how many are free.
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then
  return 0
end
local free = redis.call('INCRBY', KEYS[1], 1)
redis.call('PUBLISH', ARGV[2], free)
redis.pcall('SPUBLISH', ARGV[2], free) -- since Redis 7
return 1
