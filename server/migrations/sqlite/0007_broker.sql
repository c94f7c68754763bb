-- Whether the broker reaches a node. What an older program wrote says nothing of it, and counts as reached.
ALTER TABLE nodes ADD COLUMN hears_broker INTEGER NOT NULL DEFAULT 1;

-- A place before a lift moves the step row of its task since now. A ledger without rows gets all of them from its
-- entries when it is opened.
INSERT INTO rows (kind, name, number)
SELECT 'step', json_extract(record, '$.sessionRequested.task'), count(*)
FROM entries
WHERE json_extract(record, '$.sessionRequested.task') IS NOT NULL AND EXISTS (SELECT 1 FROM rows)
GROUP BY json_extract(record, '$.sessionRequested.task')
ON CONFLICT (kind, name) DO UPDATE SET number = number + excluded.number;
