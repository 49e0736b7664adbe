-- Shared head of the scripts: the clock, and token buckets.
--
-- A bucket holds whole numbers only, so that everything is exact in a double:
-- a level is tokens x 60,000,000 and grows by the limit (tokens a minute) every
-- microsecond. A bucket that is not there is full.
local MINUTE = 60000000

local function whole(number)
  return string.format('%.0f', number)
end

local function clock(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

local function bucket_level(key, limit, now)
  local full = limit * MINUTE
  local held = redis.call('HMGET', key, 'level', 'at')
  if not held[1] then return full end
  -- After a minute it is full whatever it was; a clock set back adds nothing.
  local elapsed = math.min(math.max(now - tonumber(held[2]), 0), MINUTE)
  return math.min(tonumber(held[1]) + elapsed * limit, full)
end

local function bucket_store(key, level, now)
  redis.call('HSET', key, 'level', whole(level), 'at', whole(now))
  redis.call('PEXPIRE', key, 61000)
end
