/** Takes secrets out of text that is kept or shown: those that look like one, and those that are named like one. */

const REDACTED = '[redacted]';

/** Formats that are secrets wherever they occur. Each is bounded, so that no text makes them slow. */
const FORMATS: readonly RegExp[] = [
  /\bBearer +[\w.~+/-]{8,}=*/gi,
  /\bBasic +[A-Za-z0-9+/]{8,}={0,2}/g,
  // JSON Web Tokens.
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g,
  // Keys of well-known services, which they mark as such.
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{20,}\b/g,
  /\bgithub_pat_\w{20,}\b/g,
  /\bxox[abeoprs]-[\w-]{10,}/g,
  /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,}\b/g,
  /\bsk-[\w-]{20,}/g,
  /\bAIza[\w-]{30,}/g,
  /\bglpat-[\w-]{16,}/g,
  /\bnpm_[A-Za-z0-9]{30,}\b/g,
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^]{0,16384}?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g,
];

/** The password in a URL. */
const IN_URL = /(\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s:/@]{0,200}:)[^\s/@]{1,500}@/gi;

const NAME =
  '(?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|authorization|cookie|api[_-]?key|access[_-]?key|private[_-]?key|client[_-]?secret|signature)s?';
const SECRET_NAME = new RegExp(`(?:^|[_.\\-])${NAME}(?:$|[_.\\-])`, 'i');
/** `password=x`, `token: "x"`, `"api_key":"x"`, `DB_PASSWORD=x`. */
const ASSIGNED = new RegExp(
  `(["']?\\b[\\w.-]{0,60}?${NAME}["']?\\s{0,3}[:=]\\s{0,3})("[^"\\n]{1,2000}"|'[^'\\n]{1,2000}'|[^\\s"',;&)}\\]]{1,2000})`,
  'gi',
);

export function isSecretName(name: string): boolean {
  // `apiKey` and `dbPassword` are names of the same kind as `api_key` and `db_password`.
  return SECRET_NAME.test(name.replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2'));
}

export class SecretRedactor {
  readonly #known: readonly string[];

  /** `values` are secrets that are known; those so short that they occur by chance are left alone. */
  constructor(values: Iterable<string> = []) {
    const known = new Set([...values].filter((value) => value.length >= 8));
    // A longer one may contain a shorter one.
    this.#known = [...known].toSorted((a, b) => b.length - a.length);
  }

  /** Knows the variables that are named like a secret. */
  static ofEnvironment(environment: Readonly<Record<string, string | undefined>>): SecretRedactor {
    const named = Object.entries(environment).filter(([name]) => isSecretName(name));
    return new SecretRedactor(named.flatMap(([, value]) => (value === undefined ? [] : [value])));
  }

  text(text: string): string {
    let clean = text;
    for (const value of this.#known) clean = clean.replaceAll(value, REDACTED);
    for (const format of FORMATS) clean = clean.replace(format, REDACTED);
    return clean
      .replace(IN_URL, `$1${REDACTED}@`)
      .replace(ASSIGNED, (whole, name: string, value: string) =>
        value.startsWith('[redacted') || isCount(name, value) ? whole : `${name}${quoted(value)}`,
      );
  }

  /** A copy of JSON: values under a secret name are replaced whole, texts are cleaned. */
  json(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.text(value);
    if (value === null || typeof value !== 'object' || depth > 20) return value;
    if (Array.isArray(value)) return value.map((item) => this.json(item, depth + 1));
    const entries = Object.entries(value).map(([name, item]) => [
      name,
      isSecretName(name) && (typeof item === 'string' || typeof item === 'object') && item !== null
        ? REDACTED
        : this.json(item, depth + 1),
    ]);
    return Object.fromEntries(entries);
  }
}

/** Language models count tokens. */
function isCount(name: string, value: string): boolean {
  return /tokens?["']?\s*[:=]\s*$/i.test(name) && /^\d{1,9}$/.test(value);
}

function quoted(value: string): string {
  const [quote = ''] = /^["']/.exec(value) ?? [];
  return `${quote}${REDACTED}${quote}`;
}
