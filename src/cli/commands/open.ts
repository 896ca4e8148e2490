import { spawn } from 'node:child_process';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { configFor } from '../settings.ts';

/** The program of each system that opens an address in the user's browser. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

export const command: CommandModule = {
  examples: ['millrace open', 'millrace open --server http://10.0.0.1:7070'],
  declare(command) {
    declareServer(command);
    command.option('--no-browser', 'print the address and open nothing');
  },
  run(command, reply, signal) {
    return withClient(command, 'read', signal, async (client) => {
      // A page that cannot be served is better said here than in a browser.
      await client.listNodes({ signal });
      const url = `${configFor(command, process.env).node.server.replace(/\/+$/, '')}/`;
      const isOpened = command.opts<{ browser: boolean }>().browser && (await opened(url));
      reply.say(isOpened ? `Opened ${url}` : `The dashboard is at ${url}`);
      reply.answer({ url, opened: isOpened });
      return exit.done;
    });
  },
};

/** Whether a browser was asked to; a machine without a desktop has none. */
function opened(url: string): Promise<boolean> {
  const [program = 'xdg-open', ...args] = OPENERS[process.platform] ?? [];
  return new Promise((resolve) => {
    const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('spawn', () => {
      child.unref();
      resolve(true);
    });
  });
}
