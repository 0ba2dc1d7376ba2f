-- Sets the TTL ARGV[2]. Returns 1 if the holder still had the lock.
local renewed = 0
for _, key in ipairs(KEYS) do if has(key) then renewed = redis.call('PEXPIRE', key, ARGV[2]) end end
return renewed
