import { Worker as Thread } from 'node:worker_threads';
import type { WorkerOptions } from 'node:worker_threads';

/**
 * Starts a thread from a module that lies beside the file that asks (`import.meta.url`), compiled or not.
 * Where it is TypeScript, whatever runs this thread does not reach into another one, so tsx is started
 * there first. `entry` has no extension.
 */
export function startThread(beside: string, entry: string, options: WorkerOptions): Thread {
  const isSource = beside.endsWith('.ts');
  const url = new URL(isSource ? `${entry}.ts` : `${entry}.js`, beside);
  if (!isSource) return new Thread(url, options);
  const start = `import('tsx/esm/api').then((tsx) => tsx.register() && import('${url.href}'))`;
  return new Thread(start, { ...options, eval: true });
}
