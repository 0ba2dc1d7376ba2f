-- Deletes KEYS[1] if it still holds ARGV[1], and tells message ARGV[2] to who waits on the channels ARGV[3] and on, its last one left out.
if look('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
call('DEL', KEYS[1])
for i = 3, #ARGV - 1 do
  redis.pcall('PUBLISH', ARGV[i], ARGV[2])
end
return 1
