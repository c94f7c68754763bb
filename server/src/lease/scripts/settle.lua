-- Notes what became of a call, whosever it was; or tells where its record is.
return settle(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]) or ''
