-- Deletes KEYS[1] if it still holds ARGV[1], and wakes who waits on channel ARGV[2] (none when empty).
if look('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
call('DEL', KEYS[1])
if ARGV[2] ~= '' then
  redis.pcall('PUBLISH', ARGV[2], '')
end
return 1
