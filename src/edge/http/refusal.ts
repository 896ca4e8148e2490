import { MillraceError } from '../../scheduler/core/index.ts';

/** Refusals that only HTTP knows. Their `code` in a problem is the slug. */
export type HttpSlug =
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'request_timeout'
  | 'headers_too_large'
  | 'bad_request';

export const SLUG_STATUS: Readonly<Record<HttpSlug, number>> = {
  method_not_allowed: 405,
  unsupported_media_type: 415,
  request_timeout: 408,
  headers_too_large: 431,
  bad_request: 400,
};

export class HttpRefusal extends MillraceError {
  readonly slug: HttpSlug;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    slug: HttpSlug,
    parts: { readonly what: string; readonly todo?: string },
    headers: Readonly<Record<string, string>> = {},
  ) {
    super({ code: 'bad_input', ...parts });
    this.slug = slug;
    this.headers = headers;
  }
}

export function badInput(path: string, what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'bad_input', path, what, todo });
}

export function notFound(what: string, todo?: string): MillraceError {
  return new MillraceError({ code: 'not_found', what, todo });
}
