-- Keep the leases of a request for another term; one that ended is not brought back.
--
-- KEYS  1 the key's leases, 2 the tenant's
-- ARGV  1 now, 2 lease id, 3 lease length
-- Returns 1 where the lease was still held, else 0
local now = clock(ARGV[1])
local held = 0
for index = 1, 2 do
  local score = redis.call('ZSCORE', KEYS[index], ARGV[2])
  if score and tonumber(score) > now then
    redis.call('ZADD', KEYS[index], whole(now + tonumber(ARGV[3])), ARGV[2])
    redis.call('PEXPIRE', KEYS[index], 2 * math.ceil(tonumber(ARGV[3]) / 1000))
    if index == 1 then held = 1 end
  end
end
return held
