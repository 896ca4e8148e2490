/** Says to the benchmark when a handler began: by CLOCK_MONOTONIC, which all processes of a machine share. */
import { connect } from 'node:net';

const port = Number(process.env['BENCH_STAMPS'] ?? 0);
const socket = port === 0 ? null : connect({ port, host: '127.0.0.1', noDelay: true });
socket?.unref();

/** @param {string} key */
export function stamp(key) {
  const at = process.hrtime.bigint();
  socket?.write(`${key} ${at} ${process.pid}\n`);
}
