const HIDDEN = '***';

/** A parameter with its value. A name has no `?` in it, so that no character is looked at from two places. */
const PARAMETER = /([?&])([^?=&#]*)=[^&#]*/g;
/** Names of parameters whose value opens something: `?password=`, `&sslpassword=`, `?access_token=`. */
const SECRET = /password|token|secret/i;

/**
 * The text of a URL without what must not be logged. It does not parse: a password with a stray `#`, `/` or
 * `@` makes a URL wrong, and then it is printed in an error. So everything from the first colon to the last
 * `@` is hidden; at worst that hides more than the password.
 */
export function redactUrl(text: string): string {
  const [, scheme = '', rest = text] = /^([a-z][a-z0-9+.-]*:\/\/)(.*)$/is.exec(text) ?? [];
  const plain = rest.replace(PARAMETER, (whole, sign: string, name: string) =>
    SECRET.test(name) ? `${sign}${name}=${HIDDEN}` : whole,
  );
  const at = plain.lastIndexOf('@');
  const colon = plain.indexOf(':');
  if (colon === -1 || colon > at) return scheme + plain;
  return `${scheme}${plain.slice(0, colon)}:${HIDDEN}${plain.slice(at)}`;
}
