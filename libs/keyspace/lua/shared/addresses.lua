-- Address allow-list of a key: '' allows every address, else '<32 hex>/<prefix bits>' entries, comma-separated, as `normaliseAllowlist` writes them.
local function address_listed(list, address)
  if list == '' then return true end
  if #address ~= 32 then return false end
  local from = 1
  while true do
    local comma = string.find(list, ',', from, true)
    local bits = tonumber(string.sub(list, from + 33, (comma or 0) - 1))
    local digits, rest = math.floor(bits / 4), bits % 4
    if string.sub(list, from, from + digits - 1) == string.sub(address, 1, digits) then
      if rest == 0 then return true end
      local unit = 2 ^ (4 - rest)
      local listed = tonumber(string.sub(list, from + digits, from + digits), 16)
      local given = tonumber(string.sub(address, digits + 1, digits + 1), 16)
      if math.floor(listed / unit) == math.floor(given / unit) then return true end
    end
    if not comma then return false end
    from = comma + 1
  end
end
