-- Request windows: minute, hour and day, each counted in 60 buckets.
--
-- A window's state is one string: its total as 4 bytes, then a pair (bucket number, count) of 4 bytes each for every bucket in use, oldest first.
-- Buckets expire at the front and are counted at the end, so a request touches one bucket and pays once for each that it opened.
-- A request counted in bucket b is forgotten when bucket b + 60 begins: at most one window later, at least one window less a bucket later.
-- So the whole limit is back one window after it was spent, and no window less one bucket ever sees more than the limit.
local BUCKETS = 60
local WINDOWS = { { name = 'rpm', bucket_ms = 1000 }, { name = 'rph', bucket_ms = 60000 }, { name = 'rpd', bucket_ms = 1440000 } }

-- What a window holds now. The bucket never goes back, whatever the clock does.
local function look(state, bucket_ms, now)
  local bucket, total, first = math.floor(now / bucket_ms), 0, 5
  if not state then return { bucket = bucket, total = 0, live = '' } end
  total = struct.unpack('>I4', state)
  bucket = math.max(bucket, (struct.unpack('>I4', state, #state - 7)))
  while first < #state do
    local oldest, count = struct.unpack('>I4I4', state, first)
    if oldest > bucket - BUCKETS then break end
    total = total - count
    first = first + 8
  end
  return { bucket = bucket, total = total, live = string.sub(state, first) }
end

-- The state with one more request in the current bucket, and whether that bucket is new.
local function counted(window)
  local live, count = window.live, 0
  if live ~= '' then
    local newest, newest_count = struct.unpack('>I4I4', live, #live - 7)
    if newest == window.bucket then
      count = newest_count
      live = string.sub(live, 1, -9)
    end
  end
  return struct.pack('>I4', window.total + 1) .. live .. struct.pack('>I4I4', window.bucket, count + 1), count == 0
end

-- When one more request fits: the moment in which enough of the oldest buckets have expired.
local function fits_at(window, limit, bucket_ms)
  local excess, at, bucket, count = window.total + 1 - limit, 1, nil, nil
  repeat
    bucket, count = struct.unpack('>I4I4', window.live, at)
    excess = excess - count
    at = at + 8
  until excess <= 0
  return (bucket + BUCKETS) * bucket_ms
end

-- When the whole limit is back: the newest bucket has expired.
local function empty_at(window, bucket_ms, now)
  if window.live == '' then return now end
  return ((struct.unpack('>I4', window.live, #window.live - 7)) + BUCKETS) * bucket_ms
end

-- Judges one more request against every limit (0 = none, such a window is not tracked). Writes nothing.
-- Returns { report = {name, limit, remaining, reset ms, ...} } with either `denied` (name) and `retry_ms`, by the window that needs longest,
-- or what to write: `fields` for HSET, `dropped` for HDEL and, when a bucket of the longest window was opened, `ttl_ms`.
local function judge_windows(states, limits, now)
  local verdict = { report = {}, fields = {}, dropped = {} }
  local looked = {}
  for i, spec in ipairs(WINDOWS) do
    if limits[i] > 0 then
      looked[i] = look(states[i], spec.bucket_ms, now)
      if looked[i].total >= limits[i] then
        local retry_ms = fits_at(looked[i], limits[i], spec.bucket_ms) - now
        if not verdict.denied or retry_ms > verdict.retry_ms then
          verdict.denied, verdict.retry_ms = spec.name, retry_ms
        end
      end
    elseif states[i] then
      table.insert(verdict.dropped, spec.name)
    end
  end
  for i, spec in ipairs(WINDOWS) do
    local window = looked[i]
    if window then
      local used, reset_at = window.total, empty_at(window, spec.bucket_ms, now)
      if not verdict.denied then
        local state, is_new = counted(window)
        used, reset_at = used + 1, (window.bucket + BUCKETS) * spec.bucket_ms
        table.insert(verdict.fields, spec.name)
        table.insert(verdict.fields, state)
        -- Kept for two windows: the record must outlive its longest window, and one bucket may pass before this is set again.
        verdict.ttl_ms = is_new and 2 * BUCKETS * spec.bucket_ms or nil
      end
      for _, value in ipairs({ spec.name, limits[i], math.max(0, limits[i] - used), reset_at - now }) do
        table.insert(verdict.report, value)
      end
    end
  end
  return verdict
end

local function write_windows(key, verdict)
  redis.call('HSET', key, unpack(verdict.fields))
  if #verdict.dropped > 0 then redis.call('HDEL', key, unpack(verdict.dropped)) end
  if verdict.ttl_ms then redis.call('PEXPIRE', key, verdict.ttl_ms) end
end
