import { once } from 'node:events';
import { exit, run } from './index.ts';
import { terminalOn } from './view/terminal.ts';

const interruption = new AbortController();

/** The first signal asks the command to end in order, the second does not ask. */
function interrupt(): void {
  if (interruption.signal.aborted) process.exit(exit.interrupted);
  interruption.abort();
}
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);

// A reader that has seen enough (`millrace events | head`) is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exit.done);
  process.stderr.write(`millrace: The output cannot be written: ${error.message}.\n`);
  process.exit(exit.workFailed);
});
// Notes that nobody can read any more change neither the work nor its exit code.
process.stderr.on('error', () => {});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  signal: interruption.signal,
  terminal: terminalOn(process.stderr, process.env),
  page: terminalOn(process.stdout, process.env),
  input: () => process.stdin,
  write: async (bytes) => {
    if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
  },
});

// The command is over. An open connection to a silent server, or what a user's module left open, would keep the
// process alive; all output has been written.
const LINGER_MS = 500;
function leave(): void {
  if (process.stdout.writableLength === 0) process.exit();
  setTimeout(leave, LINGER_MS).unref();
}
setTimeout(leave, LINGER_MS).unref();
