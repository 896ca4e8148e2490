/** Paths into a value, as JSON Pointers and as people write them. */

/** Nothing for the whole value. */
export function pointerOf(tokens: readonly string[]): string {
  return tokens.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

const WORD = /^[A-Za-z_$][\w$]*$/;
const PLACE = /^\d+$/;

/** `charge.lines[0].cents`, as in the program. */
export function spelled(root: string, tokens: readonly string[]): string {
  const steps = tokens.map((token) => {
    if (PLACE.test(token)) return `[${token}]`;
    return WORD.test(token) ? `.${token}` : `[${JSON.stringify(token)}]`;
  });
  return root + steps.join('');
}
