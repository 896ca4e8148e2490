/**
 * The variables that a task may set for an allowed program. A variable can make a program run other code
 * (`LD_PRELOAD`, `NODE_OPTIONS`, `GIT_SSH_COMMAND`), and no list of such names is complete: a task may set those
 * listed here and those that the operator of the worker has named.
 */
import type { Fields } from '../fields.ts';
import { readEnv } from './result.ts';

/** Language, time zone and colours: read by most programs, and code to none. */
const ALWAYS = ['LANG', 'LANGUAGE', 'LC_*', 'TZ', 'NO_COLOR', 'FORCE_COLOR', 'COLUMNS', 'LINES'];

/** Never by a pattern that happens to cover them; an operator who wants one of them has to name it. */
const BY_NAME_ONLY =
  /^(PATH|IFS|ENV|BASH_ENV|BASHOPTS|SHELLOPTS|PS4|HOME|(LD|DYLD)_.*|NODE_(OPTIONS|PATH)|PYTHON(PATH|HOME|STARTUP)|PERL5(OPT|LIB)|RUBY(OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|GIT_.*|(.*_)?(EDITOR|PAGER)|GLIBC_TUNABLES|GCONV_PATH)$/;

export function allowedEnvironment(
  fields: Fields,
  allowed: readonly string[],
): Readonly<Record<string, string>> {
  const env = readEnv(fields);
  for (const name of Object.keys(env)) {
    if (isAllowed(name, allowed)) continue;
    fields.refuse(
      `env/${name}`,
      'Tasks may not set this variable on this worker.',
      `Start the worker with --allow-env ${name} to allow it.`,
    );
  }
  return env;
}

function isAllowed(name: string, allowed: readonly string[]): boolean {
  // PATH is the worker's own: it decides which programs are meant.
  if (name === 'PATH') return false;
  if (allowed.includes(name)) return true;
  if (BY_NAME_ONLY.test(name)) return false;
  return [...ALWAYS, ...allowed].some((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}
