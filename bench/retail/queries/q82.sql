-- How much of an article came back in some weeks, by channel, as shares of all?
WITH weeks AS (
  SELECT d_date FROM dates WHERE d_week IN (SELECT d_week FROM dates WHERE d_date IN ('2020-06-30', '2020-09-27', '2020-11-17', '2021-01-12', '2021-02-12'))
), sr AS (
  SELECT i_class, sum(sr_quantity) AS n FROM store_returns, items, dates
  WHERE sr_item = i_key AND d_date IN (SELECT d_date FROM weeks) AND sr_date = d_key GROUP BY i_class
), cr AS (
  SELECT i_class, sum(cr_quantity) AS n FROM catalog_returns, items, dates
  WHERE cr_item = i_key AND d_date IN (SELECT d_date FROM weeks) AND cr_date = d_key GROUP BY i_class
), wr AS (
  SELECT i_class, sum(wr_quantity) AS n FROM web_returns, items, dates
  WHERE wr_item = i_key AND d_date IN (SELECT d_date FROM weeks) AND wr_date = d_key GROUP BY i_class
)
SELECT i_class, sr.n AS store, sr.n / (coalesce(sr.n, 0) + coalesce(cr.n, 0) + coalesce(wr.n, 0)) * 100 AS store_share,
  cr.n AS catalogue, wr.n AS web, (coalesce(sr.n, 0) + coalesce(cr.n, 0) + coalesce(wr.n, 0)) / 3.0 AS mean
FROM sr FULL JOIN cr USING (i_class) FULL JOIN wr USING (i_class)
ORDER BY 1, 2
LIMIT 100
