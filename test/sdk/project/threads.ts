/** A runtime, and another one on the same folder in a thread. */
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { createRuntime, defineTask } from 'millrace';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const done = defineTask({ name: 'done', run: () => 'done' });
const thread = `
  import('millrace')
    .then(({ createRuntime }) => createRuntime())
    .then(() => 'opened', ({ code, message }) => code + ' ' + message)
    .then((line) => require('node:worker_threads').parentPort.postMessage(line));
`;

const runtime = await createRuntime({ tasks: [done] });
const other = new Worker(thread, { eval: true });
other.on('message', (line: string) => say(`thread: ${line}`));
await once(other, 'exit');
say(`result ${await (await runtime.submit(done)).result()}`);
await runtime.close();
