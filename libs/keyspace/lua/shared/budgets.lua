-- This file has the budgets of keys and accounts, and the claims that requests have on them.
--
-- A live record's `bud` has its budgets, as the control plane writes them: a JSON list of {id, unit, amount, starts, models, action, adjustments, kind, required, bucket}. `starts`: Unix
-- seconds at which its periods begin, ten digits each, in order; the last one has no end. `adjustments`: by period, what is added to the amount. `kind`: of its values
-- (budget-values.lua), '' where it counts all requests together. `required`: 1 where a request without a value is refused. `bucket`: seconds of a period of a rolling budget
-- (budget-windows.lua), 0 for any other.
-- The hash {s}:bud:<account> counts, for each budget and period `<id>:<period>`, '<used>,<held>' in the budget's units.
local PERIOD_DIGITS = 10

local function has_budgets(list)
  return list and list ~= ''
end

-- Each record's text is decoded once. A budget keeps the period that it was last asked for; nothing else of what is returned changes.
local BUDGETS_KNOWN_MAX = 1000
local known_budgets, budgets_count = {}, 0

local function budgets_in(list)
  local budgets = known_budgets[list]
  if budgets then return budgets end
  budgets = {}
  for i, one in ipairs(cjson.decode(list)) do
    budgets[i] = {
      id = text(one[1]), unit = one[2], amount = one[3], starts = one[4], models = one[5], is_bound = one[6] ~= 'notify', falls_back = one[6] == 'fallback',
      adjustments = one[7], kind = one[8] ~= '' and one[8], is_required = one[9] == 1, size = one[10] or 0,
    }
  end
  if budgets_count >= BUDGETS_KNOWN_MAX then known_budgets, budgets_count = {}, 0 end
  known_budgets[list], budgets_count = budgets, budgets_count + 1
  return budgets
end

-- Returns the period of a calendar that a second is in; the first also has what was before it, and the last has no end.
local function calendar_at(budget, seconds)
  local starts, since, till = budget.starts, 0, INTEGER_MAX
  local start = tonumber(string.sub(starts, 1, PERIOD_DIGITS))
  for at = 1 + PERIOD_DIGITS, #starts, PERIOD_DIGITS do
    local following = tonumber(string.sub(starts, at, at + PERIOD_DIGITS - 1))
    if following > seconds then
      till = following
      break
    end
    since, start = following, following
  end
  local period = text(start)
  return { since = since, till = till, period = period, ends = till < INTEGER_MAX and text(till) or '0', limit = budget.amount + (budget.adjustments[period] or 0) }
end

-- Returns the period of a budget at `now`: its name, its limit, its end ('0' = none), and the seconds in which it is the one.
local function period_at(budget, now)
  local seconds, at = math.floor(now / 1000), budget.at
  if at and at.since <= seconds and seconds < at.till then return at end
  at = budget.size > 0 and bucket_at(budget, seconds) or calendar_at(budget, seconds)
  at.name = budget.id .. ':' .. at.period
  budget.at = at
  return at
end

-- Returns the claim of a request on one budget; nil where the budget does not apply to it. `price` is in units of money for a million charged tokens. `plain` is its rate and base
-- where tokens are counted as reported.
local function claim_on(budget, request)
  if not model_allowed(budget.models, request.model) then return nil end
  local unit, rate, base = budget.unit, MILLION, nil
  if unit == 'requests' then
    -- It was counted when another model was to answer it.
    if request.is_counted then return nil end
    rate = 0
  elseif unit == 'money' then
    rate = request.price
    if rate == 0 then return nil end
  elseif unit == 'tokens' then
    rate, base = request.plain.rate, request.plain.base
  end
  local at = period_at(budget, request.now)
  return { budget = budget, at = at, id = budget.id, name = at.name, rate = rate, base = base }
end

-- Names the value that a claim counts under. Returns the refusal of a request that names none although it must.
local function note_value(key, claim, request)
  local kind = claim.budget.kind
  if not kind then return nil end
  local value = request.values[kind]
  if value == '' and claim.budget.is_required then return { 'VALUE_REQUIRED', claim.id, kind } end
  claim.value, claim.kept_till = counted_value(key, kind, value, request.now)
end

-- Returns the claims of a request on the budgets in `lists`; nil and a refusal when one counts money and the price is not known, or a value is missing.
local function claims_of(key, lists, request)
  local claims = {}
  for i = 1, 2 do
    if has_budgets(lists[i]) then
      for _, budget in ipairs(budgets_in(lists[i])) do
        if (budget.unit == 'money' and not request.price) or (budget.unit == 'tokens' and not request.plain) then return nil, { 'FENCED' } end
        local claim = claim_on(budget, request)
        if claim then
          local refusal = note_value(key, claim, request)
          if refusal then return nil, refusal end
          claims[#claims + 1] = claim
        end
      end
    end
  end
  return claims
end

-- A key of another type, which another program wrote, counts as nothing, and must not keep a charge from being settled.
local function read_value(place, name)
  local found = redis.pcall('HGET', place, name)
  if type(found) ~= 'table' then return found end
  redis.call('DEL', place)
  return false
end

local function counts_of(key, claims)
  local counts, names, places = {}, {}, {}
  for i, claim in ipairs(claims) do
    if claim.value then
      counts[i] = read_value(place_of(key, claim.value), claim.name)
    else
      counts[i] = false
      table.insert(names, claim.name)
      table.insert(places, i)
    end
  end
  if #names > 0 then
    for i, found in ipairs(redis.call('HMGET', key, unpack(names))) do counts[places[i]] = found end
  end
  return counts
end

-- Returns when a claim fits a rolling budget: enough of the oldest buckets have left its window.
local function budget_fits_at(claim, found)
  local used, size = found.used, claim.budget.size
  for i, bucket in ipairs(claim.at.others) do
    local counted = read_counts(found.counts[i])
    used = used - counted
    if counted > 0 and tokens_within(claim, claim.at.limit - used) >= found.min then return text(leaves_at(tonumber(bucket), size)) end
  end
  return claim.at.ends
end

local function budget_exceeded(claim, found)
  return {
    'BUDGET_EXCEEDED', text(math.max(0, found.left)), claim.id, claim.budget.unit, text(claim.at.limit), text(found.used), text(found.held),
    claim.at.others and budget_fits_at(claim, found) or claim.at.ends, claim.value and string.sub(claim.value, 1, 1) or '', claim.budget.falls_back and '1' or '0',
  }
end

-- Reads what is counted of these claims. Returns the most tokens that all of them have room for, and the refusal of a request that needs `min`: a budget that is
-- used up comes before one in which other holds are in the way.
local function judge_claims(key, claims, min)
  local counts, tokens, held = counts_of(key, claims), INTEGER_MAX, nil
  for i, claim in ipairs(claims) do
    claim.used, claim.held = read_counts(counts[i])
    claim.is_new = not counts[i]
    if claim.budget.is_bound then
      local used, running, others, before, beside = claim.used, math.max(0, claim.held), claim.at.others, nil, nil
      if others then
        before, beside, others = read_buckets(place_of(key, claim.value), claim.id, others)
        used, running = used + before, running + beside
      end
      local left = tokens_within(claim, claim.at.limit - used)
      if left < min then return tokens, budget_exceeded(claim, { left = left, used = used, held = running, min = min, counts = others }) end
      local room = tokens_within(claim, claim.at.limit - used - running)
      if room < min then held = { 'TOKENS_HELD', text(left), text(left - math.max(0, room)), '0' } end
      tokens = math.min(tokens, room)
    end
  end
  return tokens, held
end

-- Forgets what a value has used of a budget in periods that are over, once nothing runs of them.
local function drop_ended(place, claim)
  local prefix = claim.id .. ':'
  local first = claim.at.first or tonumber(claim.at.period)
  local found = redis.call('HGETALL', place)
  for i = 1, math.floor(#found / 2) do
    local name = found[2 * i - 1]
    local _, held = read_counts(found[2 * i])
    local period = string.sub(name, 1, #prefix) == prefix and tonumber(string.sub(name, #prefix + 1))
    if period and period < first and held == 0 then redis.call('HDEL', place, name) end
  end
end

-- Notes what a claim has used and holds: of a value it is written, of the others the fields come to `fields`, which write_fields writes.
local function note_counts(key, claim, used, held, fields)
  if claim.value then return write_counts(place_of(key, claim.value), claim.name, used, held) end
  local n = #fields
  fields[n + 1], fields[n + 2] = claim.name, text(used) .. ',' .. text(held)
end

-- One command for all fields costs Redis and its file a part of what one for each does.
local function write_fields(key, fields)
  if #fields > 0 then redis.call('HSET', key, unpack(fields)) end
end

-- Holds a grant in the budgets that were read. Returns the claims as their text, nil without any.
local function hold_claims(key, claims, grant, now)
  local claims_text, fields = nil, {}
  for _, claim in ipairs(claims) do note_counts(key, claim, claim.used, claim.held + claim_units(claim, grant), fields) end
  write_fields(key, fields)
  for _, claim in ipairs(claims) do
    local place = place_of(key, claim.value)
    if claim.value then
      if claim.is_new then drop_ended(place, claim) end
      local ends = tonumber(claim.at.ends)
      local till = ends == 0 and now + VALUES_KEPT_MS or ends * 1000 + VALUE_KEPT_MS
      if claim.is_new or claim.kept_till < till then keep_value(key, claim.value, till, now) end
    elseif claim.is_new and claim.at.others then
      drop_passed(place, claim.budget, tonumber(claim.at.ends))
    end
    claims_text = claims_text and claims_text .. ',' .. claim_text(claim) or claim_text(claim)
  end
  return claims_text
end

-- Moves what is used and held of each claim by so many charged tokens: `used` and `held` are added, `unused` (of a reap) and `unheld` taken away. `reported` are the plain tokens of what is used, nil for a reap. `now` is in Unix ms.
local function move_claims(key, claims, move)
  local counts, fields = counts_of(key, claims), {}
  for i, claim in ipairs(claims) do
    local used, held = read_counts(counts[i])
    used = used + used_units(claim, move.used, move.reported) - used_units(claim, move.unused)
    held = held + claim_units(claim, move.held) - claim_units(claim, move.unheld)
    note_counts(key, claim, used, held, fields)
    if claim.value and not counts[i] then keep_found(key, claim.value, move.now) end
  end
  write_fields(key, fields)
end

-- Returns the most tokens that a hold of `amount` can have in one budget; a budget that was removed bounds nothing.
local function grown_within(key, claim, budget, growth)
  if not budget or not budget.is_bound or claim.rate == 0 then return INTEGER_MAX end
  local place, at = place_of(key, claim.value), period_at(budget, growth.now)
  local used, held = read_counts(redis.call('HGET', place, claim.name))
  local counted, limit = used + math.max(0, held), at.limit
  if at.others then
    local before, beside = read_buckets(place, claim.id, buckets_beside(at, claim.period))
    counted = counted + before + beside
  else
    limit = budget.amount + (budget.adjustments[claim.period] or 0)
  end
  return tokens_within(claim, limit - counted + claim_units(claim, growth.amount))
end

-- Grows a hold of `growth.amount` tokens by up to `growth.wanted` in its budgets at `growth.now`, whose live records have `growth.lists`. Returns by how many.
local function grow_claims(key, claims, growth)
  local budgets, amount, grown = {}, growth.amount, growth.wanted
  for i = 1, 2 do
    if has_budgets(growth.lists[i]) then
      for _, budget in ipairs(budgets_in(growth.lists[i])) do budgets[budget.id] = budget end
    end
  end
  for _, claim in ipairs(claims) do grown = math.min(grown, grown_within(key, claim, budgets[claim.id], growth) - amount) end
  if grown <= 0 then return 0 end
  move_claims(key, claims, { held = amount + grown, unheld = amount, now = growth.now })
  return grown
end
