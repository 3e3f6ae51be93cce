-- Returns the limits of a key and of an account, as their records have them (LiveLimits of records/live-limits.ts); '' = none.
-- { w = { { field, 'r' or 't', ms of a bucket, limit, globs of models ('' = all), 1 where cached reads do not count }, ... },
--   c = requests at a time, i = tokens of a prompt, o = tokens of an answer }; 0 = none
-- Many records have the same text, which is decoded once. Callers do not change what is returned.
local LIMITS_KNOWN_MAX = 1000
local known_limits, known_count = {}, 0

local function limits_of(record)
  if not record or record == '' then return nil end
  local limits = known_limits[record]
  if limits then return limits end
  limits = cjson.decode(record)
  if known_count >= LIMITS_KNOWN_MAX then known_limits, known_count = {}, 0 end
  known_limits[record], known_count = limits, known_count + 1
  return limits
end

local function is_limits(record)
  if record == '' then return true end
  local is_json, limits = pcall(cjson.decode, record)
  return is_json and type(limits) == 'table' and type(limits.w) == 'table'
end

-- Returns the requests a minute of a key for all models, or nil.
local function requests_a_minute(limits)
  for _, rate in ipairs(limits.w) do
    if rate[1] == 'rpm' then return rate[4] end
  end
end

-- Returns all by which limits and budgets judge a request, from the arguments of `admit`; nil for bad ones. ARGV[18] has, between commas: tokens of its prompt, estimated; the same at
-- most; price of a million charged tokens in micro-units ('' = not known); '<rate>+<base>' by which budgets count its plain tokens ('' = not known); its session and its end user, as
-- values of budget-values.lua ('' = it names none).
local ASKED = '^(%d+),(%d+),(%d*),(%d*)%+?(%d*),(s?%x*),(u?%x*)$'

local function asked_of(KEYS, ARGV, now)
  local _, last, prompt, bound, price, rate, base, session, user = string.find(ARGV[18], ASKED)
  prompt, bound, rate, base = natural(prompt), natural(bound), natural(rate), natural(base)
  if not last or not prompt or not bound or not is_value(session) or not is_value(user) then return nil end
  return {
    model = ARGV[5], now = now, prompt = prompt, bound = bound, price = natural(price), plain = rate and base and { rate = rate, base = base },
    values = { s = session, u = user }, is_counted = ARGV[14] == '1', own = KEYS[7], budgets = KEYS[8], shared = KEYS[9], running = KEYS[10],
  }
end

-- Judges a request by the limits of its key and of its account. Writes nothing. Returns the refusal, or nil and the windows that it is to be counted in; nil without limits.
local function judge_limits(own, shared, asked)
  if not own and not shared then return nil end
  if own and own.i > 0 and asked.bound > own.i then return { 'INPUT_TOO_LONG', text(own.i) } end
  if own and own.c > 0 and redis.call('ZCOUNT', asked.running, '(' .. text(asked.now), '+inf') >= own.c then
    return { 'CONCURRENCY_EXCEEDED', text(own.c) }
  end
  local found, windows = {}, {}
  if own then add_windows(found, asked.own, own, asked.model) end
  if shared then add_windows(found, asked.shared, shared, asked.model) end
  read_windows(found, asked.now)
  for _, window in ipairs(found) do
    if window.counts == 't' and asked.bound > window.limit then return { 'PROMPT_TOO_LONG', window.field, text(window.limit) } end
    if window.counts == 't' or not asked.is_counted then windows[#windows + 1] = window end
  end
  local denied, retry_ms = full_window(windows, asked.now)
  if denied then return { 'RATE_LIMITED', denied.field, text(retry_ms), unpack(report_of(windows, asked.now)) } end
  return nil, windows
end

-- Counts an admitted request against its limits. Returns what its hold remembers: the set of what runs by its key ('' = not limited), the prompt's
-- estimate, and the rates of tokens that count it; nil where nothing is to be changed later.
local function take_limits(own, windows, asked, rid, lease_ms)
  local remembered, running, now = count_admitted(windows, asked.prompt), asked.running, asked.now
  if own and own.c > 0 then
    redis.call('ZREMRANGEBYSCORE', running, '-inf', text(now))
    redis.call('ZADD', running, text(now + lease_ms), rid)
    redis.call('PEXPIRE', running, lease_ms)
    remembered[1] = running
  end
  if #remembered == 2 and remembered[1] == '' then return nil end
  return remembered
end

-- Renews a running request: counts the tokens of its output so far, and keeps its place among those that run.
local function renew_limits(remembered, output, rid, now, lease_ms)
  local counted, rate = remembered[2] + output, remembered[3]
  if rate and counted > rate[5] then recount_rates(remembered, counted, counted, now) end
  if remembered[1] == '' then return end
  redis.call('ZADD', remembered[1], 'XX', text(now + lease_ms), rid)
  redis.call('PEXPIRE', remembered[1], lease_ms)
end

local function leave_running(remembered, rid)
  if remembered[1] ~= '' then redis.call('ZREM', remembered[1], rid) end
end

-- Ends a request: its rates have counted what was reported. `uncached` is that without what was read from a cache.
local function settle_limits(remembered, reported, uncached, rid, now)
  recount_rates(remembered, reported, uncached, now)
  leave_running(remembered, rid)
end
