-- A budget of each session or of each end user counts every value by itself. A value is 's' (a session) or 'u' (an end user) and 31 hex digits of its hash;
-- '-' in their place stands for all requests that name none, '+' for those that come beyond the maximum.
-- The hash {s}:bud:<account>:<value> counts as {s}:bud:<account> does. The sorted set {s}:bud:<account>:<s or u> has until when (Unix ms) each value is kept.
local SESSIONS_MAX = 10000
local END_USERS_MAX = 10000
local VALUES_MAX = { s = SESSIONS_MAX, u = END_USERS_MAX }
-- A request that was admitted in a period runs at most this long after its end.
local VALUE_KEPT_MS = 2 * 24 * 3600 * 1000
-- Is longer than any period of such a budget, and than what it is kept after that.
local VALUES_KEPT_MS = 94 * 24 * 3600 * 1000
-- Limits the values that are compared with the open holds in one call, beside those that have some.
local VALUES_RECOUNTED = 1000

local function value_list(key, kind)
  return key .. ':' .. kind
end

-- Returns the hash that counts a value, or all of the account for nil.
local function place_of(key, value)
  return value and key .. ':' .. value or key
end

local function is_value(value)
  return value == '' or #value == 32
end

-- Returns the value that a request counts under, and until when it is kept. A value that is not known when the maximum is reached shares a counter with all others that come then.
local function counted_value(key, kind, value, now)
  if value == '' then value = kind .. '-' end
  local list = value_list(key, kind)
  local till = tonumber(redis.call('ZSCORE', list, value) or '0')
  if till > now or value == kind .. '-' then return value, till end
  if redis.call('ZCOUNT', list, '(' .. text(now), '+inf') >= VALUES_MAX[kind] then return kind .. '+', 0 end
  return value, till
end

-- Keeps what is counted of a value until `till` at least, and forgets the values whose time is over.
local function keep_value(key, value, till, now)
  local list = value_list(key, string.sub(value, 1, 1))
  till = math.max(till, tonumber(redis.call('ZSCORE', list, value) or '0'))
  redis.call('ZREMRANGEBYSCORE', list, '-inf', text(now))
  redis.call('ZADD', list, text(till), value)
  redis.call('PEXPIRE', list, text(VALUES_KEPT_MS))
  redis.call('PEXPIRE', place_of(key, value), text(till - now))
end

-- Keeps a value that Redis had lost, until a request of it is admitted again.
local function keep_found(key, value, now)
  if redis.call('PTTL', place_of(key, value)) == -1 then keep_value(key, value, now + VALUE_KEPT_MS, now) end
end
