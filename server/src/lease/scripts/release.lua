-- Gives the lift back and hands it over to the next. What is another's is left alone.
local lease = held()
if not is_ours(lease) or lease.serial ~= ARGV[8] then
    return 0
end
redis.call('DEL', LEASE)
-- Who gives back what it never claimed has had its turn.
leave_line(HOLDER)
hand_over()
return 1
