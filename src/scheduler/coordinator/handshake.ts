import { MillraceError } from '../core/index.ts';
import type { Handshake } from '../contract/index.ts';

/**
 * Whether a worker may join. The protocol must be the same. Millrace may differ in what does not
 * change meaning (the last number; the last two from 1.0 on), or be something else that speaks the
 * protocol. DuckDB must be of the same minor version, because plans and files of another one may mean
 * something else.
 */
export function checkHandshake(leader: Handshake, worker: Handshake): void {
  if (worker.protocol !== leader.protocol) {
    throw refused(`protocol ${worker.protocol}`, `protocol ${leader.protocol}`);
  }
  if (worker.millrace !== '' && line(worker.millrace) !== line(leader.millrace)) {
    throw refused(`Millrace ${worker.millrace}`, `Millrace ${leader.millrace}`);
  }
  const { duckdb } = worker;
  if (duckdb === null || leader.duckdb === null) return;
  if (minor(duckdb) !== minor(leader.duckdb)) {
    throw refused(`DuckDB ${duckdb}`, `DuckDB ${leader.duckdb}`);
  }
}

/** Versions in one line work together. */
function line(version: string): string {
  const [major = '', minorNo = ''] = version.split('.');
  return major === '0' ? `0.${minorNo}` : major;
}

function minor(version: string): string {
  return version.replace(/^v/, '').split('.').slice(0, 2).join('.');
}

function refused(worker: string, leader: string): MillraceError {
  return new MillraceError({
    code: 'incompatible',
    what: `The worker runs ${worker.slice(0, 100)}, the leader ${leader}.`,
    todo: 'Install the same version of Millrace on both.',
  });
}
