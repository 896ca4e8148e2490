import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the range from which systems take ports for outgoing connections: a port that was free when
 * it was chosen is then not taken by chance before its server starts.
 */
const FIRST = 12_000;
/** Test files run side by side: each place has ports of its own, so that no two choose the same one. */
const PLACES = 8;
const COUNT = 2_500;

const place = Number(process.env['VITEST_POOL_ID'] ?? 0) % PLACES;

const given = new Set<number>();

/** A port on which nobody listens, not given to anybody else in this process. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (;;) {
    const port = FIRST + place * COUNT + Math.floor(Math.random() * COUNT);
    if (given.has(port) || !(await isFree(host, port))) continue;
    given.add(port);
    return port;
  }
}

async function isFree(host: string, port: number): Promise<boolean> {
  const probe = createServer();
  try {
    // Rejects when the server says `error` first.
    const listening = once(probe, 'listening');
    probe.listen(port, host);
    await listening;
  } catch {
    return false;
  }
  const closed = once(probe, 'close');
  probe.close();
  await closed;
  return true;
}
