import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** A name that tells which machine it is and that no other process has: the host's name and eight random digits. */
export function machineName(fallback: string, host: string = hostname()): string {
  const machine = host
    .replaceAll(/[^A-Za-z0-9_.-]/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 60);
  return `${machine === '' ? fallback : machine}-${randomBytes(4).toString('hex')}`;
}
