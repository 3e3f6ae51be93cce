-- Request windows: minute, hour and day, each counted in 60 buckets.
--
-- A window's state is one string: its total as 4 bytes, then a pair (bucket number, count) of 4 bytes each for every bucket in use, oldest first.
-- Buckets expire at the front and are counted at the end, so a request touches one bucket and pays once for each that it opened.
-- A request counted in bucket b is forgotten when bucket b + 60 begins: at most one window later, at least one window less a bucket later.
-- So the whole limit is back one window after it was spent, and no window less one bucket ever sees more than the limit.
local BUCKETS = 60
local WINDOW_NAMES = { 'rpm', 'rph', 'rpd' }
local BUCKET_MS = { 1000, 60000, 1440000 }

-- What a window holds now: the current bucket, which does not go back with the clock, the requests counted,
-- where the live pairs begin in `state`, and what the newest bucket of the state holds when that is the current one.
-- A state from a whole window ahead or more was written by a clock that was wrong then. Nothing of it counts: otherwise a key that
-- was used while the clock was a day ahead would be denied for a day. That costs one window more than the limit, once.
local function look(state, bucket_ms, now)
  local bucket, first = math.floor(now / bucket_ms), 5
  if not state then return bucket, 0, first, 0 end
  local total = struct.unpack('>I4', state)
  local newest, newest_count = struct.unpack('>I4I4', state, #state - 7)
  if newest >= bucket + BUCKETS then return bucket, 0, #state + 1, 0 end
  if newest > bucket then bucket = newest end
  while first < #state do
    local oldest, count = struct.unpack('>I4I4', state, first)
    if oldest > bucket - BUCKETS then break end
    total = total - count
    first = first + 8
  end
  return bucket, total, first, newest == bucket and newest_count or 0
end

-- When one more request fits: the moment in which enough of the oldest buckets have expired.
local function fits_at(state, first, excess, bucket_ms)
  local bucket, count
  repeat
    bucket, count = struct.unpack('>I4I4', state, first)
    excess = excess - count
    first = first + 8
  until excess <= 0
  return (bucket + BUCKETS) * bucket_ms
end

-- When the whole limit is back: the newest bucket has expired.
local function empty_at(state, first, bucket_ms, now)
  if not state or first > #state then return now end
  return ((struct.unpack('>I4', state, #state - 7)) + BUCKETS) * bucket_ms
end

local function add_report(report, i, limit, total, reset_ms)
  local n = #report
  report[n + 1], report[n + 2], report[n + 3], report[n + 4] = WINDOW_NAMES[i], limit, math.max(0, limit - total), reset_ms
end

-- The windows as they stand, for a request they deny; `denied` is the one that needs longest.
local function denial(states, limits, now)
  local verdict = { report = {}, retry_ms = 0 }
  for i, bucket_ms in ipairs(BUCKET_MS) do
    if limits[i] > 0 then
      local _, total, first = look(states[i], bucket_ms, now)
      if total >= limits[i] then
        local retry_ms = fits_at(states[i], first, total + 1 - limits[i], bucket_ms) - now
        if retry_ms > verdict.retry_ms then verdict.denied, verdict.retry_ms = WINDOW_NAMES[i], retry_ms end
      end
      add_report(verdict.report, i, limits[i], total, empty_at(states[i], first, bucket_ms, now) - now)
    end
  end
  return verdict
end

-- Judges one more request against every limit (0 = none, such a window is not tracked). Writes nothing.
-- Returns { report = {name, limit, remaining, reset ms, ...} } with either `denied` (name) and `retry_ms`,
-- or what to write: `fields` for HSET, `dropped` for HDEL and, when a bucket of the longest window was opened, `ttl_ms`.
local function judge_windows(states, limits, now)
  local report, fields, dropped, ttl_ms = {}, {}, {}, nil
  for i, bucket_ms in ipairs(BUCKET_MS) do
    local state, limit = states[i], limits[i]
    if limit > 0 then
      local bucket, total, first, count = look(state, bucket_ms, now)
      if total >= limit then return denial(states, limits, now) end
      local live = state and string.sub(state, first, count > 0 and -9 or -1) or ''
      fields[#fields + 1] = WINDOW_NAMES[i]
      fields[#fields + 1] = struct.pack('>I4', total + 1) .. live .. struct.pack('>I4I4', bucket, count + 1)
      add_report(report, i, limit, total + 1, (bucket + BUCKETS) * bucket_ms - now)
      -- Kept for two windows: the record must outlive its longest window, and one bucket may pass before this is set again.
      ttl_ms = count == 0 and 2 * BUCKETS * bucket_ms or nil
    elseif state then
      dropped[#dropped + 1] = WINDOW_NAMES[i]
    end
  end
  return { report = report, fields = fields, dropped = dropped, ttl_ms = ttl_ms }
end

local function write_windows(key, verdict)
  redis.call('HSET', key, unpack(verdict.fields))
  if #verdict.dropped > 0 then redis.call('HDEL', key, unpack(verdict.dropped)) end
  if verdict.ttl_ms then redis.call('PEXPIRE', key, verdict.ttl_ms) end
end
