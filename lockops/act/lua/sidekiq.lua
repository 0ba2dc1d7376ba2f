-- Takes the job ARGV[1] out of the lock KEYS[1] of sidekiq-unique-jobs, if it is still in it. With the last one go the digest
-- ARGV[2] KEYS[2], the list of who is about to take it KEYS[4], the metadata KEYS[5], and the digest's entries in the
-- registers KEYS[6] and KEYS[7]. One that waits is woken by the list KEYS[3], for as long as in the library's own unlock;
-- version 9, whose jobs have JSON for a value, keeps none.
local held = look('HGET', KEYS[1], ARGV[1])
if not held then
  return 0
end
call('HDEL', KEYS[1], ARGV[1])
redis.pcall('DEL', KEYS[2], KEYS[5])
if call('HLEN', KEYS[1]) == 0 then
  redis.pcall('DEL', KEYS[4])
  redis.pcall('ZREM', KEYS[6], ARGV[2])
  redis.pcall('ZREM', KEYS[7], ARGV[2])
end
if tonumber(held) then
  redis.pcall('LPUSH', KEYS[3], '1')
  redis.pcall('PEXPIRE', KEYS[3], 5000)
end
return 1
