/** Runs queries with the operators of `operators.ts`, in this process and without a server. */
import { fileURLToPath } from 'node:url';
import { createRuntime } from 'millrace';

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const runtime = await createRuntime({
  store: 'memory',
  modules: [path('operators.ts')],
  tables: { reviews: path('reviews.csv'), customers: path('customers.csv') },
});

async function show(title: string, sql: string): Promise<void> {
  console.log(title);
  for await (const row of runtime.sql(sql)) {
    const values = Object.values(row).map((value) => (typeof value === 'object' ? '' : `${value}`));
    console.log(`  ${values.join(' ')}`);
  }
}

try {
  await show(
    'The most frequent words:',
    `SELECT token, count(*) AS n
       FROM tokenize((SELECT id, review FROM reviews), column => 'review')
      WHERE length(token) > 3 GROUP BY token ORDER BY n DESC, token LIMIT 3`,
  );
  await show(
    'Customers who may leave:',
    `SELECT customer, round(churn, 3) AS churn
       FROM score_churn((FROM customers)) WHERE churn > 0.5 ORDER BY churn DESC`,
  );
  await show(
    'The nearest customers to Berlin:',
    `SELECT customer, round(geo_km(lat, lon, 52.52, 13.405)) AS km
       FROM customers WHERE geo_km(lat, lon, 52.52, 13.405) < 600 ORDER BY km`,
  );
} finally {
  await runtime.close();
}
