-- A live record states auto-recharge as `rthr` threshold and `ramt` amount, present only while it is armed.

-- Returns the tokens that a purchase would add now, 0 when none is due: due are purchases while `balance - held` is at or below the threshold, as many as bring
-- it above; and one where the balance itself is below `least`, what a request needs at least. What holds take of a larger balance causes none.
local function purchase_due(threshold, amount, available, balance, least)
  threshold, amount = tonumber(threshold or '0'), tonumber(amount or '0')
  if amount <= 0 then return 0 end
  if available <= threshold then return amount * (math.floor((threshold - available) / amount) + 1) end
  if balance < least then return amount end
  return 0
end
