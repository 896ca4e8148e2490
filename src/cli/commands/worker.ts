import { writeSync } from 'node:fs';
import { compileEarly, processLog } from '../../kit/index.ts';
import { InvalidArgumentError, Option } from 'commander';
import type { CommandModule } from '../command.ts';
import { exit } from '../exit.ts';
import { ACCESS_SETTINGS, configFor, declareSettings, EXECUTOR_SETTINGS } from '../settings.ts';

export const command: CommandModule = {
  examples: [
    'millrace worker --server http://leader.example:7070 --module ./tasks.js --slots 16',
    'millrace worker --server a:7071,b:7071 --capability gpu=nvidia --expect train',
  ],
  declare(cli) {
    // A node tells its own worker; people have a shell for that.
    cli.addOption(new Option('--file-mask <octal>').argParser(fileMask).hideHelp());
    declareSettings(cli, [
      'servers',
      'nodeId',
      'slots',
      'prefetch',
      'listen',
      'httpPort',
      'advertise',
      'data',
      'memoryBytes',
      'threads',
      'spillBytesMax',
      'spillFolder',
      'shuffleFolder',
      'operatorRowsMax',
      'cleanUpMs',
      'roots',
      'modules',
      ...EXECUTOR_SETTINGS,
      'capabilities',
      'expect',
      'drainMs',
      'abortGraceMs',
      ...ACCESS_SETTINGS,
    ]);
  },
  async run(cli, reply, signal) {
    const { fileMask } = cli.opts<{ fileMask?: number }>();
    if (fileMask !== undefined) process.umask(fileMask);
    const { node, core, isGiven } = configFor(cli, process.env);
    compileEarly();
    const { runWorkerProcess } = await import('../../node/worker/index.ts');
    // What a worker keeps is useless after it: without a folder it takes a temporary one.
    const data = isGiven('data') ? node.data : undefined;
    const { sessionTtlMs, resultBytesMax } = core;
    // MILLRACE_SERVER is enough: every command takes it.
    const isNamed = node.servers.length === 0 && isGiven('server');
    const servers = isNamed ? node.server.split(',') : node.servers;
    const settings = { ...node, servers, data, sessionTtlMs, resultBytesMax };
    try {
      await runWorkerProcess(settings, {
        drain: signal,
        orphaned: orphaned(),
        say: (line) => void process.stderr.write(`${line}\n`),
        onReady(nodeId, listener, httpPort) {
          const news = newsWith(node.logFormat, nodeId);
          // The output of a node's own worker is part of the node's log, and each line of a JSON log is an object.
          const isLogged = process.send !== undefined && node.logFormat === 'json';
          if (isLogged) news(`millrace worker ready ${nodeId}`);
          else reply.say(`millrace worker ready ${nodeId}`);
          if (httpPort !== null) {
            news(`Metrics and health checks are served on port ${httpPort}.`);
          }
          process.send?.('ready');
          reply.answer({ ready: true, nodeId, listener, httpPort });
        },
        onLeaving() {
          if (process.connected) process.send?.('leaving');
        },
        die(error) {
          // Written at once: nothing that is buffered outlives the next line.
          writeSync(2, `millrace: ${error.message}\n`);
          process.exit(exit.workFailed);
        },
      });
    } finally {
      // The channel to a parent would keep a process alive that has nothing left to do.
      if (process.connected) process.disconnect();
    }
    return exit.done;
  },
};

const OCTAL = 8;

function fileMask(text: string): number {
  if (/^[0-7]{1,3}$/.test(text)) return Number.parseInt(text, OCTAL);
  throw new InvalidArgumentError('It must be an octal number such as 022.');
}

/** What is said once it is ready: every line of a log for machines is an object. */
function newsWith(format: 'text' | 'json', nodeId: string): (line: string) => void {
  const write = (text: string): void => void process.stderr.write(text);
  if (format === 'text') return (line) => write(`${line}\n`);
  const about = { pid: process.pid, node: nodeId };
  return processLog({ format, level: 'info', now: () => new Date().toISOString(), write, about });
}

/** A node that starts its own worker holds a channel to it: when that closes, the node is gone. */
function orphaned(): AbortSignal {
  const gone = new AbortController();
  process.once('disconnect', () => gone.abort());
  return gone.signal;
}
