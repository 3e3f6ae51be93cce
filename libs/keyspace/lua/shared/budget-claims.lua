-- Claims of requests on budgets, and what they count.
--
-- A claim is '<id>:<period>:<rate>', with ':<value>' behind it where the budget counts values: units for a million charged tokens, or 0 where the budget counts requests.
-- The rate of a budget of tokens as reported is '<rate>+<base>': a hold can be used for so many beside those of the rate. A hold keeps its claims, so that whatever ends it
-- changes the period in which it was admitted, without the budget.
local MILLION = 1000000
local CLAIM = '^(%d+):(%d+):(%d+)%+?(%d*):?([^,]*),?'

-- Returns the units for so many charged tokens, rounded up; `claimUnits` of libs/contracts computes the same. Returns 0 for nil.
local function claim_units(claim, tokens)
  if not tokens then return 0 end
  local rate = claim.rate
  if rate == 0 then return claim.base or 1 end
  local millions = math.floor(tokens / MILLION)
  return (claim.base or 0) + millions * rate + math.ceil((tokens - millions * MILLION) * rate / MILLION)
end

-- Returns the units that a request has used which was charged so many tokens; `usedUnits` of libs/contracts computes the same. Returns 0 for nil. `reported` are its plain tokens, nil for a reap.
local function used_units(claim, tokens, reported)
  if not tokens or not claim.base then return claim_units(claim, tokens) end
  if reported then return reported end
  return tokens == 0 and 0 or claim_units(claim, tokens)
end

-- Returns the most charged tokens that cost no more than so many units; below zero when nothing fits.
local function tokens_within(claim, units)
  local rate = claim.rate
  units = units - (claim.base or 0)
  if units < 0 or (rate == 0 and not claim.base and units < 1) then return -1 end
  if rate == 0 then return INTEGER_MAX end
  local millions = math.floor(units / rate)
  return math.min(INTEGER_MAX, millions * MILLION + math.floor((units - millions * rate) * MILLION / rate))
end

local function claim_text(claim)
  local written = claim.name .. ':' .. text(claim.rate)
  if claim.base then written = written .. '+' .. text(claim.base) end
  return claim.value and written .. ':' .. claim.value or written
end

-- Returns the claims in a text of them; none where it is nil or ''.
local function claims_in(claims_text)
  local claims, from = {}, 1
  while claims_text and from <= #claims_text do
    local _, last, id, period, rate, base, value = string.find(claims_text, CLAIM, from)
    claims[#claims + 1] = {
      id = id, period = period, name = id .. ':' .. period, rate = tonumber(rate), base = tonumber(base), value = value ~= '' and value or nil,
    }
    from = last + 1
  end
  return claims
end
