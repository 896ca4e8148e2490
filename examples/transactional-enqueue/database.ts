/** The shop's own database, which is that of the Millrace cluster too. */
import postgres from 'postgres';

const url = process.env['DATABASE_URL'];
if (url === undefined) throw new Error('DATABASE_URL says where the database is; it is not set');

// Nothing is opened before the first query.
export const sql = postgres(url, { idle_timeout: 10, onnotice: () => {} });

export async function prepareTables(): Promise<void> {
  await sql`
    create table if not exists orders (
      id text primary key,
      item text not null,
      amount int not null check (amount > 0),
      state text not null default 'placed'
    )`;
  await sql`create table if not exists stock (item text primary key, amount int not null)`;
  await sql`insert into stock values ('kettle', 10), ('teapot', 3) on conflict do nothing`;
}
