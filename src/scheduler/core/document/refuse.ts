/** How a document is refused: with the field's path, what is wrong and what to do. */
import { MillraceError } from '../errors.ts';
import { printable } from './text.ts';

/** The pointer of a field below `path`. Long and unprintable keys are made fit to be shown. */
export function below(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}/${key}`;
  return `${path}/${printable(key, 200).replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** What goes in front of a message; an error about the whole document has no path of its own. */
function located(path: string): { readonly path?: string } {
  return path === '' ? {} : { path };
}

export function refuse(path: string, what: string, todo?: string): never {
  throw new MillraceError({ code: 'bad_input', ...located(path), what, todo });
}

export function refuseSize(path: string, what: string, todo: string): never {
  throw new MillraceError({ code: 'too_large', ...located(path), what, todo });
}
