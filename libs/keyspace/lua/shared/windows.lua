-- Request windows: minute, hour and day, each counted in 60 buckets.
--
-- The windows of a key are two texts. At its name stands, for each window, what a request touches: the newest bucket, the requests counted in the window as
-- that bucket began or later, and those of the newest bucket, 4 bytes each. Behind it (`:past`), for each window, is a ring of 60 pairs (bucket, count) of
-- 4 bytes each: bucket b is at b % 60, once a newer one was opened. A pair of another bucket counts nothing. So most requests write 36 bytes.
-- A request counted in bucket b is forgotten when bucket b + 60 begins: at most one window later, at least one window less a bucket later.
-- So the whole limit is back one window after it was spent, and no window less one bucket ever sees more than the limit.
local BUCKETS = 60
local WINDOW_NAMES = { 'rpm', 'rph', 'rpd' }
local BUCKET_MS = { 1000, 60000, 1440000 }
local HEAD = '>I4I4I4I4I4I4I4I4I4'
local HEAD_BYTES = 36
local RING_BYTES = 8 * BUCKETS

local function past_of(key)
  return key .. ':past'
end

-- The windows at `key` as they stand; `found` is what was read there. `past` is read when it is needed first.
local function read_windows(key, found)
  if not found or #found < HEAD_BYTES then return { key = key, head = { 0, 0, 0, 0, 0, 0, 0, 0, 0 } } end
  return { key = key, head = { struct.unpack(HEAD, found) } }
end

local function pair_at(i, bucket)
  return (i - 1) * RING_BYTES + 8 * (bucket % BUCKETS)
end

-- Requests counted in a bucket that is older than the newest.
local function count_in(state, i, bucket)
  if not state.past then state.past = redis.call('GET', past_of(state.key)) or '' end
  local at = pair_at(i, bucket)
  if #state.past < at + 8 then return 0 end
  local found, count = struct.unpack('>I4I4', state.past, at + 1)
  return found == bucket and count or 0
end

-- Returns what a window holds now: the current bucket, which does not go back with the clock, the requests counted, and those of the current bucket.
-- A state from a whole window ahead or more was written by a clock that was wrong then. Nothing of it counts: otherwise a key that
-- was used while the clock was a day ahead would be denied for a day. That costs one window more than the limit, once.
local function look(state, i, bucket_ms, now)
  local bucket = math.floor(now / bucket_ms)
  local newest, total, count = state.head[3 * i - 2], state.head[3 * i - 1], state.head[3 * i]
  if newest >= bucket and newest < bucket + BUCKETS then return newest, total, count end
  if newest > bucket or newest <= bucket - BUCKETS then return bucket, 0, 0 end
  for passed = newest + 1, bucket do total = total - count_in(state, i, passed - BUCKETS) end
  return bucket, total, 0
end

-- When one more request fits: the moment in which enough of the oldest buckets have expired.
local function fits_at(state, i, bucket, excess, bucket_ms)
  local newest, newest_count = state.head[3 * i - 2], state.head[3 * i]
  local oldest = bucket - BUCKETS
  repeat
    oldest = oldest + 1
    excess = excess - (oldest == newest and newest_count or count_in(state, i, oldest))
  until excess <= 0 or oldest >= bucket
  return (oldest + BUCKETS) * bucket_ms
end

local function add_report(report, i, limit, total, reset_ms)
  local n = #report
  report[n + 1], report[n + 2], report[n + 3], report[n + 4] = WINDOW_NAMES[i], limit, math.max(0, limit - total), reset_ms
end

-- The windows as they stand, for a request they deny; `denied` is the one that needs longest.
local function denial(state, limits, now)
  local verdict = { report = {}, retry_ms = 0 }
  for i, bucket_ms in ipairs(BUCKET_MS) do
    if limits[i] > 0 then
      local bucket, total = look(state, i, bucket_ms, now)
      if total >= limits[i] then
        local retry_ms = fits_at(state, i, bucket, total + 1 - limits[i], bucket_ms) - now
        if retry_ms > verdict.retry_ms then verdict.denied, verdict.retry_ms = WINDOW_NAMES[i], retry_ms end
      end
      -- The whole limit is back when the newest bucket has expired.
      local reset_ms = total > 0 and (state.head[3 * i - 2] + BUCKETS) * bucket_ms - now or 0
      add_report(verdict.report, i, limits[i], total, reset_ms)
    end
  end
  return verdict
end

-- Notes in `verdict` what a window becomes: its three numbers, and what is written over in its ring.
local function set_window(verdict, i, bucket, total, count)
  local head, newest = verdict.head, verdict.head[3 * i - 2]
  local past = verdict.past
  if newest > bucket then
    -- Dropped, or from a clock that was ahead: the numbers of its buckets come again.
    past[#past + 1] = { at = pair_at(i, 0), text = string.rep('\0', RING_BYTES) }
  elseif newest > 0 and newest < bucket then
    past[#past + 1] = { at = pair_at(i, newest), text = struct.pack('>I4I4', newest, head[3 * i]) }
  end
  head[3 * i - 2], head[3 * i - 1], head[3 * i] = bucket, total, count
end

-- Judges one more request against every limit (0 = none, such a window is not tracked). Writes nothing.
-- Returns { report = {name, limit, remaining, reset ms, ...} } with either `denied` (name) and `retry_ms`,
-- or what to write: `head`, the changes of `past` and, when a bucket of the longest window was opened, `ttl_ms`.
local function judge_windows(key, found, limits, now)
  local state = read_windows(key, found)
  for i, bucket_ms in ipairs(BUCKET_MS) do
    if limits[i] > 0 then
      local _, total = look(state, i, bucket_ms, now)
      if total >= limits[i] then return denial(state, limits, now) end
    end
  end
  local verdict = { report = {}, head = state.head, past = {} }
  for i, bucket_ms in ipairs(BUCKET_MS) do
    if limits[i] > 0 then
      local bucket, total, count = look(state, i, bucket_ms, now)
      set_window(verdict, i, bucket, total + 1, count + 1)
      add_report(verdict.report, i, limits[i], total + 1, (bucket + BUCKETS) * bucket_ms - now)
      -- Kept for two windows: the record must outlive its longest window, and one bucket may pass before this is set again.
      verdict.longest_ms, verdict.is_opened = 2 * BUCKETS * bucket_ms, count == 0
    elseif state.head[3 * i - 2] > 0 then
      set_window(verdict, i, 0, 0, 0)
    end
  end
  return verdict
end

local function write_windows(key, verdict)
  redis.call('SETRANGE', key, 0, struct.pack(HEAD, unpack(verdict.head)))
  if verdict.is_opened then redis.call('PEXPIRE', key, verdict.longest_ms) end
  if #verdict.past == 0 then return end
  local past = past_of(key)
  for _, change in ipairs(verdict.past) do redis.call('SETRANGE', past, change.at, change.text) end
  redis.call('PEXPIRE', past, verdict.longest_ms)
end
