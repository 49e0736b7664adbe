-- Take requests, characters and a concurrency lease from a key and its tenant: all or nothing.
-- With 0 requests it takes characters for a request that is running: its lease, where it is
-- still held, goes on, and no new one begins.
--
-- A taking that was carried out already, its answer lost, takes nothing when it is repeated.
--
-- KEYS  1 epoch, then for key and tenant: requests bucket, characters bucket, leases; 8 the mark
--       of this taking
-- ARGV  1 now (microseconds; empty: the server's clock), 2 lease id, 3 requests, 4 characters,
--       5 lease length, 6 wait advised for a free slot, then for key and tenant:
--       requests a minute, characters a minute, concurrency
-- Returns refused (0, or 1-3 for the key's requests, characters, concurrency and 4-6 for the
--       tenant's), wait in microseconds, epoch, then for both: level of requests, level of
--       characters, leases held by others
local now = clock(ARGV[1])
local member = ARGV[2]
local costs = {tonumber(ARGV[3]), tonumber(ARGV[4])}
if redis.call('EXISTS', KEYS[8]) == 1 then costs = {0, 0} end
local refused, wait = 0, 0
local state = {}

local function refuse(which, microseconds)
  -- The longest wait is the one after which nothing is left in the way.
  if microseconds > wait then
    refused, wait = which, microseconds
  end
end

for scope = 0, 3, 3 do
  for kind = 1, 2 do
    local limit = tonumber(ARGV[6 + scope + kind])
    local level = bucket_level(KEYS[1 + scope + kind], limit, now)
    local missing = costs[kind] * MINUTE - level
    if missing > 0 then refuse(scope + kind, math.ceil(missing / limit)) end
    state[scope + kind] = level
  end
  local leases = KEYS[4 + scope]
  redis.call('ZREMRANGEBYSCORE', leases, '-inf', whole(now))
  local others = redis.call('ZCARD', leases)
  if redis.call('ZSCORE', leases, member) then
    others = others - 1
  elseif costs[1] > 0 and others >= tonumber(ARGV[9 + scope]) then
    refuse(scope + 3, tonumber(ARGV[6]))
  end
  state[scope + 3] = others
end

if refused == 0 then
  redis.call('SET', KEYS[8], '1', 'PX', math.ceil(tonumber(ARGV[5]) / 1000))
  for scope = 0, 3, 3 do
    for kind = 1, 2 do
      if costs[kind] > 0 then
        state[scope + kind] = state[scope + kind] - costs[kind] * MINUTE
        bucket_store(KEYS[1 + scope + kind], state[scope + kind], now)
      end
    end
    local leases = KEYS[4 + scope]
    if costs[1] > 0 then
      redis.call('ZADD', leases, whole(now + tonumber(ARGV[5])), member)
    else
      redis.call('ZADD', leases, 'XX', whole(now + tonumber(ARGV[5])), member)
    end
    redis.call('PEXPIRE', leases, 2 * math.ceil(tonumber(ARGV[5]) / 1000))
  end
end

return {refused, wait, redis.call('GET', KEYS[1]) or '', unpack(state)}
