-- Matches allowed_models: comma-separated globs, `*` the only wildcard; '' and '*' allow every model. No Lua patterns are used, because an attacker could make their backtracking quadratic: each
-- piece between stars is looked for once, to the right of the one before.
local function trimmed(s)
  local first, last = 1, #s
  while first <= last and string.byte(s, first) == 32 do first = first + 1 end
  while last >= first and string.byte(s, last) == 32 do last = last - 1 end
  return string.sub(s, first, last)
end

local function glob_matches(glob, name)
  local star = string.find(glob, '*', 1, true)
  if not star then return glob == name end
  if string.sub(name, 1, star - 1) ~= string.sub(glob, 1, star - 1) then return false end
  local at = star
  while true do
    -- A run of stars is one star.
    while string.byte(glob, star + 1) == 42 do star = star + 1 end
    local next_star = string.find(glob, '*', star + 1, true)
    if not next_star then break end
    local _, last = string.find(name, string.sub(glob, star + 1, next_star - 1), at, true)
    if not last then return false end
    at = last + 1
    star = next_star
  end
  local tail = #glob - star
  return #name - tail >= at - 1 and string.sub(name, #name - tail + 1) == string.sub(glob, star + 1)
end

local function model_allowed(list, name)
  if list == '' or list == '*' or trimmed(list) == '' then return true end
  local from, first = 1, string.byte(name)
  while true do
    local comma = string.find(list, ',', from, true)
    local initial = string.byte(list, from)
    -- Most entries differ in their first character: they cost no copy.
    if initial == first or initial == 42 or initial == 32 then
      local glob = trimmed(string.sub(list, from, (comma or 0) - 1))
      if glob ~= '' and glob_matches(glob, name) then return true end
    end
    if not comma then return false end
    from = comma + 1
  end
end
