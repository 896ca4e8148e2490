/** Three suppliers and a till, for the flow to talk to. */
import { createServer } from 'node:http';

const PRICES: Readonly<Record<string, number>> = { north: 4_200, south: 3_900, harbour: 4_450 };

/** What was ordered or complained about, by the key of the request. */
const numbers = new Map<string, string>();

const server = createServer((request, response) => {
  const answer = (status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const [, place = '', name = ''] = request.url?.split('/') ?? [];
  const cents = PRICES[name];
  if (request.method === 'GET' && place === 'prices' && cents !== undefined) {
    return answer(200, { supplier: name, cents });
  }
  if (request.method === 'POST' && (place === 'orders' || place === 'complaints')) {
    // Every attempt of a task sends the same key, so whatever is asked twice is done once.
    const key = `${place} ${request.headers['idempotency-key']?.toString()}`;
    const number = numbers.get(key) ?? `${place}-${numbers.size + 1}`;
    numbers.set(key, number);
    console.log(`${number}: taken`);
    return answer(201, { number });
  }
  return answer(404, { error: `there is no ${request.url}` });
});

server.listen(Number(process.argv[2] ?? 8_099), '127.0.0.1', () => {
  const address = server.address();
  if (address === null || typeof address === 'string') return;
  console.log(`listening on http://127.0.0.1:${address.port}`);
});
