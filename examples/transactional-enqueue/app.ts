/**
 * A web shop. An order and the job that ships it are written in one transaction: there are both or none.
 *
 * usage: DATABASE_URL=postgres://... npx tsx app.ts [PORT]
 */
import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import pg from 'pg';
import { z } from 'zod';
import { pool, prepareTables, transaction } from './database.ts';
import { ship } from './shop.ts';

const Order = z.object({
  id: z.string().min(1),
  item: z.string(),
  amount: z.number().int().positive(),
  card: z.string(),
});

/** Answers the id of the job. */
async function placeOrder({ card, ...order }: z.infer<typeof Order>): Promise<string> {
  const document = await ship.toDocument({ order: order.id });
  return transaction(async (client) => {
    const { id, item, amount } = order;
    await client.query('insert into orders (id, item, amount) values ($1, $2, $3)', [
      id,
      item,
      amount,
    ]);
    const { rows } = await client.query<{ id: string }>('select millrace.submit($1::jsonb) as id', [
      JSON.stringify(document),
    ]);
    // The job is not there yet: it comes with the commit, or not at all.
    charge(card);
    return rows[0]?.id ?? '';
  });
}

function charge(card: string): void {
  if (card === 'empty') throw new Refusal(402, 'the card was refused');
}

class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

async function answer(request: IncomingMessage): Promise<unknown> {
  const { method, url = '' } = request;
  const id = /^\/orders\/([^/]+)$/.exec(url)?.[1];
  if (method === 'POST' && url === '/orders') {
    const order = Order.safeParse(await json(request).catch(() => undefined));
    if (!order.success) throw new Refusal(400, z.prettifyError(order.error));
    return { order: order.data.id, job: await placeOrder(order.data) };
  }
  if (method === 'GET' && id !== undefined) {
    const { rows } = await pool.query<object>('select * from orders where id = $1', [
      decodeURIComponent(id),
    ]);
    if (rows[0] !== undefined) return rows[0];
  }
  throw new Refusal(404, `there is no ${url}`);
}

/** What the database says of an order that is there already. */
const TAKEN = '23505';

function refusalFor(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof pg.DatabaseError && error.code === TAKEN) {
    return new Refusal(409, 'there is an order of this id');
  }
  console.error(error);
  return new Refusal(500, 'the shop is out of order');
}

await prepareTables();
const server = createServer((request, response) => {
  const send = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(`${JSON.stringify(body)}\n`);
  };
  answer(request).then(
    (body) => send(200, body),
    (error: unknown) => {
      const { status, message } = refusalFor(error);
      send(status, { error: message });
    },
  );
});
server.listen(Number(process.argv[2] ?? 8_080), '127.0.0.1', () => {
  const address = server.address();
  const port = typeof address === 'string' ? address : address?.port;
  console.log(`the shop is open at http://127.0.0.1:${port}`);
});
