-- Whose ledger it is has a row since now, so that the nodes of two sites cannot both begin one. A ledger without rows
-- gets all of them from its entries when it is opened.
INSERT INTO rows (kind, name, number)
SELECT 'site', 'site', 1 WHERE EXISTS (SELECT 1 FROM rows);
