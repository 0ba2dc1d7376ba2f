-- Takes the waiter ARGV[1] out of the queues KEYS[1] and KEYS[2] of a lock of lockscope, and out of who was heard of KEYS[3]. Holders and
-- waiters are asked on channel ARGV[2] to look again: it may have been the one whose turn it was.
local gone = (look('ZREM', KEYS[1], ARGV[1]) or 0) + (look('ZREM', KEYS[2], ARGV[1]) or 0)
if gone == 0 then
  return 0
end
redis.pcall('HDEL', KEYS[3], ARGV[1])
redis.pcall('PUBLISH', ARGV[2], '')
return 1
