/** The shop's own database, which is that of the Millrace cluster too. */
import pg from 'pg';

const url = process.env['DATABASE_URL'];
if (url === undefined) throw new Error('DATABASE_URL says where the database is; it is not set');

// Nothing is opened before the first query.
export const pool = new pg.Pool({ connectionString: url, idleTimeoutMillis: 10_000 });
// A connection that breaks while nobody uses it is replaced. Without a listener, its error would end the process.
pool.on('error', (error) => console.error(`a connection was lost: ${error.message}`));

/** Commits what `run` does, or none of it. */
export async function transaction<T>(run: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let lost: Error | undefined;
  // The statement under way fails with the same error; here the connection is only marked as unusable.
  const onLost = (error: Error): void => {
    lost = error;
  };
  client.on('error', onLost);
  try {
    await client.query('begin');
    const result = await run(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((failed: Error) => (lost ??= failed));
    throw error;
  } finally {
    client.off('error', onLost);
    client.release(lost);
  }
}

export async function prepareTables(): Promise<void> {
  await pool.query(`
    create table if not exists orders (
      id text primary key,
      item text not null,
      amount int not null check (amount > 0),
      state text not null default 'placed'
    )`);
  await pool.query('create table if not exists stock (item text primary key, amount int not null)');
  await pool.query("insert into stock values ('kettle', 10), ('teapot', 3) on conflict do nothing");
}
