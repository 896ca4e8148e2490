/** Commands that talk to a server: which one, as whom, and what to do when it does not work. */
import type { Command } from 'commander';
import { HttpClient } from '../client/index.ts';
import type { SettingName } from '../node/config/index.ts';
import { type ErrorParts, MillraceError, isMillraceError } from '../scheduler/core/index.ts';
import { loadClientTls, readToken, type Role } from '../edge/security/index.ts';
import { exit, type ExitCode } from './exit.ts';
import { configFor, declareSettings } from './settings.ts';

/** `more` are settings that the command shows besides. */
export function declareServer(command: Command, more: readonly SettingName[] = []): void {
  declareSettings(command, [
    'server',
    ...more,
    'tokenFile',
    'tlsCa',
    'tlsCert',
    'tlsKey',
    'insecure',
  ]);
}

/** `needed` is the role of the token to show, if a file holds several. */
export async function withClient(
  command: Command,
  needed: Role,
  signal: AbortSignal,
  use: (client: HttpClient) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { node } = configFor(command, process.env);
  const token = readToken(node, needed);
  const client = new HttpClient({
    server: node.server,
    tls: loadClientTls(node),
    insecure: node.insecure,
    onWait: (why) => void process.stderr.write(`Waiting: ${why.message}\n`),
    ...(token === undefined ? {} : { token }),
  });
  try {
    return await use(client);
  } catch (error) {
    // An interruption by Ctrl-C needs no explanation.
    if (signal.aborted) return exit.interrupted;
    throw withNextStep(error, needed);
  } finally {
    client.end();
  }
}

function withNextStep(error: unknown, needed: Role): unknown {
  if (!isMillraceError(error) || error.todo !== undefined) return error;
  const todo = nextStep(error, needed);
  if (todo === null) return error;
  const { code, what, why, path, leader } = error;
  const parts: ErrorParts = {
    code,
    what,
    todo,
    cause: error,
    ...(why === undefined ? {} : { why }),
    ...(path === undefined ? {} : { path }),
    ...(leader === undefined ? {} : { leader }),
  };
  return new MillraceError(parts);
}

function nextStep({ code }: MillraceError, needed: Role): string | null {
  if (code === 'unreachable') {
    return 'Check that `millrace up` is running, or set another server with --server or MILLRACE_SERVER.';
  }
  if (code === 'unauthenticated') return 'Set a token with --token-file or MILLRACE_TOKEN.';
  if (code === 'forbidden') return `Use a token with the role ${needed}.`;
  if (code === 'not_leader') return 'The cluster has no leader at the moment. Try again shortly.';
  return null;
}

export function wrongUse(what: string, todo: string): MillraceError {
  return new MillraceError({ code: 'bad_input', what, todo });
}

export function wholeOption(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw wrongUse(`'${text}' is not a valid whole number for ${flag}.`, `Write ${flag} 100.`);
}
