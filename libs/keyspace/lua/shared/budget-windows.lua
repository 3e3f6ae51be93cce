-- A rolling budget counts what was admitted in its window: 60 buckets, each a period of its own, which is named by the second at which it starts. A bucket leaves the window
-- when the one that is 60 after it begins, so no window less one bucket ever sees more than the amount. `starts` of such a budget has the second of its last reset, or 0:
-- what was admitted before is not counted, and the rest of the bucket in which it was reset is named by that second.
local WINDOW_BUCKETS = 60
local COUNTS = '^(-?%d+),(-?%d+)$'

-- Reads `<used>,<held>`. What is no such text was written by another than these functions, and counts as nothing.
local function read_counts(value)
  local _, last, used, held = string.find(value or '', COUNTS)
  if not last then return 0, 0 end
  return tonumber(used), tonumber(held)
end

local function write_counts(key, name, used, held)
  redis.call('HSET', key, name, text(used) .. ',' .. text(held))
end

-- Returns the second at which a bucket leaves the window.
local function leaves_at(bucket, size)
  return bucket - bucket % size + WINDOW_BUCKETS * size
end

local function names_of(id, periods)
  local names = {}
  for i, period in ipairs(periods) do names[i] = id .. ':' .. period end
  return names
end

-- Returns the bucket of a rolling budget in which requests are admitted at `seconds`, as a period, with `others`: those that are counted beside it, the oldest first.
local function bucket_at(budget, seconds)
  local size, reset = budget.size, tonumber(budget.starts)
  local bucket = seconds - seconds % size
  local first, others = bucket - (WINDOW_BUCKETS - 1) * size, {}
  if reset % size ~= 0 and reset > first and reset < bucket then table.insert(others, text(reset)) end
  for start = first, bucket - size, size do
    if start >= reset then table.insert(others, text(start)) end
  end
  local period, limit = text(math.max(bucket, reset)), budget.amount
  limit = limit + (budget.adjustments[period] or 0)
  for _, other in ipairs(others) do limit = limit + (budget.adjustments[other] or 0) end
  return { since = bucket, till = bucket + size, period = period, first = math.max(first, reset), ends = text(leaves_at(bucket, size)), others = others, limit = limit }
end

-- Adds up what these buckets of a window have. Returns used, held, and what each has.
local function read_buckets(place, id, periods)
  if #periods == 0 then return 0, 0, periods end
  local all_used, all_held, counts = 0, 0, redis.call('HMGET', place, unpack(names_of(id, periods)))
  for _, found in ipairs(counts) do
    local used, held = read_counts(found)
    all_used, all_held = all_used + used, all_held + math.max(0, held)
  end
  return all_used, all_held, counts
end

-- Returns every bucket of a window but one.
local function buckets_beside(at, period)
  local periods = {}
  for _, other in ipairs(at.others) do
    if other ~= period then table.insert(periods, other) end
  end
  if at.period ~= period then table.insert(periods, at.period) end
  return periods
end

-- Forgets the buckets that left a window last, once nothing runs of them. The control plane forgets older ones.
local function drop_passed(place, budget, ends)
  local passed = {}
  for before = 1, WINDOW_BUCKETS do passed[before] = text(ends - (2 * WINDOW_BUCKETS - 1 + before) * budget.size) end
  local names, dropped = names_of(budget.id, passed), {}
  for i, found in ipairs(redis.call('HMGET', place, unpack(names))) do
    local _, held = read_counts(found)
    if found and held == 0 then table.insert(dropped, names[i]) end
  end
  if #dropped > 0 then redis.call('HDEL', place, unpack(dropped)) end
end
