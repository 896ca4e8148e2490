import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/**
 * Ends the group when this process goes, however it goes: then the pipe closes. The answer calls the
 * guard off, after the group has ended: its number may belong to others later.
 */
export function guard(group: number): () => void {
  const script = 'read -r end || kill -s KILL -- "-$1"';
  const watcher = spawn('sh', ['-c', script, 'guard', `${group}`], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.unref();
  const pipe = watcher.stdin;
  pipe.on('error', () => {});
  // A pipe to a process is a socket, though its type does not say so.
  if (pipe instanceof Socket) pipe.unref();
  return () => pipe.end('end\n');
}
