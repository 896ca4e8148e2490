/** Why a task waits, as words that can follow its name. */

/** `no node fits; the nearest, w3, lacks capability gpu is missing, needs 'nvidia'`. */
const NO_NODE = /^no node fits; the nearest, (\S+), lacks (.+)$/;
/** Each of what a node lacks begins with one of these. */
const BETWEEN = /, (?=capability |executor |one of the executors |node is )/;
const CAPABILITY = /^capability (\S+) (?:is )?(.*?), needs (.*)$/;

export function waitWords(why: string): string {
  const [, node, lacks] = NO_NODE.exec(why) ?? [];
  if (node !== undefined && lacks !== undefined) return unfit(node, lacks.split(BETWEEN));
  if (/^(waits|sleeps|runs|starts)\b/.test(why))
    return why.replace(/, after error$/, ', after an error');
  return why.startsWith('it ') ? why.slice('it '.length) : `cannot start: ${why}`;
}

function unfit(node: string, lacks: readonly string[]): string {
  const parts = lacks.map((each) => {
    const [, name, seen, need] = CAPABILITY.exec(each) ?? [];
    if (name === undefined || need === undefined) return { needs: each, has: null };
    const isThere = seen !== 'missing';
    return { needs: `${name} ${need}`, has: isThere ? `${name} ${seen ?? ''}` : `no ${name}` };
  });
  const has = parts.flatMap((part) => (part.has === null ? [] : [part.has]));
  const verb = has.length === 0 ? 'lacks it' : `has ${listed(has)}`;
  return `needs ${listed(parts.map((part) => part.needs))}; the nearest node, ${node}, ${verb}`;
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1) ?? ''}`;
