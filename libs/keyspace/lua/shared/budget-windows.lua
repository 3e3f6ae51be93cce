-- A rolling budget counts what was admitted in its window: 60 buckets, each a period of its own, which is named by the second at which it starts. A bucket leaves the window
-- when the one that is 60 after it begins, so no window less one bucket ever sees more than the amount. `starts` of such a budget has the second of its last reset, or 0:
-- what was admitted before is not counted, and the rest of the bucket in which it was reset is named by that second.
local WINDOW_BUCKETS = 60

-- Reads `<used>,<held>`. What is no such text was written by another than these functions, and counts as nothing.
local function read_counts(value)
  local comma = value and string.find(value, ',', 1, true)
  if not comma then return 0, 0 end
  return integer(string.sub(value, 1, comma - 1)) or 0, integer(string.sub(value, comma + 1)) or 0
end

local function write_counts(key, name, used, held)
  redis.call('HSET', key, name, text(used) .. ',' .. text(held))
end

-- Returns the second at which a bucket leaves the window.
local function leaves_at(bucket, size)
  return bucket - bucket % size + WINDOW_BUCKETS * size
end

-- Returns the window of a rolling budget at `now`: the bucket in which requests are admitted, when that leaves, and the others that are counted, the oldest first. Returns nil for any other budget.
local function window_at(budget, now)
  local size = budget[10] or 0
  if size == 0 then return nil end
  local seconds, since = math.floor(now / 1000), tonumber(budget[4])
  local bucket = seconds - seconds % size
  local first = bucket - (WINDOW_BUCKETS - 1) * size
  local window = {
    period = text(math.max(bucket, since)), first = math.max(first, since), size = size, ends = leaves_at(bucket, size), others = {}, counts = {}, used = 0, held = 0,
  }
  if since % size ~= 0 and since > first and since < bucket then table.insert(window.others, text(since)) end
  for start = first, bucket - size, size do
    if start >= since then table.insert(window.others, text(start)) end
  end
  return window
end

local function names_of(id, periods)
  local names = {}
  for i, period in ipairs(periods) do names[i] = id .. ':' .. period end
  return names
end

-- Adds up what these buckets of a window have.
local function read_window(place, window, id, periods)
  if #periods == 0 then return end
  window.counts = redis.call('HMGET', place, unpack(names_of(id, periods)))
  for _, found in ipairs(window.counts) do
    local used, held = read_counts(found)
    window.used, window.held = window.used + used, window.held + math.max(0, held)
  end
end

-- Returns every bucket of a window but one.
local function buckets_beside(window, period)
  local periods = {}
  for _, other in ipairs(window.others) do
    if other ~= period then table.insert(periods, other) end
  end
  if window.period ~= period then table.insert(periods, window.period) end
  return periods
end

-- Units that may be used in a period, or in a window: what was granted in its buckets counts as long as they do.
local function limit_of(budget, period, window)
  if not window then return budget[3] + (budget[7][period] or 0) end
  local limit = budget[3] + (budget[7][window.period] or 0)
  for _, other in ipairs(window.others) do limit = limit + (budget[7][other] or 0) end
  return limit
end

-- Forgets the buckets that left a window last, once nothing runs of them. The control plane forgets older ones.
local function drop_passed(place, window, id)
  local passed = {}
  for before = 1, WINDOW_BUCKETS do passed[before] = text(window.ends - (2 * WINDOW_BUCKETS - 1 + before) * window.size) end
  local names, dropped = names_of(id, passed), {}
  for i, found in ipairs(redis.call('HMGET', place, unpack(names))) do
    local _, held = read_counts(found)
    if found and held == 0 then table.insert(dropped, names[i]) end
  end
  if #dropped > 0 then redis.call('HDEL', place, unpack(dropped)) end
end
