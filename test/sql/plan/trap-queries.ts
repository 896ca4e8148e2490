/** Queries that are easily distributed wrong, over the tables `people`, `visits`, `teams`, `nobody`. */
export const traps: Readonly<Record<string, string>> = {
  'a total over nothing has one row':
    'SELECT count(*), sum(id), avg(id), min(name), count(DISTINCT name) FROM nobody',
  'a total with a filter that nothing passes':
    'SELECT count(*) FILTER (amount < 0), sum(amount) FILTER (amount < 0), first(place) FILTER (amount < 0) FROM visits',
  'groups over nothing have no row': 'SELECT name, count(*) FROM nobody GROUP BY name',
  'distinct counts without groups, beside others':
    'SELECT count(DISTINCT person), count(*), sum(DISTINCT amount), avg(price), max(place) FROM visits',
  'distinct counts by group, beside others':
    'SELECT team, count(DISTINCT person), count(person), sum(amount), min(DISTINCT price) FROM visits GROUP BY team',
  'distinct counts of two values':
    'SELECT team, count(DISTINCT person), count(DISTINCT place) FROM visits GROUP BY team',
  'averages of every kind of number':
    'SELECT team, avg(amount), avg(price), avg(visit::HUGEINT), avg(price::DOUBLE), avg(price::DECIMAL(38, 20)) FROM visits GROUP BY team',
  'sums that need more than 64 bits':
    'SELECT team, sum(visit * 1000000000000000) AS s FROM visits GROUP BY team',
  'variance and median see all rows of a group':
    'SELECT team, var_samp(amount), stddev_pop(price::DOUBLE), median(amount), quantile_disc(amount, 0.3) FROM visits GROUP BY team',
  'the value beside the greatest':
    'SELECT team, arg_max(visit, amount * 1000 + visit), arg_min(place, visit) FROM visits GROUP BY team',
  'grouping sets with a total, over nothing':
    'SELECT name, id, count(*), grouping(name, id) FROM nobody GROUP BY GROUPING SETS ((name), (id), ())',
  'rollup with grouping and a distinct count':
    'SELECT team, place, count(DISTINCT person), grouping(team), grouping(place, team) FROM visits GROUP BY ROLLUP (team, place)',
  'rollup in two halves':
    'SELECT team, place, sum(price), count(*), grouping(team, place) FROM visits GROUP BY CUBE (team, place)',
  'rollup over columns that a join makes equal':
    'SELECT p.id, v.team, v.person, count(*), sum(v.amount) FROM people p JOIN visits v ON p.id = v.person GROUP BY ROLLUP (p.id, v.team, v.person)',
  'cube over columns that a join makes equal, with grouping':
    'SELECT p.team, t.team, count(*), grouping(p.team), grouping(t.team, p.team) FROM people p JOIN teams t ON p.team = t.team GROUP BY CUBE (p.team, t.team)',
  'grouping sets over columns that a join makes equal, with a distinct count':
    'SELECT p.id, v.person, count(DISTINCT v.place) FROM people p JOIN visits v ON p.id = v.person GROUP BY GROUPING SETS ((p.id), (v.person), ())',
  'grouping sets over a column that a filter makes constant':
    'SELECT team, place, count(*) FROM visits WHERE team = 2 AND person = team GROUP BY GROUPING SETS ((team, place), (person), (person, team), ())',
  'the same grouping set twice':
    'SELECT team, count(*) FROM visits GROUP BY GROUPING SETS ((team), (team), ())',
  'a left join keeps rows whose key is NULL':
    'SELECT v.visit, p.name FROM visits v LEFT JOIN people p ON v.person = p.id',
  'a right join keeps them on the other side':
    'SELECT p.id, v.visit FROM visits v RIGHT JOIN people p ON v.person = p.id',
  'a full join with NULL keys on both sides':
    'SELECT p.team, t.team, t.title, count(*) FROM people p FULL JOIN teams t ON p.team = t.team AND p.id % 2 = 0 GROUP BY ALL',
  'a full join without any key that is equal':
    'SELECT p.id, t.title FROM people p FULL JOIN teams t ON p.id < t.team',
  'groups by a key that a left join makes NULL':
    'SELECT p.id, count(*), sum(v.amount) FROM visits v LEFT JOIN people p ON v.person = p.id GROUP BY p.id',
  'groups by the key of the side that is kept':
    'SELECT v.person, count(p.name) FROM visits v LEFT JOIN people p ON v.person = p.id GROUP BY 1',
  'a key that is NULL on both sides meets itself where that counts':
    'SELECT count(*) FROM visits v JOIN people p ON nullif(v.person, 7) IS NOT DISTINCT FROM nullif(p.id, 14)',
  'a negative key of two types':
    'SELECT count(*) FROM visits v JOIN people p ON (v.visit - 60) = (p.id - 30)::SMALLINT',
  'NOT IN with a NULL on the right side':
    'SELECT id FROM people WHERE id NOT IN (SELECT person FROM visits)',
  'NOT IN without one':
    'SELECT id FROM people WHERE id NOT IN (SELECT person FROM visits WHERE person IS NOT NULL)',
  'NOT IN nothing': 'SELECT count(*) FROM people WHERE team NOT IN (SELECT id FROM nobody)',
  'IN as a value that may be NULL':
    'SELECT id, team IN (SELECT team FROM teams) AS known FROM people',
  'IN of a correlated subquery, as a value':
    'SELECT p.id, p.id IN (SELECT v.person FROM visits v WHERE v.team = p.team) AS was FROM people p',
  'EXISTS with a further condition':
    'SELECT p.id FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id AND v.amount > p.pay)',
  'NOT EXISTS with a further condition':
    'SELECT p.id FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.person = p.id AND v.amount > p.pay)',
  'a scalar subquery for each row':
    'SELECT p.id, (SELECT max(v.amount) FROM visits v WHERE v.person = p.id) AS most FROM people p',
  'a count of nothing in a scalar subquery':
    'SELECT p.id, (SELECT count(*) FROM visits v WHERE v.person = p.id) AS n FROM people p',
  'rows compared with a total':
    'SELECT visit FROM visits WHERE amount > (SELECT avg(amount) FROM visits) AND price < (SELECT max(pay) FROM people)',
  'a cross join with a total of nothing':
    'SELECT count(*) FROM visits, (SELECT max(id) AS m FROM nobody) n WHERE n.m IS NULL',
  'a cross join of two tables': 'SELECT p.id, t.title FROM people p, teams t WHERE p.id % 3 = 0',
  'a join by order alone':
    'SELECT count(*), sum(v.amount) FROM visits v JOIN people p ON v.amount < p.pay AND v.visit > p.id',
  'union all of large, small and constant':
    "SELECT team, place FROM visits UNION ALL SELECT team, title FROM teams UNION ALL VALUES (9, 'nine'), (NULL, NULL)",
  'union without duplicates':
    'SELECT team FROM visits UNION SELECT team FROM teams UNION SELECT team FROM people',
  'intersect and except with duplicates':
    'SELECT team FROM visits INTERSECT ALL SELECT team FROM people EXCEPT ALL SELECT team FROM teams',
  'except with NULL': 'SELECT person FROM visits EXCEPT SELECT id FROM people WHERE id % 2 = 0',
  'union of totals':
    'SELECT count(*) FROM visits UNION ALL SELECT count(*) FROM people UNION ALL SELECT 3',
  'distinct over several columns': 'SELECT DISTINCT team, place FROM visits',
  'distinct on, ordered':
    'SELECT DISTINCT ON (team) team, visit, amount FROM visits ORDER BY team, amount DESC, visit',
  'a limit with an offset':
    'SELECT visit, amount FROM visits ORDER BY amount DESC, visit LIMIT 7 OFFSET 5',
  'a limit of nothing': 'SELECT visit FROM visits ORDER BY visit LIMIT 0',
  'an offset alone': 'SELECT visit FROM visits ORDER BY visit OFFSET 110',
  'a limit inside':
    'SELECT count(*), min(n) FROM (SELECT amount AS n FROM visits ORDER BY visit LIMIT 10 OFFSET 3)',
  'any rows of a limit': 'SELECT count(*) FROM (SELECT * FROM visits LIMIT 17)',
  'the order of the result':
    'SELECT place, sum(price) AS s FROM visits GROUP BY place ORDER BY s DESC, place NULLS FIRST',
  'windows by different keys':
    'SELECT visit, rank() OVER (PARTITION BY team ORDER BY amount), sum(amount) OVER (PARTITION BY team, place) FROM visits',
  'a window without a key':
    'SELECT visit, row_number() OVER (ORDER BY visit), lag(amount) OVER (ORDER BY visit) FROM visits',
  qualify:
    'SELECT team, visit FROM visits QUALIFY row_number() OVER (PARTITION BY team ORDER BY amount DESC, visit) <= 2',
  'a common table that is read twice, by different keys':
    'WITH c AS MATERIALIZED (SELECT person, team, sum(amount) AS s FROM visits GROUP BY ALL) ' +
    'SELECT a.person, b.team, a.s + b.s FROM c a JOIN c b ON a.team = b.team AND a.person < b.person ' +
    'WHERE a.s > (SELECT avg(s) FROM c)',
  'a common table over a limit, read twice':
    'WITH c AS MATERIALIZED (SELECT visit FROM visits LIMIT 20) SELECT count(*) FROM c a JOIN c b USING (visit)',
  'lists that are taken apart': 'SELECT id, unnest(marks) AS mark FROM people',
  'groups over what lists hold':
    'SELECT mark, count(*) FROM (SELECT unnest(marks) AS mark FROM people) GROUP BY mark',
  'structs and lists as keys': 'SELECT pair, marks, count(*) FROM people GROUP BY ALL',
  'an asof join':
    'SELECT v.visit, p.id FROM visits v ASOF JOIN people p ON v.team = p.team AND v.at >= p.seen',
  'a total over a join over a union':
    'SELECT count(*), sum(u.n) FROM (SELECT id AS k, 1 AS n FROM people UNION ALL SELECT person, 2 FROM visits) u JOIN visits v ON u.k = v.visit',
  'the same rows twice through a join with itself':
    'SELECT a.team, count(*) FROM visits a JOIN visits b ON a.person = b.person GROUP BY 1',
  'four tables':
    'SELECT t.title, count(DISTINCT p.id), sum(v.price) FROM visits v JOIN people p ON v.person = p.id ' +
    'LEFT JOIN teams t ON p.team = t.team LEFT JOIN nobody n ON n.id = p.id WHERE v.amount > 5 GROUP BY t.title ORDER BY ALL',
};
