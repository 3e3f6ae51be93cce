-- Rates: sliding windows of requests and of tokens, each counted in 60 buckets.
--
-- A key and an account each have a hash of windows: the field of a rate holds what a request touches of it, the newest bucket, the amount counted in the
-- window as that bucket began or later, and that of the newest bucket. Behind it (`<hash>:past:<field>`) is a ring of 60 pairs (bucket, amount): bucket b
-- is at b % 60, once a newer one was opened. A pair of another bucket counts nothing. So most requests read and write 20 bytes a rate.
-- The count of bucket b is forgotten when bucket b + 60 begins: at most one window later, at least one window less a bucket later.
-- So the whole limit is back one window after it was spent, and no window less one bucket ever sees more requests than the limit.
--
-- Rates count requests at their admission. Rates of tokens count the prompt's estimate at admission, the output as it is made, and at settlement the
-- difference to what was reported. A request is admitted while its windows have any room, so tokens can pass a limit by one prompt and what runs.
local BUCKETS = 60
local HEAD = '>I4dd'
local HEAD_BYTES = 20
local PAIR = '>I4d'
local PAIR_BYTES = 12
local RING_BYTES = PAIR_BYTES * BUCKETS
-- Buckets in which one request was counted, as its hold remembers them. What was counted in others is not taken back.
local COUNTED_MAX = 8

-- Returns a rate with its present window: `counts` is 'r' (requests) or 't' (tokens).
local function window_of(key, field, counts, bucket_ms, limit)
  return { key = key, field = field, counts = counts, bucket_ms = bucket_ms, limit = limit, newest = 0, total = 0, count = 0 }
end

local function past_of(window)
  return window.key .. ':past:' .. window.field
end

local function read_head(window, found)
  if found and #found == HEAD_BYTES then window.newest, window.total, window.count = struct.unpack(HEAD, found) end
end

-- Returns the count of a bucket that is older than the newest.
local function count_in(window, bucket)
  if not window.past then window.past = redis.call('GET', past_of(window)) or '' end
  local at = PAIR_BYTES * (bucket % BUCKETS)
  if #window.past < at + PAIR_BYTES then return 0 end
  local found, count = struct.unpack(PAIR, window.past, at + 1)
  return found == bucket and count or 0
end

-- Moves a window to the present: its newest bucket, which does not go back with the clock, becomes the current one. Writes nothing but notes in `window`.
-- A state from a whole window ahead or more was written by a clock that was wrong then. Nothing of it counts: otherwise a key that
-- was used while the clock was a day ahead would be denied for a day. That costs one window more than the limit, once.
local function move_window(window, now)
  local bucket, newest = math.floor(now / window.bucket_ms), window.newest
  if newest >= bucket and newest < bucket + BUCKETS then return end
  if newest > bucket or newest <= bucket - BUCKETS then
    -- The numbers of its buckets come again, where its clock was ahead.
    window.is_cleared = newest > bucket
    window.total = 0
  else
    local total = window.total
    for passed = newest + 1, bucket do total = total - count_in(window, passed - BUCKETS) end
    window.total, window.closed, window.closed_count = total, newest, window.count
  end
  window.newest, window.count, window.is_opened = bucket, 0, true
end

-- Returns when one more request fits: the moment in which enough of the oldest buckets have expired.
local function fits_at(window)
  local excess, oldest = window.total + 1 - window.limit, window.newest - BUCKETS
  repeat
    oldest = oldest + 1
    local count = oldest == window.newest and window.count
      or oldest == window.closed and window.closed_count or count_in(window, oldest)
    excess = excess - count
  until excess <= 0 or oldest >= window.newest
  return (oldest + BUCKETS) * window.bucket_ms
end

-- Returns the newest bucket that has anything, for the time at which the whole limit is back.
local function reset_ms_of(window, now)
  if window.total <= 0 then return 0 end
  local newest = window.newest
  if window.count == 0 then newest = window.closed or newest end
  return (newest + BUCKETS) * window.bucket_ms - now
end

local function add_report(report, window, now)
  local n = #report
  report[n + 1], report[n + 2] = window.field, text(window.limit)
  report[n + 3], report[n + 4] = text(math.max(0, window.limit - window.total)), text(math.max(0, reset_ms_of(window, now)))
end

-- Appends the rates of a record to `windows`: those of all models and those of this one; with `counts`, those alone that count it.
local function add_windows(windows, key, limits, model, counts)
  for _, rate in ipairs(limits.w) do
    if (not counts or rate[2] == counts) and (rate[5] == '' or model_allowed(rate[5], model)) then
      local window = window_of(key, rate[1], rate[2], rate[3], rate[4])
      window.ignores_cache = rate[6] == 1
      windows[#windows + 1] = window
    end
  end
end

-- Reads windows as they stand now. Those of one hash, which stand beside each other, are one command.
local function read_windows(windows, now)
  local from = 1
  while from <= #windows do
    local key, fields = windows[from].key, {}
    for at = from, #windows do
      if windows[at].key ~= key then break end
      fields[#fields + 1] = windows[at].field
    end
    for i, found in ipairs(redis.call('HMGET', key, unpack(fields))) do
      local window = windows[from + i - 1]
      read_head(window, found)
      move_window(window, now)
    end
    from = from + #fields
  end
end

-- Judges one more request. Returns the window that denies it longest, and for how long; nil where every window has room.
local function full_window(windows, now)
  local denied, retry_ms
  for _, window in ipairs(windows) do
    if window.total >= window.limit then
      local wait_ms = fits_at(window) - now
      if not retry_ms or wait_ms > retry_ms then denied, retry_ms = window, wait_ms end
    end
  end
  return denied, retry_ms
end

local function report_of(windows, now)
  local report = {}
  for _, window in ipairs(windows) do add_report(report, window, now) end
  return report
end

-- Counts in the current bucket. `amount` below zero is taken from it, never below 0.
local function count(window, amount)
  local added = math.max(amount, -window.count)
  window.count, window.total = window.count + added, math.max(0, window.total + added)
  return added
end

-- Takes from a bucket that is older than the newest, where it is live. Returns how much was taken.
local function take_from(window, bucket, amount)
  if bucket <= window.newest - BUCKETS then return 0 end
  if bucket == window.newest then return -count(window, -amount) end
  if bucket == window.closed then
    local taken = math.min(amount, window.closed_count)
    window.closed_count, window.total = window.closed_count - taken, math.max(0, window.total - taken)
    return taken
  end
  local there = count_in(window, bucket)
  local taken = math.min(amount, there)
  if taken > 0 then
    window.total = math.max(0, window.total - taken)
    window.changes = window.changes or {}
    window.changes[#window.changes + 1] = { bucket, there - taken }
  end
  return taken
end

-- Writes the buckets of a window that are not its newest. Its ring is kept for two windows: it must outlive the window, and one bucket may pass before this is
-- set again.
local function write_ring(window)
  if not window.closed and not window.is_cleared and not window.changes then return end
  local past, changes = past_of(window), window.changes or {}
  if window.is_cleared then redis.call('SET', past, string.rep('\0', RING_BYTES)) end
  if window.closed then changes[#changes + 1] = { window.closed, window.closed_count } end
  for _, pair in ipairs(changes) do
    redis.call('SETRANGE', past, PAIR_BYTES * (pair[1] % BUCKETS), struct.pack(PAIR, pair[1], pair[2]))
  end
  redis.call('PEXPIRE', past, 2 * BUCKETS * window.bucket_ms)
end

-- Keeps a hash for two of its longest windows, as it keeps a ring.
local function keep_windows(key, bucket_ms)
  local keep_ms = 2 * BUCKETS * bucket_ms
  if redis.call('PTTL', key) < keep_ms - bucket_ms then redis.call('PEXPIRE', key, keep_ms) end
end

-- Writes windows. Those of one hash, which stand beside each other, are one command: it costs Redis and its file several times what one more field does.
local function write_windows(windows)
  local key, fields
  for _, window in ipairs(windows) do
    if window.key ~= key then
      if key then redis.call('HSET', key, unpack(fields)) end
      key, fields = window.key, {}
    end
    local n = #fields
    fields[n + 1], fields[n + 2] = window.field, struct.pack(HEAD, window.newest, window.total, window.count)
    write_ring(window)
  end
  if key then redis.call('HSET', key, unpack(fields)) end
  for _, window in ipairs(windows) do
    if window.is_opened then keep_windows(window.key, window.bucket_ms) end
  end
end

-- Counts an admitted request. Returns '', the prompt's estimate, and what its hold remembers of each rate of tokens, which settle and checkpoint
-- change: the hash, the field, ms of a bucket, 1 where cached reads do not count, the amount counted, and the buckets in which it was, each with its amount.
local function count_admitted(windows, prompt)
  local counted = { '', prompt }
  for _, window in ipairs(windows) do
    local amount = window.counts == 'r' and 1 or prompt
    count(window, amount)
    if window.counts == 't' then
      counted[#counted + 1] = { window.key, window.field, window.bucket_ms, window.ignores_cache and 1 or 0, amount, window.newest, amount }
    end
  end
  write_windows(windows)
  return counted
end

-- Notes in which bucket a request was counted, too.
local function note_bucket(rate, bucket, amount)
  local last = #rate
  if rate[last - 1] == bucket then
    rate[last] = rate[last] + amount
    return
  end
  if last >= 5 + 2 * COUNTED_MAX then
    -- The first is kept: it has the prompt's estimate, and most of what is taken back.
    for at = 8, last - 2 do rate[at] = rate[at + 2] end
    last = last - 2
  end
  rate[last + 1], rate[last + 2] = bucket, amount
end

-- Takes `amount` back from the buckets in which a request was counted, as far as they are live.
local function take_back(window, rate, amount)
  for at = 6, #rate, 2 do
    local taken = take_from(window, rate[at], math.min(amount, rate[at + 1]))
    rate[at + 1], amount = rate[at + 1] - taken, amount - taken
  end
end

-- Makes what the rates of tokens have counted of a request `all`, or `uncached` where cached reads do not count: what is missing is counted now.
-- `remembered`: as count_admitted returns it.
local function recount_rates(remembered, all, uncached, now)
  local windows = {}
  for at = 3, #remembered do windows[at - 2] = window_of(remembered[at][1], remembered[at][2], 't', remembered[at][3], 0) end
  read_windows(windows, now)
  for i, window in ipairs(windows) do
    local rate = remembered[i + 2]
    local target = rate[4] == 1 and uncached or all
    local amount = target - rate[5]
    if amount > 0 then
      count(window, amount)
      note_bucket(rate, window.newest, amount)
    else
      take_back(window, rate, -amount)
    end
    rate[5] = target
  end
  write_windows(windows)
end
