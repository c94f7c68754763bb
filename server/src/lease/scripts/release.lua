-- Gives the lift back and hands it over to the next, who finds settled what was called. What is another's is left alone.
if ARGV[9] ~= '' then
    local elsewhere = settle(KEYS[7], KEYS[8], ARGV[9], ARGV[10], ARGV[11])
    if elsewhere then
        return { 'elsewhere', elsewhere }
    end
end
local lease = held()
if not is_ours(lease) or lease.serial ~= ARGV[8] then
    return { 'lost', '' }
end
redis.call('DEL', LEASE)
-- Who gives back what it never claimed has had its turn.
leave_line(HOLDER)
hand_over()
return { 'released', '' }
