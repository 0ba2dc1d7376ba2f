-- Is prepended to the scripts below. The holder is ARGV[1], the lock's keys are KEYS.
local function has(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then return redis.call('GET', key) == ARGV[1] end
  if kind == 'hash' then return redis.call('HEXISTS', key, ARGV[1]) == 1 end
  if kind == 'zset' then return redis.call('ZSCORE', key, ARGV[1]) ~= false end
  if kind == 'set' then return redis.call('SISMEMBER', key, ARGV[1]) == 1 end
  return false
end
