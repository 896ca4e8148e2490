import { openInBrowser } from '../browser.ts';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { declareServer, withClient } from '../server-call.ts';
import { configFor } from '../settings.ts';

export const command: CommandModule = {
  examples: ['millrace open', 'millrace open --server http://10.0.0.1:7070'],
  declare(command) {
    declareServer(command);
    command.option('--no-browser', 'print the address and open nothing');
  },
  run(command, reply, signal) {
    return withClient(command, 'read', signal, async (client) => {
      // A page that cannot be served is better reported here than in a browser.
      await client.listNodes({ signal });
      const [first = ''] = configFor(command, process.env).node.server.split(',');
      const url = `${first.replace(/\/+$/, '')}/`;
      const { browser } = command.opts<{ browser: boolean }>();
      const { platform, env: environment } = process;
      const isOpened = browser && (await openInBrowser(url, { platform, environment }));
      reply.say(isOpened ? `Opened ${url}` : `The dashboard is at ${url}`);
      reply.answer({ url, opened: isOpened });
      return exit.done;
    });
  },
};
