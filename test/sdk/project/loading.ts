/** Prints which packages an entry point of Millrace loads: whatever Node.js loads is noted. */
import { register } from 'node:module';
import { MessageChannel } from 'node:worker_threads';

const hooks = `
let port;
export const initialize = (data) => { port = data; };
export const load = async (url, context, next) => { port.postMessage(url); return next(url, context); };
`;
const LAST = 'data:text/javascript,export default 0';
const { port1, port2 } = new MessageChannel();
const packages = new Set<string>();
const last = new Promise<void>((resolve) => {
  port1.on('message', (url: string) => {
    const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
    if (name !== undefined) packages.add(name);
    if (url.startsWith(LAST)) resolve();
  });
});
register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
  data: port2,
  transferList: [port2],
});
await import(process.argv[2] ?? 'millrace');
// What is loaded last is printed last.
await import(LAST);
await last;
process.stdout.write(`loaded ${[...packages].join(' ')}\n`);
process.exit();
