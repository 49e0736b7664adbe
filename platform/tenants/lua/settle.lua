-- End the leases of a request and give back the characters that were not spoken, once.
--
-- KEYS  for key and tenant: leases, characters bucket; 5 the mark of a taking for a running request
-- ARGV  1 now, 2 lease id, or that of the taking, 3 unused characters, then the characters a
--       minute of key and tenant
-- Returns 1 where this call settled it, 0 where it was settled, had expired or was never taken
local now = clock(ARGV[1])
local held = redis.call('ZREM', KEYS[1], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
if held + redis.call('DEL', KEYS[5]) == 0 then return 0 end
for index = 0, 1 do
  local limit = tonumber(ARGV[4 + index])
  local bucket = KEYS[2 + 2 * index]
  local unused = math.min(tonumber(ARGV[3]), limit)
  if unused > 0 and redis.call('EXISTS', bucket) == 1 then
    local level = bucket_level(bucket, limit, now) + unused * MINUTE
    bucket_store(bucket, math.min(level, limit * MINUTE), now)
  end
end
return 1
