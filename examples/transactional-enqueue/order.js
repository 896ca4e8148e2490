/**
 * Places two orders in a shop's own database. Each order and the job that ships it are one transaction:
 * the first one commits, the second one is rolled back, and so is its job.
 *
 * usage: node order.js DATABASE_URL SERVER_URL
 */
import postgres from 'postgres';

const [, , database, server = 'http://127.0.0.1:7070'] = process.argv;
if (database === undefined) {
  console.error('usage: node order.js DATABASE_URL [SERVER_URL]');
  process.exit(2);
}

const sql = postgres(database, { onnotice: () => {} });

/**
 * @param {{ id: string, item: string, amount: number }} order
 * @param {() => void} charge throws when the card is refused
 * @returns {Promise<string>} the id of the job
 */
function placeOrder(order, charge) {
  return sql.begin(async (tx) => {
    await tx`insert into orders ${tx(order)}`;
    const document = {
      name: `ship ${order.id}`,
      idempotencyKey: `ship-${order.id}`,
      tasks: [
        { id: 'pick', executor: 'echo', input: order },
        { id: 'send', executor: 'echo', dependsOn: ['pick'], input: { parcel: { $from: 'pick' } } },
      ],
    };
    const [row] = await tx`select millrace.submit(${tx.json(document)}) as id`;
    // The job is not there yet: it comes with the commit, or not at all.
    charge();
    return row?.id;
  });
}

/** @param {string} id */
async function ended(id) {
  for (;;) {
    const response = await fetch(`${server}/api/v1/jobs/${id}`);
    // Until the leader has emptied the inbox the job has an id, but is not listed.
    const job = response.status === 404 ? { state: 'queued' } : await response.json();
    if (job.state !== 'queued' && job.state !== 'running') return job;
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
}

await sql`
  create table if not exists orders (id text primary key, item text not null, amount int not null)`;

const id = await placeOrder({ id: 'A-1', item: 'kettle', amount: 2 }, () => {});
console.log(`order A-1: committed, job ${id}`);

await placeOrder({ id: 'A-2', item: 'teapot', amount: 1 }, () => {
  throw new Error('the card was refused');
}).catch((error) => console.log(`order A-2: rolled back (${error.message})`));

const orders = await sql`select id from orders order by id`;
console.log(`orders: ${orders.map((order) => order.id).join(', ')}`);
const job = await ended(id);
console.log(`jobs: ${job.name} ${job.state}`);
await sql.end();
